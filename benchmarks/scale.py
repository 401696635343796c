"""Cost of measuring large studies, compared with lower limits, and its growth.

    python benchmarks/scale.py [--scale 1.0] [--repeat 2] [--folder DIR] [--part limits|growth|less]

Each of the three parts prints tables in Markdown:

- `limits`: 50 runs × 4,000,000 examples × 10 classes and 20 × 1,000,000 × 150, on Ray with two
  workers, compared with bare `ray.remote` tasks that (a) only read the same columns of the same
  files, and (b) read them and compute only the kernels in numpy. Starting Ray is not timed. The
  peak memory of each worker comes from the operating system. The first study is also measured on
  its first examples only, to show the growth in examples.
- `growth`: the time for more runs and classes, with a linear fit.
- `less`: the savings and errors of fewer metrics, top classes and half precision.

The disk needs 21 GB of free space at full scale.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import block
from scipy.optimize import nnls

import seedproof as sp
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.metrics.batch import batch_rows
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store, StoreShards
from seedproof.records.schema import Kind, Layout, floats_from_binary
from seedproof.records.shards import Shard
from seedproof.records.writer import RunWriter

WORKERS = 2
SPAWN = get_context("spawn")
# Rows of logits that are drawn once and reused with other noise, because drawing all of them would
# take longer than the rest of the benchmark.
N_DRAWN = 2**17
# Maximum number of candidate classes per example.
MAX_DRAWN_CLASSES = 150
TEN, MANY = (50, 4_000_000, 10), (20, 1_000_000, 150)
Shape = tuple[int, int, int]


# ------------------------------------------------------------------------------------- stores


@dataclass(frozen=True)
class RunTask:
    """Task that writes one run of a study; can be pickled."""

    folder: Path
    shape: Shape
    n_top: int = 0
    half: bool = False

    @property
    def layout(self) -> Layout:
        """Layout of the records."""
        classes = tuple(map(str, range(self.shape[2])))
        kind = Kind.TOP if self.n_top else Kind.PROBS
        return Layout(kind, classes, n_top=self.n_top, half=self.half)

    def __call__(self, run_idx: int) -> None:
        """Write one run: logits that all runs share plus noise of its own."""
        _, n_examples, n_classes = self.shape
        layout = self.layout
        step = layout.rows_per_group
        drawn = min(N_DRAWN, 2**28 // n_classes, max(n_examples, step))
        shared = np.random.default_rng(0)
        width = min(n_classes, MAX_DRAWN_CLASSES)
        base_logits = 4 * shared.standard_normal((drawn, width), dtype=np.float32)
        own = np.random.default_rng([1, run_idx])
        noise = own.standard_normal((drawn, width), dtype=np.float32)
        manifest = RunManifest(run_id=f"run-{run_idx}", name=str(run_idx))
        with RunWriter(Location.of(self.folder), manifest, layout, rows_per_group=step) as writer:
            for start in range(0, n_examples, step):
                rows = np.arange(start, min(start + step, n_examples))
                # Reused rows get other noise.
                logits = base_logits[rows % drawn] + noise[(rows + rows // drawn * 7919) % drawn]
                np.exp(logits - logits.max(axis=1, keepdims=True), out=logits)
                logits /= logits.sum(axis=1, keepdims=True)
                labels = base_logits[rows % drawn].argmax(axis=1).astype(np.int32)
                values: Any = logits.astype(np.float16) if self.half else logits
                if self.n_top:
                    values, labels = self._top(logits, labels, rows)
                writer.write(pa.array(rows), labels, values)

    def _top(
        self, probs: np.ndarray, labels: np.ndarray, rows: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Return the most probable classes and the labels; candidates vary if classes are many."""
        candidates = np.broadcast_to(np.arange(probs.shape[1]), probs.shape)
        if self.shape[2] > MAX_DRAWN_CLASSES:
            candidates = (candidates * 659 + rows[:, None] * 31) % self.shape[2]
        top = np.argpartition(-probs, self.n_top, axis=1)[:, : self.n_top]
        classes = np.take_along_axis(candidates, top, axis=1).astype(np.int32)
        gold = np.take_along_axis(candidates, labels[:, None], axis=1)[:, 0].astype(np.int32)
        return (classes, np.take_along_axis(probs, top, axis=1)), gold


def write_store(folder: Path, shape: Shape, *, n_top: int = 0, half: bool = False) -> Path:
    """Write a study and return its folder."""
    task = RunTask(folder, shape, n_top, half)
    Location.of(folder).make_folder()
    StudyManifest("scale", task.layout.rows_per_group).write(Location.of(folder))
    with SPAWN.Pool(WORKERS) as pool:
        pool.map(task, range(shape[0]), chunksize=1)
    return folder


