"""Does a table larger than memory come into a store without exceeding what it may use?

    python benchmarks/ingest.py [--gigabytes 20] [--memory 2GB] [--runs 50] [--classes 10]
                                [--text-ids] [--texts] [--pack zst] [--folder DIR]

A long CSV of so many gigabytes is written compressed, as a stream, with the rows of all runs and
examples in one random-looking order. It is ingested in a process of its own, whose resident memory
and working folder are watched from outside. A second line tells what `seedproof measure` of the
store takes.

The disk must hold, for each gigabyte of text, about half a gigabyte of packed text, and three
quarters both of gathered rows and of the store.
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
# Rows of probabilities that are formatted once and drawn from: 90 MB of text, so that packing
# does not see that they repeat.
N_FORMATTED = 1_000_000


class Table:
    """A long CSV, written as a stream.

    Args:
        n_runs: How many runs.
        n_classes: How many classes.
        text_ids: Whether ids are text, and not numbers.
        texts: Whether there is a further column, a text of each example.
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
        """Lines of text, one for each run and example."""
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
        """Write about so many bytes of text.

        Args:
            path: Where to.
            n_bytes: How many, before packing.
            packing: `zst`, `gz`, or empty.

        Returns:
            Examples, bytes of text.
        """
        rng = np.random.default_rng(1)
        few = np.arange(1000)
        a_row = len(self.rows(few % self.n_runs, few * 1000, rng)) / 1000
        n_examples = max(1, int(n_bytes / a_row / self.n_runs))
        n_rows = n_examples * self.n_runs
        # Multiples of a step that has no common factor with the number of rows visit each once.
        step = next(
            s for s in range(int(n_rows * 0.618) | 1, 2 * n_rows) if math.gcd(s, n_rows) == 1
        )
        written = 0
        packer = {"zst": "zstd", "gz": "gzip", "": None}[packing]
        with pa.output_stream(str(path), compression=packer, buffer_size=2**20) as file:
            names = ",".join(f"p_{i}" for i in range(self.n_classes))
            header = f"run,example,label,{names}{',text' if self.texts else ''}\n"
            written += file.write(header.encode())
            for start in range(0, n_rows, CHUNK_ROWS):
                at = np.arange(start, min(start + CHUNK_ROWS, n_rows)) * step % n_rows
                written += file.write(self.rows(at % self.n_runs, at // self.n_runs, rng))
        return n_examples, written


class Watch:
    """Looks at a process, its children and a folder while it works.

    Args:
        pid: The process.
        folder: The working folder.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self.samples: list[tuple[float, int]] = []
        self.peak = 0
        self.spilled = 0
        self.worked = 0
        self._pid = pid
        self._folder = folder
        self._start = time.monotonic()

    def look(self) -> None:
        """Note what there is now."""
        resident = [self._status(pid) for pid in (self._pid, *self._children(self._pid))]
        self.samples.append((time.monotonic() - self._start, sum(now for now, _ in resident)))
        self.peak = max(self.peak, self.samples[-1][1], *(high for _, high in resident))
        self.spilled = max(self.spilled, size_of(self._folder / "spill"))
        self.worked = max(self.worked, size_of(self._folder))

    @staticmethod
    def _children(pid: int) -> list[int]:
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            found = [
                int(word) for task in tasks for word in (task / "children").read_text().split()
            ]
        except OSError:
            return []
        return [*found, *(below for child in found for below in Watch._children(child))]

    @staticmethod
    def _status(pid: int) -> tuple[int, int]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return 0, 0
        found = {line.split(":")[0]: line.split() for line in lines}
        now, high = (int(found.get(name, [0, 0])[1]) * 1024 for name in ("VmRSS", "VmHWM"))
        return now, high


def size_of(folder: Path) -> int:
    """Bytes on disk in a folder, as far as they hold still."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total


def one_ingest(table: Path, store: Path, memory: str) -> None:
    """Ingest, and print how many seconds each phase took."""
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


def watched(command: list[str], folder: Path) -> tuple[float, Watch, str]:
    """Seconds, what was seen, and what a command printed."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = Watch(process.pid, folder)
        while process.poll() is None:
            watch.look()
            time.sleep(0.05)
        said = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return time.perf_counter() - start, watch, said


def show(given: argparse.Namespace, folder: Path) -> None:
    """Write the table, ingest it, measure the store, print what it took."""
    path = folder / f"table.csv{'.' if given.pack else ''}{given.pack}"
    store = folder / "store"
    start = time.perf_counter()
    table = Table(given.runs, given.classes, text_ids=given.text_ids, texts=given.texts)
    n_examples, n_bytes = table.write(path, int(given.gigabytes * 1e9), given.pack)
    n_rows = n_examples * given.runs
    print(
        f"{given.runs} runs × {n_examples:,} examples × {given.classes} classes = {n_rows:,} rows; "
        f"{n_bytes / 1e9:.2f} GB of text, {path.stat().st_size / 1e9:.2f} GB packed "
        f"({time.perf_counter() - start:.0f} s to write)",
        flush=True,
    )
    command = [sys.executable, __file__, "--step", str(path), str(store), "--memory", given.memory]
    took, watch, said = watched(command, store / "ingest")
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in json.loads(said).items())
    limit = parse_memory(given.memory)
    print(
        f"ingest --memory {given.memory}: {took:.1f} s ({phases}), {n_bytes / took / 1e6:.0f} MB/s "
        f"of text, {n_rows / took:,.0f} rows/s"
    )
    print(
        f"peak resident {watch.peak / 1e6:.0f} MB = {watch.peak / limit:.0%} of what is allowed; "
        f"working folder at most {watch.worked / 1e9:.2f} GB, of which spilled by the sort "
        f"{watch.spilled / 1e9:.2f} GB; store {size_of(store) / 1e9:.2f} GB"
    )
    tenths = np.array_split(np.array([now for _, now in watch.samples]), 10)
    peaks = ", ".join(f"{part.max() / 1e6:.0f}" for part in tenths if len(part))
    print(f"resident MB, highest of each tenth of the time: {peaks}", flush=True)
    took, watch, _ = watched(
        [sys.executable, "-m", "seedproof", "measure", str(store)], folder / "no"
    )
    print(f"measure: {took:.1f} s, peak resident {watch.peak / 1e6:.0f} MB")


def main() -> None:
    """One table through all steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20.0, help="of text, before packing")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--text-ids", action="store_true")
    parser.add_argument("--texts", action="store_true", help="with a further column of texts")
    parser.add_argument("--pack", choices=["zst", "gz", ""], default="zst")
    parser.add_argument("--folder", type=Path, help="on a disk with room; a temporary one without")
    parser.add_argument("--step", nargs=2, metavar=("TABLE", "STORE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        one_ingest(Path(given.step[0]), Path(given.step[1]), given.memory)
        return
    folder = Path(tempfile.mkdtemp(dir=given.folder, prefix="ingest-"))
    try:
        show(given, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
