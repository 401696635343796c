"""Inputs that are far larger than they look: answered or refused, in bounded memory and time."""

import csv
import gzip
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import ShapeError
from seedproof.records.columns import MAX_COLUMNS
from seedproof.records.shards import MAX_RUNS
from seedproof.testing.errors import WithFields
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
    """Write 120 MB of equal rows in 200 kB."""
    with gzip.open(folder / "rows.csv.gz", "wb") as file:
        file.write(b"run,example,label,prediction\n")
        for _ in range(12):
            file.write(b"0,1,a,bbb\n" * MEGABYTE)
    return ["rows.csv.gz"]


def packed_cell(folder: Path) -> list[str]:
    """Write a single cell of 120 MB in 120 kB."""
    with gzip.open(folder / "cell.csv.gz", "wb") as file:
        file.write(b"run,example,label,prediction\n0,1,a,")
        for _ in range(12):
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
        pytest.param(packed_rows, "SP102", 0.1, id="packed-rows"),
        pytest.param(packed_cell, "SP102", 0.1, id="packed-cell"),
        pytest.param(
            arrays(probs=np.zeros((10, 300_000, 10), np.float32)), "SP102", 0.1, id="probs"
        ),
        pytest.param(
            arrays(predictions=np.zeros((2, 2 * 10**7), np.int8)), "SP102", 0.1, id="classes"
        ),
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


def test_row_longer_than_any_buffer_is_not_lost(tmp_path, seedproof):
    """A text of 20 MB in the last row of each run."""
    for run in range(3):
        rows = [f"{i},a,{'ab'[(i + run) % 2]},{'x' * (i == 9) * 20 * MEGABYTE}" for i in range(10)]
        text = "\n".join(["example,label,prediction,text", *rows])
        (tmp_path / f"{run}.csv").write_text(text, encoding="utf-8")

    code, out, err = seedproof("measure", "0.csv", "1.csv", "2.csv", "--json")

    assert code == 0, err
    assert json.loads(out)["n_examples"] == 10


def test_only_the_arrays_that_are_needed_are_unpacked(tmp_path):
    """Others may be of any size."""
    predictions = np.array([[0, 1], [1, 1]])
    write = arrays(predictions=predictions, other=np.zeros(20 * MEGABYTE))

    done = finished("measure", *write(tmp_path), "--memory", "300MB", folder=tmp_path)

    assert done.code == 0, done.err
    assert done.peak_bytes < LEAST


def test_page_of_a_thousand_runs_is_small():
    """It aggregates runs and pairs of runs."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0, 1.0, 1.0], (1000, 20))

    page = sp.measure(probs, labels=rng.integers(0, 3, 20)).to_html()

    assert len(page.encode()) < 3 * MEGABYTE


@pytest.mark.skipif(
    os.environ.get("SEEDPROOF_FULL") != "1", reason="slow; SEEDPROOF_FULL=1 runs it"
)
def test_page_of_two_hundred_arms_is_small():
    """It has the details of the first arms only."""
    rng = np.random.default_rng(0)
    answers = {f"arm {i}": rng.integers(0, 3, (5, 50)) for i in range(200)}

    page = sp.compare(answers, labels=rng.integers(0, 3, 50)).to_html()

    assert len(page.encode()) < 3 * MEGABYTE


@pytest.mark.parametrize("swapped", [np.zeros((MAX_RUNS + 1, 3), int), np.zeros((10**6, 2), int)])
def test_more_runs_than_can_be_compared_are_refused(swapped):
    """Their pairs would take all memory; often the axes are swapped."""
    with pytest.raises(ShapeError, check=WithFields(n_runs=len(swapped))):
        sp.measure(swapped)
