"""Tables with one extreme row: the correct number of examples, or a specific error.

A reader may lose a long row without an error, so all formats, packings and places are tried.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import UnreadableError
from seedproof.testing.errors import WithFields

IS_FULL = os.environ.get("SEEDPROOF_FULL") == "1"
N_TABLES = 200
MB = 10**6
# How many tables have a row of so many bytes; all others have shorter ones.
LONG = {64 * MB: 16, 20 * MB: 24, 9 * MB: 24, MB: 40} if IS_FULL else {64 * MB: 2, 20 * MB: 4, 9 * MB: 6, MB: 12}  # fmt: skip
SHORT = (1, 2, 100, 10_000, 100_000)
FORMATS = ("csv", "csv", "tsv", "jsonl", "parquet")
PACKINGS = ("", "gz", "zst")
PLACES = ("first", "middle", "last", "only")
FILLS = {
    "letters": "x",
    "quotes": '"',
    "lines": "line\n",
    "separators": ",;\t|",
    "cells": '","\n"',
    "accents": "é表",
}


@dataclass(frozen=True)
class Case:
    """A table with one extreme row."""

    format: str
    packing: str
    place: str
    size: int
    fill: str
    column: str
    line_end: str
    ends: bool
    quotes_all: bool
    damage: str

    @property
    def suffix(self) -> str:
        """The ending of its files."""
        is_packed = self.packing and self.format != "parquet"
        return f".{self.format}" + (f".{self.packing}" if is_packed else "")

    @property
    def n_examples(self) -> int:
        """The number of examples that it has."""
        return 1 if self.place == "only" else 9


def make_cases() -> list[Case]:
    """Draw all cases; the same ones every time."""
    rng = np.random.default_rng(21)
    sizes = [size for size, n_tables in LONG.items() for _ in range(n_tables)]
    sizes += rng.choice(SHORT, size=N_TABLES - len(sizes)).tolist()
    sizes = rng.permutation(sizes).tolist()

    def pick(values):
        return values[int(rng.integers(len(values)))]

    cases = []
    for index, size in enumerate(sizes):
        format_, packing = FORMATS[index // 12 % len(FORMATS)], PACKINGS[index % 3]
        is_text = format_ != "parquet"
        # One in five is damaged, in a way that its format allows.
        damages = ["open"] * is_text + ["cut"] * (bool(packing) or not is_text)
        case = Case(
            format=format_,
            packing=packing,
            place=PLACES[index // 3 % 4],
            size=size,
            fill=pick(list(FILLS)),
            column=pick(["text", "example"]) if size <= MB else "text",
            line_end=pick(["\n", "\r\n", "\r"]) if format_ in {"csv", "tsv"} else "\n",
            ends=pick([True, False]),
            quotes_all=pick([True, False]),
            damage=pick(damages) if rng.random() < 0.2 else "",
        )
        cases.append(case)
    return cases


CASES = make_cases()


def rows_of(case: Case, run: int) -> list[dict[str, str]]:
    """Return one run's rows."""
    fill = FILLS[case.fill]
    long = (fill * (case.size // len(fill.encode()) + 1))[: case.size]
    at = {"first": 0, "middle": 4, "last": 8, "only": 0}[case.place]
    rows = []
    for i in range(case.n_examples):
        row = {"example": f"e{i}", "label": "yes", "prediction": ("yes", "no")[(i + run) % 2]}
        row["text"] = f"text {i}"
        if i == at:
            row[case.column] = long
        rows.append(row)
    return rows


def content_of(case: Case, rows: list[dict[str, str]]) -> bytes:
    """Return the rows in their format, not packed yet."""
    separator = "\t" if case.format == "tsv" else ","

    def cell(text: str) -> str:
        # Python's own writer takes seconds for some of these.
        if case.quotes_all or any(sign in text for sign in (separator, '"', "\r", "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text

    if case.format == "jsonl":
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        half = '{"example": "e99'
    else:
        lines = [
            separator.join(map(cell, row)) for row in (rows[0], *(row.values() for row in rows))
        ]
        half = separator.join(["e99", "yes", "yes", '"open'])
    if case.damage == "open":
        lines.append(half)
    return (case.line_end.join(lines) + case.line_end * case.ends).encode()


def write(case: Case, folder: Path, run: int) -> Path:
    """Write one run's file."""
    path = folder / f"run{run}{case.suffix}"
    rows = rows_of(case, run)
    if case.format == "parquet":
        codec = {"": "none", "gz": "gzip", "zst": "zstd"}[case.packing]
        pq.write_table(pa.Table.from_pylist(rows), path, compression=codec, row_group_size=4)
        if case.damage == "cut":
            path.write_bytes(path.read_bytes()[:-9])
        return path
    content = content_of(case, rows)
    if case.packing:
        codec = pa.Codec({"gz": "gzip", "zst": "zstd"}[case.packing], compression_level=1)
        content = codec.compress(content, asbytes=True)
    path.write_bytes(content[:-5] if case.damage == "cut" else content)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.format}-{case.packing}-{case.place}-{case.size}-{case.fill}-{case.damage}")  # fmt: skip
def test_no_row_is_lost(case, tmp_path):
    """All examples are measured; a damaged file is refused, and named."""
    paths = [write(case, tmp_path, run) for run in range(2)]

    if case.damage:
        with pytest.raises(UnreadableError) as error:
            sp.measure(paths)
        assert paths[0].name in str(error.value)
        return
    try:
        report = sp.measure(paths)
    except UnreadableError as error:
        # DuckDB takes some fifteen times the size of a line of JSON, which may exceed 2 GB.
        if (case.format, error.fields.get("option")) == (
            "jsonl",
            "--memory",
        ) and case.size > 20 * MB:
            return
        # A row of equal cells packs like a bomb.
        if case.packing and case.size > 20 * MB and error.fields.get("problem") == "size":
            return
        raise
    assert json.loads(report.to_json())["n_examples"] == case.n_examples


def test_cases_cover_all_combinations():
    """Every format with every packing and every place, sound and damaged, for long rows as well."""
    assert len(CASES) == N_TABLES
    assert len({(case.format, case.packing, case.place) for case in CASES}) == 4 * 3 * 4
    assert {case.format for case in CASES if case.size > MB and not case.damage} == {*FORMATS}
    assert {case.place for case in CASES if case.size > MB and not case.damage} == {*PLACES}
    assert {case.format for case in CASES if case.damage} == {*FORMATS}
    assert {case.size for case in CASES} == {*LONG, *SHORT}


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_row_that_exceeds_the_memory_is_refused_with_its_size(format_, tmp_path):
    """With its line, and the option that allows more."""
    case = replace(CASES[0], format=format_, packing="", place="last", damage="", size=64 * MB)
    case = replace(case, fill="letters", column="text", line_end="\n")
    paths = [write(case, tmp_path, run) for run in range(2)]

    line = 9 if format_ == "jsonl" else 10
    expected = WithFields(file=paths[0].name, line=line, megabytes=64, option="--memory")
    with pytest.raises(UnreadableError, check=expected):
        sp.measure(paths, memory="100MB")
