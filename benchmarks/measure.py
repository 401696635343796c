"""Time to measure a study, compared with two lower limits.

    python benchmarks/measure.py [--scale 1.0] [--only STUDY] [--repeat 3] [--folder DIR]

Four studies are written as stores: 50 runs × 1,000,000 examples × 10 classes, 20 runs × 200,000
examples × 150 classes, 50 runs × 1,000,000 numbers (`--only numbers`), and 50 runs × the first 20
of 10,000 items for 1,000,000 users (`--only rankings`). Each is measured on one worker and compared
with two lower limits:

(a) only reading the same Parquet columns, row group by row group;
(b) only the kernels on arrays in memory: argmax, logarithms, or deviations and a sort, and the sums
    for figures and intervals. Those of lists are the library's own: they are too long to repeat.

Each step runs in its own process, which also reports its peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.measurement.measure import measure_shards
from seedproof.metrics.batch import BATCH_VALUES
from seedproof.metrics.items.batch import BATCH_ITEMS, ItemBatch
from seedproof.metrics.items.overlap import (
    average_overlap_weights,
    first_differs,
    jaccard_distance,
    kendall_distance,
    rank_biased_weights,
    weighted_overlap,
)
from seedproof.metrics.items.relevance import RankedGains
from seedproof.metrics.numbers.spread import variance_over_runs
from seedproof.metrics.statistic import mean_over_runs
from seedproof.records.items import Relevance
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.probabilities import most_probable
from seedproof.records.reader import Store
from seedproof.records.schema import VALUE_COLUMNS, Kind, Layout, floats_from_binary
from seedproof.records.writer import RunWriter

N_ITEMS, N_PLACES, DEPTH, N_CANDIDATES = 10_000, 20, 10, 40


def class_layout(n_classes: int) -> Layout:
    """Return the columns of a study with probabilities of so many classes."""
    return Layout(Kind.PROBS, tuple(map(str, range(n_classes))))


LISTS = Layout(Kind.RANKINGS, tuple(map(str, range(N_ITEMS))), n_top=N_PLACES)
# Runs, examples, and columns of the predictions.
STUDIES = {
    "10 classes": (50, 1_000_000, class_layout(10)),
    "150 classes": (20, 200_000, class_layout(150)),
    "numbers": (50, 1_000_000, Layout(Kind.NUMBERS, (), double=True)),
    "rankings": (50, 1_000_000, LISTS),
}


def write_store(
    folder: Path, layout: Layout, n_runs: int, n_examples: int, *, seed: int = 0
) -> None:
    """Write a study whose runs agree on most predictions.

    Args:
        folder: Folder of the new store.
        layout: Columns of the predictions.
        n_runs: Number of runs.
        n_examples: Number of examples.
        seed: Seed of the noise; stores with different seeds have the same examples.
    """
    store = Location.of(folder)
    store.make_folder()
    StudyManifest("benchmark", layout.rows_per_group).write(store)
    step = layout.rows_per_group
    for run_idx in range(n_runs):
        rng = np.random.default_rng([1, run_idx, seed])
        with RunWriter(
            store,
            RunManifest(run_id=f"run-{run_idx}", name=str(run_idx)),
            layout,
            rows_per_group=step,
        ) as writer:
            for start in range(0, n_examples, step):
                n = min(step, n_examples - start)
                shared = np.random.default_rng([2, start])
                writer.write(pa.array(np.arange(start, start + n)), *rows(layout, n, shared, rng))


def rows(
    layout: Layout, n: int, shared: np.random.Generator, rng: np.random.Generator
) -> tuple[np.ndarray | Relevance, np.ndarray]:
    """Draw right answers, which all runs share, and the predictions of one run."""
    if layout.kind is Kind.NUMBERS:
        targets = 4 * shared.standard_normal(n)
        return targets, targets + rng.standard_normal(n)
    if layout.kind is Kind.RANKINGS:
        first, stride = shared.integers(N_ITEMS, size=(n, 1)), 7 * np.arange(N_CANDIDATES)
        candidates = ((first + stride) % N_ITEMS).astype(np.int32)
        right = np.take_along_axis(candidates, shared.integers(10, size=(n, 1)), axis=1)
        scores = 4 * rng.standard_normal((n, N_CANDIDATES)) - np.arange(N_CANDIDATES)
        order = np.argsort(-scores, axis=1)[:, :N_PLACES]
        known = Relevance(right, np.ones(n, dtype=np.bool_))
        return known, np.take_along_axis(candidates, order, axis=1)
    logits = 4 * shared.standard_normal((n, len(layout.classes)), dtype=np.float32)
    labels = logits.argmax(axis=1).astype(np.int32)
    logits += rng.standard_normal(logits.shape, dtype=np.float32)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return labels, probs / probs.sum(axis=1, keepdims=True)


def read(folder: Path, layout: Layout) -> None:
    """Read the columns that measuring reads: limit (a)."""
    parts = [sorted(run.rglob("*.parquet")) for run in sorted((folder / "runs").iterdir())]
    files = [[pq.ParquetFile(part) for part in run] for run in parts]
    (values,) = VALUE_COLUMNS[layout.kind]
    for part_idx in range(len(files[0])):
        for group in range(files[0][part_idx].num_row_groups):
            files[0][part_idx].read_row_group(group, columns=["example", layout.kind.gold])
            for run in files:
                table = run[part_idx].read_row_group(group, columns=[values], use_threads=False)
                if layout.kind is Kind.PROBS:
                    floats_from_binary(table.column(values))


def kernels(layout: Layout, n_runs: int, n_examples: int) -> float:
    """Return the seconds of the kernels alone: limit (b).

    One block that fits into the cache is computed repeatedly, as if all examples were in memory.
    """
    kernel, n_values = {
        Kind.PROBS: (block, BATCH_VALUES // max(len(layout.classes), 1)),
        Kind.NUMBERS: (number_block, BATCH_VALUES),
        Kind.RANKINGS: (list_block, BATCH_ITEMS // N_PLACES),
    }[layout.kind]
    n = max(n_values // n_runs, 1)
    shared, rng = np.random.default_rng([2, 0]), np.random.default_rng(0)
    state = shared.bit_generator.state
    predictions = []
    for _ in range(n_runs):
        shared.bit_generator.state = state
        gold, of_run = rows(layout, n, shared, rng)
        predictions.append(of_run)
    of_runs = np.stack(predictions)
    n_blocks = max(n_examples // n, 1)
    start = time.perf_counter()
    for _ in range(n_blocks):
        kernel(of_runs, gold)
    elapsed = (time.perf_counter() - start) * n_examples / (n_blocks * n)
    if layout.kind is Kind.NUMBERS:
        start = time.perf_counter()
        rank_agreement(of_runs[:, :2048])
        elapsed += time.perf_counter() - start
    return elapsed


def block(probs: np.ndarray, labels: np.ndarray) -> None:
    """Compute the kernels of one block, with one numpy call each."""
    n_runs, n, _ = probs.shape
    predictions = most_probable(probs)  # numpy's own search along a short axis is slow
    right = predictions == labels
    right.sum(axis=0), right.sum(axis=1)
    for run_idx in range(n_runs - 1):
        agree = predictions[run_idx] == predictions[run_idx + 1 :]
        agree.sum(axis=0), agree.sum(axis=1)
    gold = probs[:, np.arange(n), labels].astype(np.float64)
    gold.mean(axis=0), gold.var(axis=0), np.log(gold + 1e-10).sum(axis=1)
    confidence = probs.max(axis=2)
    np.bincount((confidence * 15).astype(np.int64).ravel(), weights=confidence.ravel())
    doubles = probs.astype(np.float64)
    doubles += 1e-10
    doubles /= doubles.sum(axis=2, keepdims=True)
    logs = np.log(doubles)
    total, log_total = doubles.sum(axis=0), logs.sum(axis=0)
    np.einsum("rik,rik->ri", doubles, doubles)
    np.einsum("rik,rik->ri", doubles, logs)
    np.einsum("rik,ik->ri", doubles, log_total)
    np.einsum("rik,ik->ri", logs, total)
    other_runs = total - doubles
    np.einsum("rik,rik->ri", other_runs, np.log(other_runs))


def number_block(numbers: np.ndarray, targets: np.ndarray) -> None:
    """Compute the kernels of one block of numbers, with one numpy call each."""
    n_runs, n = numbers.shape
    squares = np.square(numbers - numbers.mean(axis=0))
    variance = squares.sum(axis=0) - squares * (n_runs / (n_runs - 1))
    of_examples = np.ascontiguousarray(numbers.T)  # sorts faster than along the first axis
    order = np.argsort(of_examples, axis=1, kind="stable")
    ascending = np.take_along_axis(of_examples, order, axis=1)
    below, rank = np.cumsum(ascending, axis=1), np.arange(n_runs)
    differences = np.empty_like(of_examples)
    np.put_along_axis(differences, order, (2 * rank - n_runs) * ascending - 2 * below, axis=1)
    differences = np.ascontiguousarray(differences.T)
    errors = numbers - targets
    for values in (numbers, variance, differences, errors, np.abs(errors), np.square(errors)):
        values.sum(axis=0), values.sum(axis=1)
        deviations = values - values[0]  # between runs, for the intervals
        np.einsum("ri,ri->", deviations, deviations), deviations.sum(axis=0)
    # Sums by block of examples, for the parts of the variance and for R².
    starts = np.arange(0, n, max(n // 40, 1))
    centered = numbers - numbers.mean(axis=1, keepdims=True)
    products = centered * centered.sum(axis=0)
    for values in (centered, products, np.square(centered), errors, np.square(errors)):
        np.add.reduceat(values, starts, axis=1)
    (numbers != numbers[:, :1]).sum(axis=1), (numbers == 1.0) | (numbers == 0.0)


def rank_agreement(numbers: np.ndarray) -> None:
    """Compute the agreement of each run with all others on a sample of examples."""
    np.argsort(np.argsort(numbers, axis=1), axis=1)
    for some in np.array_split(numbers, 64, axis=1):
        signs = np.sign(some[:, :, None] - numbers[:, None, :])
        np.einsum("rij,ij->ri", signs, signs.sum(axis=0))


def list_block(items: np.ndarray, known: Relevance) -> None:
    """Compute the kernels of one block of lists, and the sums for their intervals."""
    batch = ItemBatch(items, known, DEPTH)
    gains = RankedGains(items, known.items, known.grades)
    by_run = (gains.hit_rate(DEPTH), gains.ndcg(DEPTH), gains.recall(DEPTH))
    values = [
        first_differs(batch),
        jaccard_distance(batch),
        weighted_overlap(batch, rank_biased_weights),
        weighted_overlap(batch, average_overlap_weights, of_top=True),
        kendall_distance(batch),
    ]
    for of_run in (*by_run, gains.reciprocal_rank(N_PLACES)):
        values += [mean_over_runs(of_run), variance_over_runs(of_run)]
    for without in (value.without for value in values if value.without is not None):
        without.sum(axis=1)
        deviations = without - without[0]  # between runs, for the intervals
        np.einsum("ri,ri->", deviations, deviations), deviations.sum(axis=0)
    np.bincount(items[:, :, :DEPTH].ravel(), minlength=N_ITEMS)


def measure(folder: Path) -> None:
    """Measure the store with seedproof."""
    with tempfile.TemporaryDirectory() as scratch:
        shards = Store(Location.of(folder)).shards()
        measure_shards(shards, Location.of(Path(scratch) / "examples.parquet"))


def run_in_process(step: str, folder: Path, study: str, n_examples: int) -> tuple[float, float]:
    """Run one step in its own process.

    Args:
        step: Name of the step: `read`, `kernels` or `measure`.
        folder: Folder of the store.
        study: Name of the study.
        n_examples: Number of its examples.

    Returns:
        Seconds, peak gigabytes.
    """
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    command += ["--only", study, "--examples", str(n_examples)]
    result = json.loads(subprocess.check_output(command))
    return result["seconds"], result["gigabytes"]


def run_step(step: str, folder: Path, study: str, n_examples: int) -> None:
    """Run one step and print its seconds and peak memory."""
    n_runs, _, layout = STUDIES[study]
    start = time.perf_counter()
    seconds = None
    if step == "read":
        read(folder, layout)
    elif step == "kernels":
        seconds = kernels(layout, n_runs, n_examples)
    else:
        measure(folder)
    elapsed = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"seconds": seconds or elapsed, "gigabytes": peak}))


def main() -> None:
    """Write the stores, run the steps in turns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the examples to use")
    parser.add_argument("--only", choices=STUDIES, help="run only this study")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="folder of the stores")
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--examples", type=int)
    options = parser.parse_args()
    if options.step:
        run_step(options.step, options.folder, options.only, options.examples)
        return
    print("| study | (a) reading | (b) kernels | measuring | of (a)+(b) | of (a) | peak memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (n_runs, most_examples, layout) in STUDIES.items():
        if options.only not in {None, name}:
            continue
        n_examples = int(most_examples * options.scale)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            store = Path(folder) / "store"
            write_store(store, layout, n_runs, n_examples)
            turns = [
                {step: run_in_process(step, store, name, n_examples) for step in STEPS}
                for _ in range(options.repeat)
            ]
        a, b, c = (min(turn[step][0] for turn in turns) for step in STEPS)
        peak = max(turn["measure"][1] for turn in turns)
        print(
            f"| {name}: {n_runs} runs × {n_examples:,} | {a:.1f} s | {b:.1f} s | {c:.1f} s "
            f"| {c / (a + b):.2f} | {c / a:.1f} | {peak:.2f} GB |",
            flush=True,
        )


STEPS = ("read", "kernels", "measure")

if __name__ == "__main__":
    main()
