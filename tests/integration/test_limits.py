"""Inputs that are far larger than they look: answered or refused, in bounded memory and time."""

import csv
import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from seedproof.records.columns import MAX_COLUMNS
from seedproof.records.shards import MAX_RUNS
from support.processes import finished

MEGABYTE = 10**6
# Memory of the libraries alone, with some room.
LEAST = 300 * MEGABYTE


def wide(folder: Path, header: Iterable[str], n_rows: int = 4) -> list[str]:
    """Write a table with a cell `0` in every column of every row."""
    names = list(header)
    with (folder / "wide.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *([["0"] * len(names)] * n_rows)])
    return ["wide.csv"]


def columns(prefix: str) -> Callable[[Path], list[str]]:
    """Return a function that writes a table with more columns than are read."""
    return lambda folder: wide(
        folder, ["run", "id", "label", *(f"{prefix}{i}" for i in range(MAX_COLUMNS))]
    )


def packed_rows(folder: Path) -> list[str]:
    """Write 200 MB of equal rows in 300 kB."""
    with gzip.open(folder / "rows.csv.gz", "wb") as file:
        file.write(b"run,example,label,prediction\n")
        for _ in range(20):
            file.write(b"0,1,a,bb,\n".replace(b",\n", b"\n") * (10 * MEGABYTE // 9))
    return ["rows.csv.gz"]


def packed_cell(folder: Path) -> list[str]:
    """Write a single cell of 200 MB in 200 kB."""
    with gzip.open(folder / "cell.csv.gz", "wb") as file:
        file.write(b"run,example,label,prediction\n0,1,a,")
        for _ in range(20):
            file.write(b"x" * (10 * MEGABYTE))
        file.write(b"\n")
    return ["cell.csv.gz"]


def arrays(**content: np.ndarray) -> Callable[[Path], list[str]]:
    """Return a function that writes a packed .npz file."""

    def write(folder: Path) -> list[str]:
        np.savez_compressed(folder / "arrays.npz", **content)
        return ["arrays.npz"]

    return write


def many_runs(folder: Path) -> list[str]:
    """Write a table in which every row is a run of its own."""
    with (folder / "runs.csv").open("w", encoding="utf-8") as file:
        file.write("run,example,label,prediction\n")
        file.writelines(f"run-{i},0,a,b\n" for i in range(2 * MAX_RUNS))
    return ["runs.csv"]


@pytest.mark.parametrize(
    ("write", "code", "gigabytes"),
    [
        pytest.param(columns("p_"), "SP103", 0, id="probability-columns"),
        pytest.param(columns("x"), "SP103", 0, id="further-columns"),
        pytest.param(packed_rows, "SP106", 0.2, id="packed-rows"),
        pytest.param(packed_cell, "SP102", 0.2, id="packed-cell"),
        pytest.param(arrays(probs=np.zeros((10, 10**6, 10), np.float32)), "SP102", 0.4, id="probs"),
        pytest.param(arrays(predictions=np.zeros((2, 10**8), np.int8)), "SP102", 0.2, id="classes"),
        pytest.param(many_runs, "SP103", 0, id="runs"),
    ],
)
def test_input_that_unpacks_to_far_more_is_refused_by_name(tmp_path, write, code, gigabytes):
    """Within the memory limit, and 10 seconds of processor time per unpacked gigabyte."""
    done = finished("measure", *write(tmp_path), "--memory", "300MB", folder=tmp_path)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error {code}: ")
    assert done.err.count("\n") == 1
    assert done.peak_bytes < LEAST + 60 * MEGABYTE
    assert done.cpu_seconds < 3 + 10 * gigabytes