# -------------------------------------------------------------------------------------- steps


def parts_of(store: Path) -> list[list[str]]:
    """Return the files of each run."""
    runs = sorted((store / "runs").iterdir())
    return [[str(part) for part in sorted(run.rglob("*.parquet"))] for run in runs]


def bytes_read(store: Path) -> int:
    """Return the bytes that measuring reads: all probabilities, ids and labels of one run."""
    total = 0
    for run_idx, run in enumerate(parts_of(store)):
        names = {"probs"} if run_idx else {"probs", "example", "label"}
        for part in run:
            metadata = pq.read_metadata(part)
            for group in range(metadata.num_row_groups):
                chunks = (metadata.row_group(group).column(i) for i in range(metadata.num_columns))
                total += sum(c.total_compressed_size for c in chunks if c.path_in_schema in names)
    return total


class BareTask:
    """Task of a worker without seedproof: read a shard and optionally compute the kernels.

    Args:
        store: Folder of the store.
        n_classes: Number of classes.
        computes: Whether to compute the kernels.
    """

    def __init__(self, store: Path, n_classes: int, *, computes: bool) -> None:
        self._parts = parts_of(store)
        self._n_classes = n_classes
        self._computes = computes
        self._open: dict[str, pq.ParquetFile] = {}

    def shards(self) -> list[tuple[int, int]]:
        """Return the part and the row group of each shard."""
        groups = [pq.read_metadata(part).num_row_groups for part in self._parts[0]]
        return [(part, group) for part, n in enumerate(groups) for group in range(n)]

    def __call__(self, part: int, group: int) -> int:
        """Process one shard and return its number of rows."""
        first = self._file(self._parts[0][part])
        table = first.read_row_group(group, columns=["example", "label"])
        shape = (len(self._parts), len(table), self._n_classes)
        probs = np.empty(shape, dtype=np.float32)
        for values, run in zip(probs, self._parts, strict=True):
            rows = self._file(run[part]).read_row_group(group, columns=["probs"], use_threads=False)
            values[:] = floats_from_binary(rows.column("probs"))
        if self._computes:
            labels = table.column("label").to_numpy()
            step = batch_rows(shape[0] * shape[2])
            for start in range(0, len(table), step):
                rows = slice(start, start + step)
                block(np.ascontiguousarray(probs[:, rows]), labels[rows])
        return len(table)

    def _file(self, path: str) -> pq.ParquetFile:
        if path not in self._open:
            self._open[path] = pq.ParquetFile(path)
        return self._open[path]


_TASKS: dict[str, BareTask] = {}


def bare_pass(store: Path, n_classes: int, *, computes: bool) -> int:
    """Process all shards in bare Ray tasks and return the number of rows."""
    import ray

    def process_shard(part: int, group: int) -> int:
        if "task" not in _TASKS:
            _TASKS["task"] = BareTask(store, n_classes, computes=computes)
        return _TASKS["task"](part, group)

    remote = ray.remote(process_shard).options(num_cpus=1)
    shards = BareTask(store, n_classes, computes=computes).shards()
    return sum(ray.get([remote.remote(*shard) for shard in shards]))


class FirstShards:
    """First shards of a source, used as a smaller study without copying it."""

    def __init__(self, source: StoreShards, n_examples: int) -> None:
        self._source = source
        self.n_shards = max(1, round(n_examples / source.rows_per_shard))
        counts = [source.counts(index) for index in range(self.n_shards)]
        self.n_examples = sum(n_rows for n_rows, _ in counts)
        self.n_labeled = sum(n_labeled for _, n_labeled in counts)
        self.runs, self.classes, self.kind = source.runs, source.classes, source.kind
        self.rows_per_shard = source.rows_per_shard

    def shard(self, index: int) -> Shard:
        """Return one of the shards."""
        return self._source.shard(index)


@contextmanager
def worker_peaks() -> Iterator[list[int]]:
    """Yield a list that at exit gets the peak resident bytes of each Ray worker."""
    peak_of_pid: dict[int, int] = {}
    peaks: list[int] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.2):
            for status in Path("/proc").glob("[0-9]*/status"):
                try:
                    command = (status.parent / "cmdline").read_bytes()
                    if command.startswith(b"ray::") and b"IDLE" not in command:
                        lines = status.read_text().splitlines()
                        kilobytes = next(int(x.split()[1]) for x in lines if x.startswith("VmHWM"))
                        peak_of_pid[int(status.parent.name)] = kilobytes * 1024
                except (OSError, StopIteration):
                    continue

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield peaks
    finally:
        done.set()
        sampler.join()
        peaks += sorted(peak_of_pid.values())[-WORKERS:]


