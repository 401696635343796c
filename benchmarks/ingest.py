"""Time, memory and disk space to ingest a table that is larger than memory.

    python benchmarks/ingest.py [--gigabytes 20] [--memory 2GB] [--runs 50] [--classes 10]
                                [--text-ids] [--texts] [--pack zst] [--folder DIR]

A long CSV file is written compressed, as a stream, with its rows in a pseudo-random order. It is
ingested in its own process, whose resident memory and working folder are sampled from outside. The
last line reports the time and memory of `seedproof measure` on the store.

Per gigabyte of text the disk needs about 0.5 GB for the compressed text, 0.75 GB for the working
folder and 0.75 GB for the store.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.records.memory_limit import parse_memory
from seedproof.records.resumable_ingest import ingest_tables

CHUNK_ROWS = 200_000
# Rows of probabilities that are formatted once and then sampled: 90 MB of text, which is too much
# for the compression to exploit the repetition.
N_FORMATTED = 1_000_000


class Table:
    """Long CSV file, written as a stream.

    Args:
        n_runs: Number of runs.
        n_classes: Number of classes.
        text_ids: Whether ids are text instead of numbers.
        texts: Whether to add a column with the text of each example.
    """

    def __init__(self, n_runs: int, n_classes: int, *, text_ids: bool, texts: bool) -> None:
        self.n_runs = n_runs
        self.n_classes = n_classes
        self.text_ids = text_ids
        self.texts = texts
        n_formatted = min(N_FORMATTED, 10_000_000 // n_classes)
        rng = np.random.default_rng(0)
        weights = rng.gamma(0.5, size=(n_formatted, n_classes)) + 1e-9
        probs = np.round(weights / weights.sum(axis=1, keepdims=True), 6)
        columns = [pa.array(probs[:, i]).cast(pa.string()) for i in range(n_classes)]
        self._formatted = pc.binary_join_element_wise(*columns, ",")

    def rows(self, runs: np.ndarray, examples: np.ndarray, rng: np.random.Generator) -> bytes:
        """Return lines of text, one per run and example."""
        ids = pa.array(examples).cast(pa.string())
        if self.text_ids:
            ids = pc.binary_join_element_wise("example-of-some-length-", ids, "")
        labels = pa.array(examples % self.n_classes).cast(pa.string())
        drawn = rng.integers(len(self._formatted), size=len(runs))
        columns = [pa.array(runs).cast(pa.string()), ids, labels, self._formatted.take(drawn)]
        if self.texts:
            columns.append(pc.binary_join_element_wise("a sentence that says", ids, " " * 60))
        lines = pc.binary_join_element_wise(*columns, ",")
        whole = pa.ListArray.from_arrays([0, len(lines)], lines)
        return pc.binary_join(whole, "\n")[0].as_buffer().to_pybytes() + b"\n"

    def write(self, path: Path, n_bytes: int, packing: str) -> tuple[int, int]:
        """Write a table of about a given size.

        Args:
            path: Output file.
            n_bytes: Approximate size before compression.
            packing: Compression: `zst`, `gz`, or empty.

        Returns:
            Number of examples, bytes of text.
        """
        rng = np.random.default_rng(1)
        few = np.arange(1000)
        bytes_per_row = len(self.rows(few % self.n_runs, few * 1000, rng)) / 1000
        n_examples = max(1, int(n_bytes / bytes_per_row / self.n_runs))
        n_rows = n_examples * self.n_runs
        # Multiples of a step that is coprime to the number of rows visit each row once.
        step = next(
            s for s in range(int(n_rows * 0.618) | 1, 2 * n_rows) if math.gcd(s, n_rows) == 1
        )
        written = 0
        compression = {"zst": "zstd", "gz": "gzip", "": None}[packing]
        with pa.output_stream(str(path), compression=compression, buffer_size=2**20) as file:
            names = ",".join(f"p_{i}" for i in range(self.n_classes))
            header = f"run,example,label,{names}{',text' if self.texts else ''}\n"
            written += file.write(header.encode())
            for start in range(0, n_rows, CHUNK_ROWS):
                rows = np.arange(start, min(start + CHUNK_ROWS, n_rows)) * step % n_rows
                written += file.write(self.rows(rows % self.n_runs, rows // self.n_runs, rng))
        return n_examples, written


class ResourceMonitor:
    """Memory of a process and its children, and size of its working folder.

    Args:
        pid: Process id.
        folder: Working folder.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self.samples: list[tuple[float, int]] = []
        self.peak = 0
        self.spill_bytes = 0
        self.folder_bytes = 0
        self._pid = pid
        self._folder = folder
        self._start = time.monotonic()

    def sample(self) -> None:
        """Record the current usage."""
        resident = [self._status(pid) for pid in (self._pid, *self._children(self._pid))]
        self.samples.append((time.monotonic() - self._start, sum(now for now, _ in resident)))
        self.peak = max(self.peak, self.samples[-1][1], *(high for _, high in resident))
        self.spill_bytes = max(self.spill_bytes, size_of(self._folder / "spill"))
        self.folder_bytes = max(self.folder_bytes, size_of(self._folder))

    @staticmethod
    def _children(pid: int) -> list[int]:
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            children = [
                int(word) for task in tasks for word in (task / "children").read_text().split()
            ]
        except OSError:
            return []
        descendants = [pid for child in children for pid in ResourceMonitor._children(child)]
        return [*children, *descendants]

    @staticmethod
    def _status(pid: int) -> tuple[int, int]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return 0, 0
        fields = {line.split(":")[0]: line.split() for line in lines}
        now, high = (int(fields.get(name, [0, 0])[1]) * 1024 for name in ("VmRSS", "VmHWM"))
        return now, high


