"""Time to measure the stability of explanations, compared with a loop over pairs with scipy.

    PYTHONPATH=tests python benchmarks/explanations.py [--runs 50] [--examples 100000]
        [--tokens 20] [--part 6]

Explanations of 50 runs × 100,000 sentences × 20 tokens are written as a store. seedproof reads the
store and measures every figure of every example, with intervals from leaving out each run in turn.
The loop computes the same figures without intervals, for one pair of runs after the other, on
arrays in memory. It uses `scipy.special.rel_entr`, `scipy.stats.kendalltau` and sets. It is timed
on a few sentences and extrapolated.

The script fails if the values differ.
"""

import argparse
import cProfile
import pstats
import resource
import tempfile
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.special import entr, rel_entr

from seedproof.measurement.explanations.measure import measure_explanations
from seedproof.metrics.explanations import RaggedScores, explanation_values
from seedproof.metrics.explanations.distances import (
    jaccard_distance,
    kendall_tau,
    rank_biased_overlap,
    token_ranks,
    top_overlap,
    weight_divergences,
)
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.explanations import ROWS_PER_GROUP
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Group, ids_digest
from seedproof.records.writer import PartWriter
from support.explanation_oracles import SLOW_FIGURES, slow_smoothed


def loop_kl(runs: np.ndarray) -> float:
    """Return the mean KL over ordered pairs; `scipy.stats.entropy` is slower due to its checks."""
    rows = [np.array(slow_smoothed(run)) for run in runs]
    return float(np.mean([rel_entr(a, b).sum() for a, b in permutations(rows, 2)]))


def loop_js(runs: np.ndarray) -> float:
    """Return the generalized Jensen-Shannon divergence, one run after the other."""
    rows = [np.array(slow_smoothed(run)) for run in runs]
    plug_in = entr(np.mean(rows, axis=0)).sum() - np.mean([entr(row).sum() for row in rows])
    return float(plug_in * len(rows) / (len(rows) - 1))


def ranks_alone(block: np.ndarray) -> Callable[[], object]:
    """Return the sort that four figures share."""
    return lambda: token_ranks(block)


def on_ranks(kernel: Callable[..., object], **options: int) -> Callable[..., Callable[[], object]]:
    """Return a call of a kernel on ranks; sorting is not timed."""

    def prepared(block: np.ndarray) -> Callable[[], object]:
        ranks = token_ranks(block)
        return lambda: kernel(ranks, **options)

    return prepared


def on_scores(kernel: Callable[..., object]) -> Callable[..., Callable[[], object]]:
    """Return a call of a kernel on scores."""
    return lambda block: lambda: kernel(block)


# Per row of the table: the loops, and the kernel that replaces them.
FIGURES: dict[str, tuple[dict[str, Callable[..., float]], Callable[..., Callable[[], object]]]] = {
    "KL and JS": (
        {"explanation_kl": loop_kl, "explanation_js": loop_js},
        on_scores(weight_divergences),
    ),
    "ranks of tokens, for the next four": ({}, ranks_alone),
    **{
        name.removeprefix("explanation_"): ({name: SLOW_FIGURES[name]}, kernel)
        for name, kernel in {
            "explanation_jaccard_10": on_ranks(jaccard_distance, percent=10),
            "explanation_jaccard_20": on_ranks(jaccard_distance, percent=20),
            "explanation_overlap": on_ranks(top_overlap, percent=20),
            "explanation_rbo": on_ranks(rank_biased_overlap),
            "explanation_tau": on_scores(kendall_tau),
        }.items()
    },
}


def draw(shape: tuple[int, int, int], run_idx: int, start: int, n_rows: int) -> np.ndarray:
    """Draw the scores of one run: a part that all runs share plus noise of its own."""
    shared = np.random.default_rng([1, start]).standard_normal((n_rows, shape[2]))
    own = np.random.default_rng([2, start, run_idx]).standard_normal((n_rows, shape[2]))
    return np.exp(shared + 0.5 * own).astype(np.float32)


