"""Time and memory to read scored samples from JSON lines, compared with Arrow alone.

    python benchmarks/json_lines.py [--samples 1000000] [--rounds 3] [--folder DIR]

Two files have the same samples: one with values inside objects, which are named by paths, and one
with columns. Each round reads a file with `pyarrow.json.read_json`, which is only parsing, and with
`sp.Predictions.load`, which also aligns trials by example and checks them. Both use one thread, in
turns, and their processor time is compared. Peak memory is that of a process of its own, and that
of answers ten times as long shows what it depends on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before Arrow is loaded

import numpy as np
import pyarrow.json

import seedproof as sp

N_TRIALS = 5
WORDS = ("the", "model", "answers", "this", "question", "with", "several", "words", "or", "more")
COLUMNS = {
    "paths": sp.Columns(example="doc.id", trial="attempt", value="result.score"),
    "columns": sp.Columns(example="id", trial="attempt", value="score"),
}


def write(path: Path, n_samples: int, form: str, *, repeat: int = 1) -> None:
    """Write samples of `N_TRIALS` trials of each example."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for trial in range(N_TRIALS):
            scores = rng.random(n_samples // N_TRIALS).round(4).tolist()
            for index, score in enumerate(scores):
                answer = " ".join(WORDS[: 4 + index % 10] * repeat) + f" {score}"
                doc = {"id": f"q-{index:06d}", "topic": f"t{index % 7}"}
                result = {"output": answer, "score": score, "ok": score > 0.5}
                row = {"doc": doc, "attempt": trial, "result": result}
                if form == "columns":
                    row = {**doc, "attempt": trial, **result}
                file.write(json.dumps(row) + "\n")


def read(path: Path, form: str, reader: str) -> None:
    """Read a file with Arrow alone or with the library."""
    if reader == "arrow":
        pyarrow.json.read_json(path)
    else:
        predictions = sp.Predictions.load(path, columns=COLUMNS[form])
        assert len(predictions.runs) == N_TRIALS, predictions  # noqa: S101 - a benchmark


def peak_megabytes(path: Path, form: str, reader: str) -> float:
    """Return the peak memory of a process that reads a file."""
    command = [sys.executable, __file__, "--read", str(path), "--form", form, "--reader", reader]
    return float(subprocess.check_output(command, text=True))


def compare(folder: Path, n_samples: int, n_rounds: int, form: str) -> None:
    """Print the row of one form of files."""
    path = folder / f"{form}.jsonl"
    write(path, 10 * N_TRIALS, form)
    read(path, form, "seedproof")  # loads all modules
    write(path, n_samples, form)
    seconds: dict[str, list[float]] = {"arrow": [], "seedproof": []}
    for _ in range(n_rounds):
        for reader, times in seconds.items():
            began = time.process_time()
            read(path, form, reader)
            times.append(time.process_time() - began)
    arrow, ours = (min(times) for times in seconds.values())
    peaks = [peak_megabytes(path, form, reader) for reader in seconds]
    size = path.stat().st_size
    write(path, n_samples, form, repeat=10)
    peaks += [peak_megabytes(path, form, reader) for reader in seconds]
    long_size = path.stat().st_size
    path.unlink()
    memory = " | ".join(f"{peak:.0f} MB" for peak in peaks)
    print(
        f"| {form} | {size / 1e6:.0f} and {long_size / 1e6:.0f} MB | {arrow:.2f} s | {ours:.2f} s "
        f"| {ours / arrow:.2f} | {memory} |",
        flush=True,
    )


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--form", default="paths", help=argparse.SUPPRESS)
    parser.add_argument("--reader", default="seedproof", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        read(options.read, options.form, options.reader)
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        print(int(status.partition("VmHWM:")[2].split()[0]) / 1000)
        return
    print("| values by | file | Arrow | seedproof | ratio | Arrow, memory | ours | long | ours |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for form in COLUMNS:
            compare(Path(folder), options.samples, options.rounds, form)


if __name__ == "__main__":
    main()