def size_of(folder: Path) -> int:
    """Return the bytes on disk in a folder, without files that disappear meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total


def run_ingest(table: Path, store: Path, memory: str) -> None:
    """Ingest a table and print the seconds per phase."""
    seconds: Counter[str] = Counter()
    last = time.perf_counter()

    def progress(phase: str, _done: int, _total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[phase] += now - last
        last = now

    ingest_tables([table], store, memory=parse_memory(memory), progress=progress)
    seconds["the end"] = time.perf_counter() - last
    print(json.dumps(seconds))


def monitored(command: list[str], folder: Path) -> tuple[float, ResourceMonitor, str]:
    """Run a command; return its seconds, resource usage and output."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        monitor = ResourceMonitor(process.pid, folder)
        while process.poll() is None:
            monitor.sample()
            time.sleep(0.05)
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit(f"command failed: {' '.join(command)}")
    return time.perf_counter() - start, monitor, output


def run_benchmark(options: argparse.Namespace, folder: Path) -> None:
    """Write the table, ingest it, measure the store and print time, memory and disk space."""
    path = folder / f"table.csv{'.' if options.pack else ''}{options.pack}"
    store = folder / "store"
    start = time.perf_counter()
    table = Table(options.runs, options.classes, text_ids=options.text_ids, texts=options.texts)
    n_examples, n_bytes = table.write(path, int(options.gigabytes * 1e9), options.pack)
    n_rows = n_examples * options.runs
    print(
        f"{options.runs} runs × {n_examples:,} examples × {options.classes} classes "
        f"= {n_rows:,} rows; "
        f"{n_bytes / 1e9:.2f} GB of text, {path.stat().st_size / 1e9:.2f} GB compressed "
        f"({time.perf_counter() - start:.0f} s to write)",
        flush=True,
    )
    command = [
        sys.executable,
        __file__,
        "--step",
        str(path),
        str(store),
        "--memory",
        options.memory,
    ]
    seconds, monitor, output = monitored(command, store / "ingest")
    phases = ", ".join(f"{name} {duration:.1f}" for name, duration in json.loads(output).items())
    limit = parse_memory(options.memory)
    print(
        f"ingest --memory {options.memory}: {seconds:.1f} s ({phases}), "
        f"{n_bytes / seconds / 1e6:.0f} MB/s of text, {n_rows / seconds:,.0f} rows/s"
    )
    print(
        f"peak memory {monitor.peak / 1e6:.0f} MB = {monitor.peak / limit:.0%} of the limit; "
        f"working folder at most {monitor.folder_bytes / 1e9:.2f} GB; spilled by the sort at most "
        f"{monitor.spill_bytes / 1e9:.2f} GB; store {size_of(store) / 1e9:.2f} GB"
    )
    tenths = np.array_split(np.array([now for _, now in monitor.samples]), 10)
    peaks = ", ".join(f"{part.max() / 1e6:.0f}" for part in tenths if len(part))
    print(f"peak memory in MB per tenth of the time: {peaks}", flush=True)
    seconds, monitor, _ = monitored(
        [sys.executable, "-m", "seedproof", "measure", str(store)], folder / "no"
    )
    print(f"measure: {seconds:.1f} s, peak memory {monitor.peak / 1e6:.0f} MB")


def main() -> None:
    """Run the benchmark in a temporary folder, or one step of it in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--gigabytes", type=float, default=20.0, help="size of the text before compression"
    )
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--text-ids", action="store_true")
    parser.add_argument("--texts", action="store_true", help="add a column of texts")
    parser.add_argument("--pack", choices=["zst", "gz", ""], default="zst")
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder on a disk with enough space; if omitted, a temporary one",
    )
    parser.add_argument("--step", nargs=2, metavar=("TABLE", "STORE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        run_ingest(Path(options.step[0]), Path(options.step[1]), options.memory)
        return
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="ingest-"))
    try:
        run_benchmark(options, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
