"""CPU time of two commits on five named rows, in turns.

    python benchmarks/turns.py A B [--rows classes-csv,compare] [--turns 9] [--scale 1.0]

A and B are commits, or `.` for the working tree. Each row is a command line on seeded inputs, which
are written once. In each turn both commits run it, in alternating order, and the CPU seconds of the
process and of all that it started are compared; start-up is part of it. A turn is run before them,
so that everything is compiled, unless `--turns 1` only tries whether all rows run.

The median of the ratios B / A has an exact interval by the sign test: with nine turns, the second
smallest and the second largest ratio hold the true median in 96.1 % of all cases. With fewer than
six turns there is no 95 % interval. Exits with 1 if an interval lies above --limit.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

ROOT = Path(__file__).parents[1]
TAIL = 0.025


def draw_probs(scale: float, *, n_runs: int, n_examples: int, seed: int) -> np.ndarray:
    """Return probabilities (runs, examples, classes); the seed draws the noise of runs."""
    n = max(int(scale * n_examples), 20)
    opinion = 2 * np.random.default_rng(0).standard_normal((n, 3))
    noise = np.random.default_rng(seed).standard_normal((n_runs, n, 3))
    odds = np.exp(opinion + 0.7 * noise)
    return np.asarray(odds / odds.sum(axis=2, keepdims=True), dtype=np.float32)


def draw_labels(n_examples: int) -> np.ndarray:
    """Return right classes, which are those of the common opinion in most cases."""
    opinion = np.random.default_rng(0).standard_normal((n_examples, 3)).argmax(axis=1)
    is_other = np.random.default_rng(9).random(n_examples) < 0.1
    return np.asarray(np.where(is_other, (opinion + 1) % 3, opinion))


def rows_of(n_runs: int, n_examples: int) -> dict[str, np.ndarray]:
    """Return the columns that name runs and examples, run by run."""
    return {
        "run": np.repeat(np.arange(n_runs), n_examples),
        "example": np.tile(np.arange(n_examples), n_runs),
    }


def write_classes_csv(folder: Path, scale: float) -> list[str]:
    """Write probabilities of ten runs to a CSV file."""
    probs = draw_probs(scale, n_runs=10, n_examples=15_000, seed=1)
    columns = rows_of(*probs.shape[:2])
    columns["label"] = np.tile(draw_labels(probs.shape[1]), len(probs))
    columns |= {f"p_{name}": probs[..., index].ravel() for index, name in enumerate("012")}
    csv.write_csv(pa.table(columns), folder / "classes.csv")
    return ["measure", "classes.csv"]


def write_classes_npz(folder: Path, scale: float) -> list[str]:
    """Write probabilities of twenty runs to an npz file."""
    probs = draw_probs(scale, n_runs=20, n_examples=40_000, seed=2)
    np.savez(folder / "classes.npz", probs=probs, labels=draw_labels(probs.shape[1]))
    return ["measure", "classes.npz"]


def write_numbers(folder: Path, scale: float) -> list[str]:
    """Write numbers with targets of ten runs to a Parquet file."""
    rng, n = np.random.default_rng(3), max(int(scale * 20_000), 20)
    targets = rng.standard_normal(n)
    values = targets + 0.3 * rng.standard_normal(n) + 0.2 * rng.standard_normal((10, n))
    columns = rows_of(10, n) | {"value": values.ravel(), "target": np.tile(targets, 10)}
    parquet.write_table(pa.table(columns), folder / "numbers.parquet")
    return ["measure", "numbers.parquet"]


def write_lists(folder: Path, scale: float) -> list[str]:
    """Write the first ten of 200 items for each user, of five runs, to a CSV file."""
    rng, n = np.random.default_rng(4), max(int(scale * 4_000), 20)
    scores = 2 * rng.standard_normal((n, 200)) + rng.standard_normal((5, n, 200))
    items = np.argsort(-scores, axis=2)[..., :10]
    columns = {name: np.repeat(column, 10) for name, column in rows_of(5, n).items()}
    columns |= {"item": items.ravel(), "rank": np.tile(np.arange(1, 11), 5 * n)}
    csv.write_csv(pa.table(columns), folder / "lists.csv")
    return ["measure", "lists.csv", "--item", "item", "--rank", "rank"]


def write_arms(folder: Path, scale: float) -> list[str]:
    """Write probabilities of ten runs of two arms to npz files."""
    arms = []
    for seed, name in ((5, "base"), (6, "arm")):
        probs = draw_probs(scale, n_runs=10, n_examples=20_000, seed=seed)
        np.savez(folder / f"{name}.npz", probs=probs, labels=draw_labels(probs.shape[1]))
        arms.append(f"{name}.npz")
    return ["compare", *arms]


# Each writes its input to a folder, and returns the arguments of `seedproof`.
ROWS: Mapping[str, Callable[[Path, float], list[str]]] = {
    "classes-csv": write_classes_csv,
    "classes-npz": write_classes_npz,
    "numbers": write_numbers,
    "lists": write_lists,
    "compare": write_arms,
}


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of all turns."""

    median: float
    low: float | None = None
    high: float | None = None
    coverage: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.coverage is None:
            return f"{self.median:.3f} (too few turns for an interval)"
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.coverage:.1%})"