def run_step(step: str, store: Path, shape: Shape, n_examples: int) -> dict[str, Any]:
    """Run one step in this process; return its seconds and the peak memory of its workers."""
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    warm = ray.remote(_warm).options(num_cpus=1)
    ray.get([warm.remote() for _ in range(WORKERS)])
    steps: dict[str, Callable[[], object]] = {
        "read": lambda: bare_pass(store, shape[2], computes=False),
        "kernels": lambda: bare_pass(store, shape[2], computes=True),
        "measure": lambda: sp.measure(store, engine="ray", workers=WORKERS),
        "first": lambda: _measure_first(store, n_examples),
    }
    with worker_peaks() as peaks:
        start = time.perf_counter()
        steps[step]()
        seconds = time.perf_counter() - start
    ray.shutdown()
    return {"seconds": seconds, "peaks": peaks}


def _warm() -> None:
    """Load the modules, and keep this worker busy until the other worker has started."""
    sp.measure(np.eye(2)[None].repeat(3, 0))
    time.sleep(5)


def _measure_first(store: Path, n_examples: int) -> None:
    source = FirstShards(Store(Location.of(store)).shards(), n_examples)
    engine = measuring_engine("ray", workers=WORKERS)
    with tempfile.TemporaryDirectory(dir=store.parent) as scratch:
        measure_on(engine, source, Location.of(Path(scratch) / "examples"))