def write_store(folder: Path, shape: tuple[int, int, int]) -> None:
    """Write a study of explanations in the format of `run.log_explanations`."""
    n_runs, n_examples, n_tokens = shape
    store = Location.of(folder)
    store.make_folder()
    StudyManifest("benchmark").write(store)
    words = np.array([f"word{i}" for i in range(5000)])
    schema = pa.schema(
        [
            pa.field("example", pa.int64(), nullable=False),
            pa.field("tokens", pa.list_(pa.string()), nullable=False),
            pa.field("scores", pa.list_(pa.float32()), nullable=False),
            pa.field("draw", pa.int32(), nullable=False),
        ]
    )
    for run_idx in range(n_runs):
        run = store / "runs" / f"run{run_idx}"
        writer = PartWriter(run, "explanations/test/attention/part-0.parquet", schema)
        for start in range(0, n_examples, ROWS_PER_GROUP):
            n = min(ROWS_PER_GROUP, n_examples - start)
            tokens = np.random.default_rng([3, start]).integers(0, len(words), n * n_tokens)
            ends = pa.array(np.arange(0, n * n_tokens + 1, n_tokens, dtype=np.int32))
            ids = pa.array(np.arange(start, start + n))
            scores = draw(shape, run_idx, start, n)
            table = pa.Table.from_arrays(
                [
                    ids,
                    pa.ListArray.from_arrays(ends, pa.array(words[tokens], pa.string())),
                    pa.ListArray.from_arrays(ends, pa.array(scores.ravel())),
                    pa.array(np.zeros(n, dtype=np.int32)),
                ],
                schema=schema,
            )
            writer.write(table, Group(n, 0, ids_digest(ids), ""))
        part = writer.close({"kind": "explanations", "method": "attention"})
        RunManifest(f"run{run_idx}", str(run_idx), (part,)).commit(run)


def best(call: Callable[[], object], repeats: int = 3) -> float:
    """Return the seconds of the fastest of several calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compare_kernels(shape: tuple[int, int, int], part: int) -> dict[str, float]:
    """Print one row per figure; return the extrapolated seconds of each loop."""
    n_runs, n_examples, n_tokens = shape
    few = np.stack([draw(shape, run_idx, 0, part) for run_idx in range(n_runs)])
    n_block = 256
    block = np.stack([draw(shape, run_idx, 0, n_block) for run_idx in range(n_runs)])
    values = explanation_values(RaggedScores(few.reshape(n_runs, -1), np.full(part, n_tokens)))
    seconds = {}
    print(
        f"| figure | loop over pairs, {part} sentences extrapolated | kernel, in memory | ratio |"
    )
    print("|---|---|---|---|", flush=True)
    for title, (loops, kernel) in FIGURES.items():
        slow = 0.0
        for name, loop in loops.items():
            start = time.perf_counter()
            expected = [loop(few[:, i].astype(np.float64)) for i in range(part)]
            slow += (time.perf_counter() - start) / part * n_examples
            np.testing.assert_allclose(values[name].values, expected, rtol=1e-9, atol=1e-11)
        fast = best(kernel(block)) / n_block * n_examples
        seconds[title] = slow
        ratio = (
            f"{slow:,.0f} s | {fast:.1f} s | {slow / fast:,.0f}" if slow else f"| {fast:.1f} s |"
        )
        print(f"| {title} | {ratio} |", flush=True)
    return seconds


def main() -> None:
    """Time the loops on a few sentences, then seedproof on all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument(
        "--part", type=int, default=6, help="number of sentences to time the loops on"
    )
    parser.add_argument("--profile", action="store_true", help="print a profile of the measurement")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    shape = (options.runs, options.examples, options.tokens)
    print(f"{shape[0]} runs × {shape[1]:,} sentences × {shape[2]} tokens, one core\n")
    loops = compare_kernels(shape, options.part)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        write_store(Path(folder) / "store", shape)
        store = Store(Location.of(Path(folder) / "store"))
        profile = cProfile.Profile()
        start = time.perf_counter()
        if options.profile:
            profile.enable()
        result = measure_explanations(
            open_explanations(store, arm="none", split="test", method="attention")
        )
        profile.disable()
        fast = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    total = sum(loops.values())
    # Most of the time is spent in one function of scipy, which checks its input for every pair.
    without_tau = total - loops["tau"]
    print(f"\nloops over pairs, all figures, extrapolated: {total:,.0f} s")
    print(f"the same without scipy.stats.kendalltau: {without_tau:,.0f} s")
    print(f"seedproof, reading and intervals included: {fast:.1f} s, peak memory {peak:.2f} GB")
    print(f"ratio: {total / fast:,.0f}; without kendalltau: {without_tau / fast:,.0f}\n")
    for name, value in result.metrics.items():
        print(f"{name}: {value}")
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)


if __name__ == "__main__":
    main()
