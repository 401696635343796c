"""Time to measure a study, compared with two lower limits.

    python benchmarks/measure.py [--scale 1.0] [--only STUDY] [--repeat 3] [--folder DIR]

Three studies are written as stores: 50 runs × 1,000,000 examples × 10 classes, 20 runs × 200,000
examples × 150 classes, and 50 runs × 1,000,000 numbers (`--only numbers`). Each is measured on one
worker and compared with two lower limits:

(a) only reading the same Parquet columns, row group by row group;
(b) only the kernels in numpy on arrays in memory: argmax, logarithms, or deviations and a sort, and
    the sums for figures and intervals.

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
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.probabilities import most_probable
from seedproof.records.reader import Store
from seedproof.records.schema import Kind, Layout, floats_from_binary
from seedproof.records.writer import RunWriter

# Runs, examples and classes; numbers have no classes.
STUDIES = {
    "10 classes": (50, 1_000_000, 10),
    "150 classes": (20, 200_000, 150),
    "numbers": (50, 1_000_000, 0),
}


def write_store(
    folder: Path, n_runs: int, n_examples: int, n_classes: int, *, seed: int = 0
) -> None:
    """Write a study whose runs agree on most predictions.

    Args:
        folder: Folder of the new store.
        n_runs: Number of runs.
        n_examples: Number of examples.
        n_classes: Number of classes; 0 for numbers.
        seed: Seed of the noise; stores with different seeds have the same examples.
    """
    layout = Layout(Kind.PROBS, tuple(map(str, range(n_classes))))
    if not n_classes:
        layout = Layout(Kind.NUMBERS, (), double=True)
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
                ids = pa.array(np.arange(start, start + n))
                if not n_classes:
                    targets = 4 * shared.standard_normal(n)
                    writer.write(ids, targets, targets + rng.standard_normal(n))
                    continue
                logits = 4 * shared.standard_normal((n, n_classes), dtype=np.float32)
                labels = logits.argmax(axis=1).astype(np.int32)
                logits += rng.standard_normal((n, n_classes), dtype=np.float32)
                probs = np.exp(logits - logits.max(axis=1, keepdims=True))
                probs /= probs.sum(axis=1, keepdims=True)
                writer.write(ids, labels, probs)


def read(folder: Path) -> None:
    """Read the columns that measuring reads: limit (a)."""
    parts = [sorted(run.rglob("*.parquet")) for run in sorted((folder / "runs").iterdir())]
    files = [[pq.ParquetFile(part) for part in run] for run in parts]
    for part_idx in range(len(files[0])):
        for group in range(files[0][part_idx].num_row_groups):
            names = files[0][part_idx].schema_arrow.names
            values = "value" if "value" in names else "probs"
            files[0][part_idx].read_row_group(group, columns=names[:2])
            for run in files:
                table = run[part_idx].read_row_group(group, columns=[values], use_threads=False)
                if values == "probs":
                    floats_from_binary(table.column("probs"))


def kernels(n_runs: int, n_examples: int, n_classes: int) -> float:
    """Return the seconds of the kernels alone: limit (b).

    One block that fits into the cache is computed repeatedly, as if all examples were in memory.
    """
    n = max(BATCH_VALUES // (n_runs * max(n_classes, 1)), 1)
    rng = np.random.default_rng(0)
    n_blocks = n_examples // n
    if not n_classes:
        targets = 4 * rng.normal(size=n)
        numbers = targets + rng.normal(size=(n_runs, n))
        start = time.perf_counter()
        for _ in range(n_blocks):
            number_block(numbers, targets)
        elapsed = (time.perf_counter() - start) * n_examples / (n_blocks * n)
        start = time.perf_counter()
        rank_agreement(numbers[:, :2048])
        return elapsed + time.perf_counter() - start
    logits = 4 * rng.normal(size=(1, n, n_classes)) + rng.normal(size=(n_runs, n, n_classes))
    raised = np.exp(logits - logits.max(axis=2, keepdims=True))
    probs = (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)
    labels = logits[0].argmax(axis=1)
    start = time.perf_counter()
    for _ in range(n_blocks):
        block(probs, labels)
    return (time.perf_counter() - start) * n_examples / (n_blocks * n)


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
    order = np.argsort(numbers, axis=0, kind="stable")
    ascending = np.take_along_axis(numbers, order, axis=0)
    below, rank = np.cumsum(ascending, axis=0), np.arange(n_runs)[:, None]
    differences = np.empty_like(numbers)
    np.put_along_axis(differences, order, (2 * rank - n_runs) * ascending - 2 * below, axis=0)
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


def measure(folder: Path) -> None:
    """Measure the store with seedproof."""
    with tempfile.TemporaryDirectory() as scratch:
        shards = Store(Location.of(folder)).shards()
        measure_shards(shards, Location.of(Path(scratch) / "examples.parquet"))


def run_in_process(step: str, folder: Path, shape: tuple[int, int, int]) -> tuple[float, float]:
    """Run one step in its own process.

    Args:
        step: Name of the step: `read`, `kernels` or `measure`.
        folder: Folder of the store.
        shape: Numbers of runs, examples and classes.

    Returns:
        Seconds, peak gigabytes.
    """
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    command += ["--shape", *map(str, shape)]
    result = json.loads(subprocess.check_output(command))
    return result["seconds"], result["gigabytes"]


def run_step(step: str, folder: Path, shape: tuple[int, int, int]) -> None:
    """Run one step and print its seconds and peak memory."""
    start = time.perf_counter()
    seconds = None
    if step == "read":
        read(folder)
    elif step == "kernels":
        seconds = kernels(*shape)
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
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=["read", "kernels", "measure"])
    parser.add_argument("--shape", type=int, nargs=3)
    options = parser.parse_args()
    if options.step:
        run_step(options.step, options.folder, tuple(options.shape))
        return
    print("| study | (a) reading | (b) kernels | measuring | of (a)+(b) | of (a) | peak memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, (n_runs, n_examples, n_classes) in STUDIES.items():
        if options.only not in {None, name}:
            continue
        shape = (n_runs, int(n_examples * options.scale), n_classes)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            write_store(Path(folder) / "store", *shape)
            rows = [
                {step: run_in_process(step, Path(folder) / "store", shape) for step in STEPS}
                for _ in range(options.repeat)
            ]
        a, b, c = (min(row[step][0] for row in rows) for step in STEPS)
        peak = max(row["measure"][1] for row in rows)
        size = f"{shape[0]} runs × {shape[1]:,} × {shape[2]}"
        print(
            f"| {size} | {a:.1f} s | {b:.1f} s | {c:.1f} s | {c / (a + b):.2f} | {c / a:.1f} "
            f"| {peak:.2f} GB |",
            flush=True,
        )


STEPS = ("read", "kernels", "measure")

if __name__ == "__main__":
    main()