def run_in_process(step: str, store: Path, shape: Shape, n_examples: int = 0) -> dict[str, Any]:
    """Run one step in its own process."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(store)]
    command += ["--shape", *map(str, shape), "--first", str(n_examples)]
    result: dict[str, Any] = json.loads(subprocess.check_output(command).splitlines()[-1])
    return result


# -------------------------------------------------------------------------------------- parts


def limits(folder: Path, scale: float, repeat: int) -> None:
    """Compare both studies with the two limits; measure growth in examples on the first."""
    print("| study | bytes read | (a) reading | (b) with kernels | measuring | of (b) | of (a) |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for n_runs, n_all, n_classes in (TEN, MANY):
        shape = (n_runs, int(n_all * scale), n_classes)
        store = write_store(folder / f"{n_classes}-classes", shape)
        size = bytes_read(store)
        steps = ("read", "kernels", "measure")
        rounds = [
            {step: run_in_process(step, store, shape) for step in steps} for _ in range(repeat)
        ]
        a, b, c = (min(row[step]["seconds"] for row in rounds) for step in steps)
        peak = max(peak for row in rounds for peak in row["measure"]["peaks"])
        print(
            f"| {n_runs} × {shape[1]:,} × {n_classes} | {size / 1e9:.1f} GB | {a:.1f} s "
            f"| {b:.1f} s | {c:.1f} s | {c / b:.2f} | {c / a:.1f} |",
            flush=True,
        )
        print(
            f"<!-- {shape}: {shape[1] / c / WORKERS:,.0f} examples/s and {size / c / WORKERS:,.0f} "
            f"bytes/s per core measuring, {size / a / WORKERS:,.0f} bytes/s per core reading, "
            f"peak memory of a worker {peak / 1e9:.2f} GB; all rounds: "
            f"{[{s: round(r[s]['seconds'], 1) for s in steps} for r in rounds]} -->",
            flush=True,
        )
        if n_classes == TEN[2]:
            _growth_in_examples(store, shape, repeat)


def _growth_in_examples(store: Path, shape: Shape, repeat: int) -> None:
    """Print seconds and peak memory of each worker for the first examples of a store."""
    print("\n| examples | seconds | seconds per million | peak memory of each worker |")
    print("|---|---|---|---|", flush=True)
    sizes = [shape[1] // 8, shape[1] // 4, shape[1] // 2, shape[1]]
    rounds = [
        [run_in_process("first", store, shape, size) for size in sizes] for _ in range(repeat)
    ]
    source = Store(Location.of(store)).shards()
    for index, requested in enumerate(sizes):
        size = FirstShards(source, requested).n_examples  # whole row groups
        seconds = min(row[index]["seconds"] for row in rounds)
        peaks = max((row[index]["peaks"] for row in rounds), key=max)
        gigabytes = ", ".join(f"{peak / 1e9:.2f}" for peak in peaks)
        print(
            f"| {size:,} | {seconds:.1f} | {seconds / size * 1e6:.2f} | {gigabytes} GB |",
            flush=True,
        )
    print(flush=True)


def growth(folder: Path, scale: float, repeat: int) -> None:
    """Measure studies of more runs and classes on one worker, and print a linear fit."""
    n = int(200_000 * scale)
    shapes = [(r, n, 10) for r in (5, 10, 20, 50)] + [(20, n, k) for k in (2, 50, 150)]
    seconds_per_example = []
    print("| runs | classes | seconds per million examples | linear fit |")
    print("|---|---|---|---|", flush=True)
    for shape in shapes:
        store = write_store(folder / f"{shape[0]}-{shape[2]}", shape)
        seconds = []
        for _ in range(repeat):
            start = time.perf_counter()
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                shards = Store(Location.of(store)).shards()
                measure_shards(shards, Location.of(Path(scratch) / "examples.parquet"))
            seconds.append(time.perf_counter() - start)
        seconds_per_example.append(min(seconds) / shape[1])
    # Seconds per example are a constant, plus a cost per run, plus a cost per probability. Each
    # equation is divided by its measured seconds, so that the fit minimizes relative errors.
    sizes = np.array([[1, r, r * k] for r, _, k in shapes], dtype=np.float64)
    measured = np.array(seconds_per_example)
    costs, _ = nnls(sizes / measured[:, None], np.ones(len(measured)))
    for shape, seconds, fit in zip(shapes, measured, sizes @ costs, strict=True):
        print(f"| {shape[0]} | {shape[2]} | {seconds * 1e6:.2f} | {fit * 1e6:.2f} |")
    example, run, probability = (f"{cost * 1e9:.3g} ns" for cost in costs)
    print(
        f"\nLinear fit: {example} per example, plus {run} per example and run, "
        f"plus {probability} per probability."
    )
    n_runs, n_examples, n_classes = 50, 10**9, 150
    hours = (np.array([1, n_runs, n_runs * n_classes]) @ costs) * n_examples / 3600
    terabytes = n_runs * n_examples * n_classes * 4 / 1e12
    print(f"50 runs × 10⁹ × 150, extrapolated: {hours:,.0f} core-hours, {terabytes:.0f} TB read.")


def less(folder: Path, scale: float, repeat: int) -> None:
    """Compare fewer metrics and smaller records with a full measurement."""
    shape = (20, int(200_000 * scale), 150)
    full = write_store(folder / "full", shape)
    half = write_store(folder / "half", shape, half=True)
    top = write_store(folder / "top", shape, n_top=20)
    many = write_store(folder / "many", (20, shape[1], 100_000), n_top=20)
    rows: list[tuple[str, Path, list[str] | None]] = [
        ("everything", full, None),
        ("accuracy and flips", full, ["accuracy", "flip_rate"]),
        ("half precision", half, None),
        ("top 20 of 150", top, None),
        ("top 20 of 100,000", many, None),
    ]
    print(f"20 runs × {shape[1]:,} examples, one worker:\n")
    print("| variant | on disk | seconds | flip rate | `probability_sd` | maximum error | hidden |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, store, metrics in rows:
        seconds = []
        for _ in range(repeat):
            start = time.perf_counter()
            report = sp.measure(store, metrics=metrics)
            seconds.append(time.perf_counter() - start)
        size = sum(Path(part).stat().st_size for run in parts_of(store) for part in run)
        values = {key: value.value for key, value in report.metrics.items()}
        figures = [
            f"{values[key]:.4g}" if key in values else ""
            for key in ("flip_rate", "probability_sd", "probability_sd_error", "hidden_probability")
        ]
        cells = " | ".join(figures)
        print(f"| {name} | {size / 1e9:.2f} GB | {min(seconds):.1f} | {cells} |", flush=True)
    _error_of_half(full, half)


def _error_of_half(full: Path, half: Path) -> None:
    """Print each figure and its change by half precision."""
    full_report, half_report = sp.measure(full), sp.measure(half)
    print("\nFigures, and their change by half precision:")
    for name, value in full_report.metrics.items():
        change = half_report[name].value - value.value
        print(f"- {name}: {value.value:.6f}, {change:+.1e}")


PARTS = {"limits": limits, "growth": growth, "less": less}


def main() -> None:
    """Run one part or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the examples to use")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder on a disk with enough space; if omitted, a temporary one",
    )
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        shape = (options.shape[0], options.shape[1], options.shape[2])
        print(json.dumps(run_step(options.step, options.folder, shape, options.first)))
        return
    for name, part in PARTS.items():
        if options.part in {None, name}:
            with tempfile.TemporaryDirectory(dir=options.folder, prefix="scale-") as folder:
                part(Path(folder), options.scale, options.repeat)


if __name__ == "__main__":
    main()