def median_ratio(ratios: list[float]) -> Ratio:
    """Return the median with the interval of the sign test, of at least 95 %."""
    ordered, n = sorted(ratios), len(ratios)
    # The k-th value from an end is beyond the median with the chance of fewer than k heads.
    n_beyond, below = 0, 0.0
    while below + comb(n, n_beyond) * 0.5**n <= TAIL:
        below += comb(n, n_beyond) * 0.5**n
        n_beyond += 1
    median = float(np.median(ordered))
    if n_beyond == 0:
        return Ratio(median)
    return Ratio(median, ordered[n_beyond - 1], ordered[-n_beyond], 1 - 2 * below)


def source_of(commit: str, folder: Path) -> Path:
    """Return the folder with the sources of a commit, or of the working tree for `.`."""
    if commit == ".":
        return ROOT / "src"
    archive = ["git", "-C", str(ROOT), "archive", commit, "src"]
    content = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def cpu_seconds(source: Path, arguments: list[str], folder: Path) -> float:
    """Return the CPU seconds of one command and of its children."""
    command = [sys.executable, "-m", "seedproof", *arguments]
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("w+b") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace"))
            sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}.")
    return usage.ru_utime + usage.ru_stime


def run_row(arguments: list[str], sources: list[Path], folder: Path, turns: int) -> np.ndarray:
    """Return the CPU seconds of both commits, axes (turns, commits)."""
    n_unmeasured = int(turns > 1)  # what is imported must be compiled
    seconds = np.empty((n_unmeasured + turns, 2))
    for turn in range(len(seconds)):
        for commit in (0, 1) if turn % 2 else (1, 0):
            seconds[turn, commit] = cpu_seconds(sources[commit], arguments, folder)
    return seconds[n_unmeasured:]


def main() -> None:
    """Compare two commits on all rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commits", nargs=2, metavar="COMMIT", help="or . for the working tree")
    parser.add_argument("--rows", default=",".join(ROWS), help="names of rows (default: all)")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the examples to use")
    parser.add_argument("--limit", type=float, default=1.05, help="ratio that is too large")
    options = parser.parse_args()
    names = options.rows.split(",")
    if unknown := set(names) - set(ROWS):
        parser.error(f"unknown rows {', '.join(sorted(unknown))}; known: {', '.join(ROWS)}")
    slower = []
    folder = Path(tempfile.mkdtemp(prefix="turns-"))
    try:
        sources = [
            source_of(x, folder / place) for x, place in zip(options.commits, "AB", strict=True)
        ]
        print(f"{'row':12}  {'A, s':>6}  {'B, s':>6}  B / A, median of {options.turns} turns")
        for name in names:
            place = folder / name
            place.mkdir()
            arguments = ROWS[name](place, options.scale)
            seconds = run_row(arguments, sources, place, options.turns)
            ratio = median_ratio((seconds[:, 1] / seconds[:, 0]).tolist())
            first, second = np.median(seconds, axis=0)
            print(f"{name:12}  {first:6.2f}  {second:6.2f}  {ratio}", flush=True)
            if ratio.low is not None and ratio.low > options.limit:
                slower.append(name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if slower:
        sys.exit(f"Slower by more than {options.limit:g} times: {', '.join(slower)}.")


if __name__ == "__main__":
    main()
