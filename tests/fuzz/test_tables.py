"""Hostile tables: each is measured correctly, or refused in one line.

The correct figures come from an independent reference: a small parser and plain loops. It also
knows which tables are unusable, so measuring one of these is a failure.
"""

import csv
import gzip
import io
import json
import math
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof import Columns

HOSTILE = (
    "", " ", "r", "e", "l", "y", "p0", "x0", "rows", "probs", "predictions", "example", "label",
    "prediction", "run", "extra.label", "flip_rate", "consensus", "Run", "run ", "P_a", "p_", "p_a",
    "filename", "rowid", "file_row_number", "column0", "column1", "select", "NULL", "null", "nan",
    "NaN", "None", "true", "0", "1", "1.0", "01", "-0", "-1", "1e3", "0x1F", "1_000", "9" * 19,
    '"', '""', "'", "''", 'a"b', "it's", '"; DROP TABLE rows; --', "' OR 1=1 --", "a,b", ";", "|",
    "a\tb", "a\nb", "\n", "\r", "a\r\nb", "\u2028", "\x85", "é", "e\u0301", "İ", "ı", "ß", "ẞ", "ſ",
    "K", "\u212a", "🙂", "\u202eabc", "\ufeff", "\u200b", "$", "$.a", "a.b", "*", "\\", "{}", "%s",
    "\x1b[31m", "\x07", "[red]", "<b>", "#", "=1+1", "á" * 300,
)  # fmt: skip
ABSURD = (
    "1e308", "1e309", "-1e308", "-0.0", "-0", "5e-324", "1e-400", "nan", "NaN", "inf", "-inf", "1_0",
    "0_1", "0x1", "0,5", "1.0.0", " 0.5", "0.5 ", "+1", "½", "1/2", "true", "9" * 400, "1e", ".", "",
    "1.0009", "1.0011", "0.9991", "None", "0.5f", "１", "1e-7", "999999999999999999999999", "١",
)  # fmt: skip
STRAYS = (
    math.nan, math.inf, -math.inf, 1e308, -1e308, -0.125, 1e-9, 5e-4, 5e-3, 0.02, -0.0, 5e-324,
)  # fmt: skip
STEMS = ("table", "table", "a\nb", "\x1b[31m", "ta*b[1]?", "it's", "ü 表", "p0", "100%", "x" * 200)
WHOLE = re.compile(r"-?[0-9]+(\.0*)?")
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


# ------------------------------------------------------------------------------- the reference


class Unusable(Exception):
    """A table without correct figures."""


class Unsure(Exception):
    """A table that the reference cannot read, or could read in more than one way."""


@dataclass(frozen=True)
class Right:
    """The figures that a table must give."""

    n_runs: int
    n_examples: int
    flip_rate: Fraction
    accuracy: Fraction | None


@dataclass(frozen=True)
class Cells:
    """A table as the reference reads it."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]  # text or None; probabilities may be numbers
    tolerance: float = 1e-3  # of the sum of probabilities

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


def right_figures(cells: Cells, columns: Columns) -> Right:
    """Compute the figures of a table by loops over its rows."""
    names = list(cells.names)
    demand(len({name.lower() for name in names}) == len(names), "a column is there twice")
    usual = Columns()
    for role in ("run", "example", "label", "prediction"):
        wanted = getattr(columns, role)
        must = role in {"run", "example"} or wanted != getattr(usual, role)
        demand(wanted in names or not must, f"no column {role}")
    taken = {columns.run, columns.example, columns.label, columns.prediction}
    by_class = {
        name[len(columns.probs) :]: name
        for name in names
        if name.startswith(columns.probs) and name != columns.probs and name not in taken
    }
    if len(by_class) == 1:
        if columns.prediction not in names:
            raise Unsure  # the probability of one of two classes
        by_class = {}
    demand(bool(by_class) or columns.prediction in names, "no prediction")
    runs, examples = cells.column(columns.run), cells.column(columns.example)
    demand(None not in runs and None not in examples, "an empty run or id")
    gold = [None] * len(runs)
    if columns.label in names:
        gold = cells.column(columns.label)
    if by_class:
        order = in_order(list(by_class))
        probs = [[as_number(v) for v in cells.column(by_class[name])] for name in order]
        answers = [most_probable(order, row, cells.tolerance) for row in zip(*probs, strict=True)]
        gold = spelled_like(gold, order)
    else:
        answers = cells.column(columns.prediction)
        demand(None not in answers, "an empty prediction")
        everything = {*answers, *gold} - {None}
        if all(WHOLE.fullmatch(name) for name in everything):
            answers, gold = ([n and n.split(".")[0] for n in part] for part in (answers, gold))
        known = set(gold) - {None}
        demand(not known or bool(known & set(answers)), "no label is ever predicted")
    return count(runs, examples, gold, answers)


def demand(holds: bool, otherwise: str) -> None:  # noqa: FBT001
    """Reject a table if a condition does not hold."""
    if not holds:
        raise Unusable(otherwise)


def in_order(names: list[str]) -> list[str]:
    """Numbers by value, anything else by its bytes: the first of equal probabilities wins."""
    if all(INTEGER.fullmatch(name) for name in names):
        return sorted(names, key=int)
    return sorted(names, key=lambda name: name.encode())


def as_number(value: object) -> float:
    """A probability in the single precision in which it is kept."""
    demand(value is not None, "an empty probability")
    if isinstance(value, str):
        demand(value.isascii(), "not a number")
        try:
            value = float(value)
        except ValueError:
            raise Unusable("not a number") from None
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def most_probable(classes: list[str], probs: Sequence[float], tolerance: float) -> str:
    """The class of the highest probability, the first of equal ones."""
    demand(all(math.isfinite(p) and p >= 0 for p in probs), "not a probability")
    stray = abs(sum(probs) - 1)
    if abs(stray - tolerance) < 1e-9:
        raise Unsure("at the limit")
    demand(stray < tolerance, "does not sum to one")
    return classes[max(range(len(classes)), key=lambda i: (probs[i], -i))]


def spelled_like(gold: list[str | None], classes: list[str]) -> list[str | None]:
    """Labels in the spelling of the classes; "1.0" may stand for "1" if all labels are numbers."""
    known = set(gold) - {None}
    whole = all(WHOLE.fullmatch(name) for name in known)
    spelling = {
        name: name.split(".")[0] if whole and name not in classes else name for name in known
    }
    demand(all(name in classes for name in spelling.values()), "a label is none of the classes")
    return [None if name is None else spelling[name] for name in gold]


def count(
    runs: list[str], examples: list[str], gold: list[str | None], answers: list[str]
) -> Right:
    """Count flips and correct answers, one pair of runs and one example at a time."""
    by_run: dict[str, dict[str, str]] = {}
    labels: dict[str, str | None] = {}
    for run, example, label, answer in zip(runs, examples, gold, answers, strict=True):
        demand(example not in by_run.setdefault(run, {}), "an example twice")
        demand(labels.setdefault(example, label) == label, "two labels")
        by_run[run][example] = answer
    demand(len(by_run) >= 2, "one run")
    demand(all(run.keys() == labels.keys() for run in by_run.values()), "an example missing")
    pairs = list(combinations(by_run.values(), 2))
    flips = sum(a[example] != b[example] for a, b in pairs for example in labels)
    labeled = [example for example, label in labels.items() if label is not None]
    hits = sum(run[example] == labels[example] for run in by_run.values() for example in labeled)
    return Right(
        n_runs=len(by_run),
        n_examples=len(labels),
        flip_rate=Fraction(flips, len(pairs) * len(labels)),
        accuracy=Fraction(hits, len(by_run) * len(labeled)) if labeled else None,
    )


# ------------------------------------------------------------------- small parsers of each format


def parse_text(content: bytes, *, tabs: bool) -> Cells:
    """A delimited table, by the rules of RFC 4180."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unusable("not UTF-8") from None
    demand("\0" not in text, "binary")
    best = max("\t" if tabs else ",;\t|", key=lambda sign: len(first_line(text, sign)))
    rows = split(text, best)
    demand(bool(rows) and rows[0] != [""], "no header")
    header = [name or f"column{i}" for i, name in enumerate(rows[0])]
    # A separator at the end of a line is forgiven.
    wide = len(header) + 1
    filled = [row[:-1] if len(row) == wide and not row[-1] else row for row in rows[1:]]
    filled = [row for row in filled if row != [""]]
    demand(all(len(row) == len(header) for row in filled), "ragged")
    demand(bool(filled), "no rows")
    return Cells(header, [[cell or None for cell in row] for row in filled])


def first_line(text: str, delimiter: str) -> list[str]:
    """The header, if this is what separates its names."""
    try:
        return next(iter(split(text, delimiter)), [])
    except Unusable:
        return []


def split(text: str, delimiter: str) -> list[list[str]]:
    """Rows and cells; a quote counts at the start of a cell only."""
    rows: list[list[str]] = []
    row: list[str] = []
    at = 0
    while at <= len(text):
        cell, at = take_cell(text, at, delimiter)
        row.append(cell)
        ends = text[at : at + 2] == "\r\n"
        if at == len(text) or text[at] in "\r\n":
            rows.append(row)
            row = []
        at += 2 if ends else 1
    if rows and rows[-1] == [""]:
        rows.pop()
    return rows


def take_cell(text: str, at: int, delimiter: str) -> tuple[str, int]:
    """One cell, and where it ends."""
    stops = {delimiter, "\r", "\n"}
    if text[at : at + 1] != '"':
        end = next((i for i in range(at, len(text)) if text[i] in stops), len(text))
        return text[at:end], end
    parts: list[str] = []
    while True:
        end = text.find('"', at + 1)
        demand(end >= 0, "a quote does not close")
        parts.append(text[at + 1 : end])
        if text[end + 1 : end + 2] != '"':
            break
        at = end + 1
    end += 1
    demand(end == len(text) or text[end] in stops, "text after a quote")
    return '"'.join(parts), end


def parse_json(content: bytes) -> Cells:
    """One object per line."""
    try:
        # DuckDB also takes vertical tabs and form feeds around an object for white space.
        stripped = (line.strip(" \t\r\v\f") for line in content.decode().split("\n"))
        lines = [line for line in stripped if line]
        # A comma after the last value is forgiven.
        lines = [re.sub(r",(\s*}\s*)$", r"\1", line) for line in lines]
        rows = [json.loads(line, object_pairs_hook=list, **RAW_NUMBERS) for line in lines]
    except (ValueError, RecursionError):
        raise Unusable("not JSON") from None
    demand(bool(rows), "no rows")
    demand(
        all(isinstance(row, list) and all(isinstance(p, tuple) for p in row) for row in rows),
        "no object",
    )
    demand(all(len(dict(row)) == len(row) for row in rows), "a key is there twice")
    names = sorted({key for row in rows for key, _ in row})
    return Cells(names, [[json_text(dict(row).get(name)) for name in names] for row in rows])


class Raw(str):
    """A number as it stands in JSON."""

    __slots__ = ()


RAW_NUMBERS: dict[str, Any] = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), Raw)


def json_text(value: object) -> str | None:
    """A JSON value as a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == "NaN" and isinstance(value, Raw):
        return None
    if isinstance(value, Raw):
        # How a number of many digits is spelled again is not ours to say.
        if not INTEGER.fullmatch(value) and repr(float(value)) != value:
            raise Unsure("a number with several spellings")
        return str(value)
    if isinstance(value, list):
        return "several values"
    return value


def parse_arrow(table: pa.Table) -> Cells:
    """A table of typed columns."""
    half = any(pa.types.is_float16(field.type) for field in table.schema)
    cells = [[plain(v) for v in column.to_pylist()] for column in table.columns]
    return Cells(table.column_names, list(zip(*cells, strict=True)), 1e-2 if half else 1e-3)


def plain(value: object) -> object:
    """A typed value as a cell: whole floats and truth values are written as integers."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


def right_arrays(values: Any, given: dict[str, Any]) -> Right:
    """Compute the figures of arrays."""
    kind, n_axes = values.dtype.kind, values.ndim
    demand((kind, n_axes) == ("f", 3) or (kind in "iubU" and n_axes == 2), "the axes do not fit")
    n_runs, n_examples = values.shape[:2]
    demand(n_runs >= 2 and n_examples >= 1, "too few")
    examples = named(given.get("ids"), n_examples)
    runs = named(given.get("runs"), n_runs)
    gold = given.get("labels")
    gold = [None] * n_examples if gold is None else list(gold)
    demand(len(gold) == n_examples, "another length")
    classes = given.get("classes")
    if n_axes == 3:
        demand(values.shape[2] >= 2, "one class")
        classes = named(classes, values.shape[2])
        tolerance = 1e-2 if values.dtype == np.float16 else 1e-3
        order = in_order(classes)
        places = [classes.index(name) for name in order]
        rows = [[[as_number(row[i]) for i in places] for row in run] for run in values]
        answers = [[most_probable(order, row, tolerance) for row in run] for run in rows]
    else:
        answers = [[array_text(value) for value in run] for run in values.tolist()]
        known = sorted({answer for run in answers for answer in run})
        classes = known if classes is None else named(classes, len(classes))
        answers = [[spelled(answer, classes) for answer in run] for run in answers]
    free = n_axes == 2 and given.get("classes") is None
    labels = [array_label(value, classes, free=free) for value in gold]
    if n_axes == 2:
        known, predicted = set(labels) - {None}, {answer for run in answers for answer in run}
        demand(not known or bool(known & predicted), "no label is ever predicted")
    return count(
        [run for run in runs for _ in examples],
        examples * n_runs,
        labels * n_runs,
        [answer for run in answers for answer in run],
    )


def named(names: Any, size: int) -> list[str]:
    """Names that were given, or positions."""
    if names is None:
        return [str(i) for i in range(size)]
    texts = [array_text(name) for name in names]
    demand(None not in texts, "a name is missing")
    demand(len(texts) == len(set(texts)) == size, "names do not fit")
    return texts


def array_text(value: Any) -> str | None:
    """A value of an array as a name."""
    return plain(value.item() if isinstance(value, np.generic) else value)


def spelled(name: str, classes: list[str]) -> str:
    """A class by its name, or by its index where no name is a number."""
    if name not in classes and not any(INTEGER.fullmatch(known) for known in classes):
        demand(name.isdecimal() and name == str(int(name)) and int(name) < len(classes), "no class")
        return classes[int(name)]
    demand(name in classes, "no class")
    return name


def array_label(value: Any, classes: list[str], *, free: bool) -> str | None:
    """A label of an array: missing, a class, or a new class where classes are free."""
    name = array_text(value)
    if name is None:
        return None
    number = not isinstance(value, str | np.str_)
    if name not in classes and number and value < 0:
        return None
    return name if free else spelled(name, classes)


def parse_npz(content: bytes) -> dict[str, Any]:
    """The arrays of a file whose checksums are all right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            demand(members.testzip() is None, "a checksum differs")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)
    except Unusable:
        raise
    except Exception:  # noqa: BLE001 - whatever damage makes zipfile and numpy raise
        raise Unusable("not an npz") from None


# ------------------------------------------------------------------------------ what is generated


@dataclass(frozen=True)
class Made:
    """A generated table: typed cells, None where nothing stands."""

    names: list[str]
    rows: list[list[Any]]
    columns: Columns = field(default_factory=Columns)


WORDS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5))
POOLS = {
    "text": WORDS,
    "plain": st.sampled_from("abcdef"),
    "integer": st.integers(-2, 12) | st.sampled_from([2**31, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "float": st.sampled_from(
        [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.5, 1e308, 5e-324, math.inf, 2.0**53]
    ),
    "truth": st.booleans(),
}
SIZES = st.sampled_from([2, 2, 3, 3, 4, 2, 1])


@st.composite
def some(draw: st.DrawFn, *, size: int, kinds: Sequence[str]) -> list[Any]:
    """So many different values of one kind, or fewer where the kind has not as many."""
    kind = draw(st.sampled_from(kinds))
    least = min(size, 2 if kind == "truth" else size)
    return draw(st.lists(POOLS[kind], min_size=least, max_size=least, unique_by=str))


@st.composite
def tables(draw: st.DrawFn, *, kinds: Sequence[str] = tuple(POOLS)) -> Made:
    """A table that could be measured, and then up to three defects."""
    runs = draw(some(size=draw(SIZES), kinds=kinds))
    examples = draw(some(size=draw(SIZES), kinds=kinds))
    classes = draw(some(size=draw(SIZES), kinds=kinds))
    columns = draw(renamed())
    has_probs = len(classes) > 1 and draw(st.booleans())
    labels = draw(st.sampled_from(["none", "some", "all"]))
    choices = st.sampled_from(classes)
    gold = {str(e): draw(choices | st.none() if labels == "some" else choices) for e in examples}
    extras = draw(st.lists(WORDS, max_size=2))
    if draw(st.integers(0, 7)):  # else they may be there twice
        extras = [f"{name} {place}" for place, name in enumerate(extras)]
    names = [columns.run, columns.example, *([columns.label] if labels != "none" else [])]
    names += [f"{columns.probs}{c}" for c in classes] if has_probs else [columns.prediction]
    rows = []
    for run in runs:
        for example in examples:
            row = [run, example, *([gold[str(example)]] if labels != "none" else [])]
            row += draw(eighths(len(classes))) if has_probs else [draw(choices)]
            rows.append([*row, *(draw(WORDS) for _ in extras)])
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    made = Made([*names, *extras], rows, columns)
    for defect in draw(st.lists(st.sampled_from(DEFECTS), max_size=3) | st.just([])):
        made = draw(defect(made))
    return made


@st.composite
def renamed(draw: st.DrawFn) -> Columns:
    """The usual names of columns, or others."""
    if draw(st.integers(0, 3)):
        return Columns()
    names = draw(st.lists(WORDS.filter(bool), min_size=4, max_size=4, unique=True))
    return Columns(*names, draw(st.sampled_from(["p_", "", "p", "prob ", "é", '"'])))


@st.composite
def eighths(draw: st.DrawFn, n_classes: int) -> list[float]:
    """Probabilities that are exact in any precision, with ties, zeros and ones among them."""
    cuts = sorted(draw(st.lists(st.integers(0, 8), min_size=n_classes - 1, max_size=n_classes - 1)))
    return [(b - a) / 8 for a, b in zip([0, *cuts], [*cuts, 8], strict=True)]


def changed(made: Made, row: int, column: int, value: object) -> Made:
    """The table with another value in one cell."""
    rows = [list(cells) for cells in made.rows]
    rows[row][column] = value
    return Made(made.names, rows, made.columns)


@st.composite
def with_odd_cell(draw: st.DrawFn, made: Made) -> Made:
    """A cell is empty, absurd, or that of another row."""
    if not made.rows:
        return made
    row = draw(st.integers(0, len(made.rows) - 1))
    column = draw(st.integers(0, len(made.names) - 1))
    other = draw(st.sampled_from(made.rows))[column]
    odd = st.one_of(st.none(), st.sampled_from(ABSURD), st.just(other), WORDS)
    return changed(made, row, column, draw(odd))


@st.composite
def with_other_rows(draw: st.DrawFn, made: Made) -> Made:
    """A row is missing, or there twice."""
    if not made.rows:
        return made
    row = draw(st.integers(0, len(made.rows) - 1))
    rows = (
        [*made.rows, made.rows[row]]
        if draw(st.booleans())
        else made.rows[:row] + made.rows[row + 1 :]
    )
    return Made(made.names, rows, made.columns)


@st.composite
def with_other_columns(draw: st.DrawFn, made: Made) -> Made:
    """A column has another name, or is missing."""
    column = draw(st.integers(0, len(made.names) - 1))
    if draw(st.booleans()):
        names = [*made.names[:column], draw(WORDS), *made.names[column + 1 :]]
        return Made(names, made.rows, made.columns)
    rows = [[*row[:column], *row[column + 1 :]] for row in made.rows]
    return Made(made.names[:column] + made.names[column + 1 :], rows, made.columns)


# Two runs, three examples; they disagree on one. The notes are there to be damaged unharmed.
LABELS = """run,example,label,prediction,note
1,1,yé,yé,the note of a first example that says little
1,2,no,no,the note of a second example that says more
1,3,no,yé,the note of a third example that says nothing
2,1,yé,yé,the note of a first example that says little
2,2,no,yé,the note of a second example that says more
2,3,no,yé,the note of a third example that says nothing"""
PROBS = """run,example,label,p_yé,p_no,note
1,1,yé,.90000,.10000,the note of a first example that says little
1,2,no,.25000,.75000,the note of a second example that says more
1,3,no,1.0000,.00000,the note of a third example that says nothing
2,1,yé,.62500,.37500,the note of a first example that says little
2,2,no,.50000,.50000,the note of a second example that says more
2,3,no,.87500,.12500,the note of a third example that says nothing"""
DEFECTS = (*[with_odd_cell] * 5, with_other_rows, with_other_columns)


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, str, Columns]:
    """A delimited table as bytes, the ending of its name, and what its columns are called."""
    made = draw(tables())
    ending = draw(st.sampled_from([".csv", ".tsv", ".txt", ".CSV"]))
    sign = "\t" if ending == ".tsv" else draw(st.sampled_from(",,,;\t|"))
    quotes = draw(st.sampled_from(["needed", "needed", "needed", "all", "all", "never"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))

    def cell(value: object) -> str:
        text = "" if value is None else str(value)
        if quotes == "all" or (quotes == "needed" and set(text) & {sign, '"', "\r", "\n"}):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [sign.join(map(cell, row)) for row in [made.names, *made.rows]]
    if not draw(st.integers(0, 11)):  # one line loses or gains a cell
        place = draw(st.integers(0, len(lines) - 1))
        lines[place] = draw(
            st.sampled_from([lines[place] + sign, lines[place].rpartition(sign)[0]])
        )
    if not draw(st.integers(0, 7)):
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(["", " ", sign])))
    text = end.join(lines) + draw(st.sampled_from([end, end, end, "", end * 3]))
    bom = draw(st.sampled_from(["", "", "", "\ufeff"]))
    return (bom + text).encode(), ending, made.columns


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes of which some are lost, changed, repeated or new."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        start = draw(st.integers(0, max(len(content) - 1, 0)))
        stop = min(start + draw(st.sampled_from([1, 1, 1, 2, 5, 12])), len(content))
        piece = content[start:stop]
        mild = st.sampled_from(b"019.,-yn\n").map(lambda sign: bytes([sign]))
        odd = st.sampled_from(
            [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\r", b"\n", b"\xe9", b"'"]
        )
        bits = st.integers(0, 7).map(
            lambda bit, p=piece: bytes([*(c ^ (1 << bit) for c in p[:1])]) + p[1:]
        )
        kept = st.sampled_from([b"", piece * 2, piece[::-1], content[:40]])
        noise = st.binary(min_size=1, max_size=6)
        new = draw(st.one_of(mild, mild, bits, bits, kept, odd, noise))
        keeps_end = draw(st.integers(0, 15))
        content = content[:start] + new + (content[stop:] if keeps_end else b"")
    return content


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """A small table with damaged bytes."""
    head, *rows = (PROBS if draw(st.booleans()) else LABELS).split("\n")
    lines = [head, *draw(st.permutations(rows))]
    content = "\n".join([*lines, ""]).encode(
        draw(st.sampled_from(["utf-8"] * 14 + ["utf-16", "latin-1"]))
    )
    return draw(damaged(content))


def pack(content: bytes, ending: str) -> bytes:
    """Packed bytes."""
    return (
        gzip.compress(content, mtime=0)
        if ending == ".gz"
        else pa.compress(content, "zstd", asbytes=True)
    )


def unpack(content: bytes, ending: str) -> bytes:
    """All pieces, unpacked."""
    try:
        if ending == ".gz":
            return gzip.decompress(content)
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
            return stream.read()
    except (OSError, EOFError, zlib.error):
        raise Unusable("not packed") from None


def json_line(row: dict[str, Any], draw: st.DrawFn) -> str:
    """A row as JSON; what is missing is null or not there."""
    if draw(st.booleans()):
        row = {name: value for name, value in row.items() if value is not None}
    return json.dumps(row, ensure_ascii=draw(st.booleans()))


def parse_parquet(path: Path) -> Cells:
    """A Parquet file, read by pyarrow."""
    try:
        return parse_arrow(pq.read_table(path))
    except (OSError, ValueError, pa.ArrowException):
        raise Unusable("damaged") from None


FRAMES: tuple[Callable[[pa.Table], Any], ...] = (
    lambda table: table,
    lambda table: table.to_pandas(),
    lambda table: (
        pl.from_arrow(table) if len(set(table.column_names)) == table.num_columns else table
    ),
    lambda table: table.to_reader(max_chunksize=2),
)


def arrow(made: Made) -> pa.Table:
    """Typed columns; text where values are of several types."""
    arrays = []
    for place in range(len(made.names)):
        values = [row[place] for row in made.rows]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            arrays.append(pa.array([None if v is None else str(v) for v in values], pa.string()))
    return pa.Table.from_arrays(arrays, names=made.names)


@st.composite
def retyped(draw: st.DrawFn, table: pa.Table) -> pa.Table:
    """The same values in other types."""
    for index, column in enumerate(table.schema):
        kinds = [column.type]
        if pa.types.is_string(column.type):
            kinds += [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()]
        if pa.types.is_integer(column.type):
            kinds += [pa.int8(), pa.uint64(), pa.float64(), pa.string(), pa.decimal128(25, 2)]
        if pa.types.is_floating(column.type):
            kinds += (
                [pa.float32(), pa.float16(), pa.string()] if column.name.startswith("p_") else []
            )
        if pa.types.is_null(column.type):
            kinds += [pa.string(), pa.float64()]
        kind = draw(st.sampled_from(kinds))
        try:
            table = table.set_column(index, column.name, table.column(index).cast(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return table


@st.composite
def arrays(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, Any]]:
    """Predictions of several runs in one array, and what may go with it."""
    n_runs, n_examples = draw(SIZES), draw(st.sampled_from([0, 1, 2, 3, 3, 5]))
    n_classes = draw(SIZES)
    shape = (n_runs, n_examples)
    given: dict[str, Any] = {}
    if draw(st.booleans()):
        rows = [[draw(eighths(n_classes)) for _ in range(n_examples)] for _ in range(n_runs)]
        values = np.array(rows, dtype=draw(st.sampled_from(["f2", "f4", "f8"])))
        values = values.reshape((*shape, n_classes))
        if values.size and not draw(st.integers(0, 3)):
            place = draw(st.integers(0, values.size - 1))
            with np.errstate(over="ignore"):
                values.flat[place] += draw(st.sampled_from(STRAYS))
    else:
        pool = draw(some(size=n_classes, kinds=["text", "plain", "integer", "truth"]))
        flat = [draw(st.sampled_from(pool)) for _ in range(n_runs * n_examples)]
        values = np.array(flat or [0]).reshape(shape if flat else (1, 1))
    if not draw(st.integers(0, 15)):
        # With one more axis, predicted classes would be ranked lists or sets: other tests cover them.
        is_probs = values.dtype.kind == "f"
        values = values[..., None] if draw(st.booleans()) and is_probs else values[0]
    if draw(st.booleans()):
        known = (
            [*np.unique(values).tolist()[:4], *range(n_classes)]
            if values.ndim == 2
            else list(range(n_classes))
        )
        odd = st.sampled_from([None, math.nan, -1, -100, n_classes, "0", 1.0, 0.5])
        pick = st.sampled_from(known) if draw(st.integers(0, 3)) else odd | st.sampled_from(known)
        given["labels"] = [draw(pick) for _ in range(n_examples)]
    if not draw(st.integers(0, 2)):
        given["ids"] = draw(some(size=n_examples, kinds=["text", "plain", "integer", "float"]))
    if not draw(st.integers(0, 2)):
        given["classes"] = draw(st.lists(WORDS, min_size=n_classes, max_size=n_classes))
    if not draw(st.integers(0, 2)):
        given["runs"] = draw(some(size=n_runs, kinds=["text", "plain", "integer"]))
    return values, given


def repeated(
    values: np.ndarray, given: dict[str, Any], n: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """So many times the same examples."""
    if values.ndim < 2:
        return values, given
    kept = {name: what for name, what in given.items() if name != "ids"}
    if "labels" in kept:
        kept["labels"] = kept["labels"] * n
    return np.concatenate([values] * n, axis=1), kept


def as_array(values: list[Any]) -> np.ndarray:
    """A list as an array that needs no pickle."""
    return np.array([math.nan if value is None else value for value in values])


def write(made: Made, path: Path) -> None:
    """Write a table in the format of its file extension."""
    if path.suffix == ".parquet":
        pq.write_table(arrow(made), path)
        return
    if path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(made.names, row, strict=True))) for row in made.rows]
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([made.names, *made.rows])


def parse(path: Path) -> Cells:
    """A table of any format."""
    if path.suffix == ".parquet":
        return parse_parquet(path)
    content = path.read_bytes()
    return parse_json(content) if path.suffix == ".jsonl" else parse_text(content, tabs=False)


def together(tables: list[Cells], columns: Columns) -> Cells:
    """Tables of one run each as one; all must have the columns that matter."""
    roles = {columns.example, columns.label, columns.prediction}
    used = [
        {name for name in table.names if name in roles or name.startswith(columns.probs)}
        for table in tables
    ]
    demand(all(names == used[0] for names in used), "other columns")
    demand(all(columns.run not in table.names for table in tables), "some have runs")
    demand(columns.run == Columns().run, "a requested column is missing")
    for table in tables:
        lower = {name.lower() for name in table.names}
        demand(len(lower) == len(table.names), "a column is there twice")
    order = sorted(used[0])
    rows = [
        [str(index), *cells]
        for index, table in enumerate(tables)
        for cells in zip(*(table.column(name) for name in order), strict=True)
    ]
    return Cells([columns.run, *order], rows)


# ------------------------------------------------------------------------------------------ tests


@pytest.fixture
def compare(outcome, cli_outcome) -> Callable[..., str]:
    """Measures a table, compares it with the reference, and returns the outcome."""

    def check(
        target: Any, reference: Callable[[], Right], *, cli: bool = False, **options: Any
    ) -> str:
        try:
            right: Right | None = reference()
            reason = None
        except Unusable as why:
            right, reason = None, str(why)
        except Unsure:
            right, reason = None, None
        if cli:
            columns = vars(options["columns"])
            summary = cli_outcome(target, *(f"--{name}={value}" for name, value in columns.items()))
        else:
            summary = outcome(target, **options)
        if isinstance(summary, str):
            return f"refused {summary}" if right is None else f"refused {summary} though readable"
        assert reason is None, f"measured although: {reason}"
        if right is not None:
            assert_right(summary, right)
        return "measured" if right is not None else "measured, unsure"

    return check


def assert_right(summary: dict[str, Any], right: Right) -> None:
    """The figures are those of the reference."""
    assert (summary["n_runs"], summary["n_examples"]) == (right.n_runs, right.n_examples)
    # Whole counts and one division: a few units in the last place at most.
    assert summary["metrics"]["flip_rate"]["value"] == pytest.approx(
        float(right.flip_rate), abs=1e-12
    )
    assert ("accuracy" in summary["metrics"]) == (right.accuracy is not None)
    if right.accuracy is not None:
        assert summary["metrics"]["accuracy"]["value"] == pytest.approx(
            float(right.accuracy), abs=1e-12
        )


@pytest.fixture
def many(sized):
    """Tries many inputs, of which neither nearly all are measured nor nearly all are refused."""

    def try_all(attempt, *, ci, full, **strategies):
        seen: Counter[str] = Counter()
        chosen = sized(ci=ci, full=full)

        @chosen
        @given(**strategies)
        def counted(**drawn):
            seen[attempt(**drawn)] += 1

        counted()
        n_inputs = chosen.max_examples
        assert seen.total() >= n_inputs
        measured = sum(n for what, n in seen.items() if what.startswith("measured"))
        assert 0.05 * n_inputs < measured < 0.95 * n_inputs, seen
        # Tables that the reference can read are rarely refused: a column without a name, say.
        assert sum(n for what, n in seen.items() if "readable" in what) <= 1 + 0.1 * n_inputs, seen

    return try_all


def test_text_tables_are_measured_correctly_or_refused(compare, fresh, many):
    """For any content of a CSV file."""

    def attempt(made, stem, cli):
        content, ending, columns = made
        path = fresh() / f"{stem}{ending}"
        path.write_bytes(content)
        cells = partial(parse_text, content, tabs=ending == ".tsv")
        return compare(path, lambda: right_figures(cells(), columns), cli=cli, columns=columns)

    many(attempt, ci=90, full=700, made=texts(), stem=st.sampled_from(STEMS), cli=st.booleans())


def test_damaged_text_is_measured_as_it_stands_or_refused(compare, fresh, many):
    """Lost, new and foreign bytes, and other encodings."""

    def attempt(content, cli):
        path = fresh() / "table.csv"
        path.write_bytes(content)
        cells = partial(parse_text, content, tabs=False)
        return compare(path, lambda: right_figures(cells(), Columns()), cli=cli, columns=Columns())

    many(attempt, ci=50, full=450, content=damaged_texts(), cli=st.booleans())


def test_packed_text_is_measured_whole_or_refused(compare, fresh, many):
    """A packed file that is truncated, changed or has several pieces is never read in part."""

    def attempt(content, data):
        plain, ending, columns = content
        packer = data.draw(st.sampled_from([".gz", ".zst"]))
        cut = data.draw(st.integers(0, len(plain)))
        pieces = data.draw(st.sampled_from([[plain], [plain[:cut], plain[cut:]]]))
        packed = b"".join(pack(piece, packer) for piece in pieces)
        if data.draw(st.booleans()):
            packed = data.draw(damaged(packed))
        path = fresh() / f"table{ending}{packer}"
        path.write_bytes(packed)

        def reference():
            return right_figures(parse_text(unpack(packed, packer), tabs=ending == ".tsv"), columns)

        return compare(path, reference, columns=columns)

    many(attempt, ci=30, full=250, content=texts(), data=st.data())


def test_json_lines_are_measured_correctly_or_refused(compare, fresh, many):
    """Numbers, texts and nothing at all as values, keys of any name, damaged lines."""

    def attempt(made, data):
        lines = [json_line(dict(zip(made.names, row, strict=True)), data.draw) for row in made.rows]
        content = "\n".join([*lines, ""]).encode()
        if not data.draw(st.integers(0, 3)):
            content = data.draw(damaged(content))
        path = fresh() / "table.jsonl"
        path.write_bytes(content)

        def reference():
            return right_figures(parse_json(content), made.columns)

        return compare(path, reference, cli=data.draw(st.booleans()), columns=made.columns)

    many(attempt, ci=40, full=300, made=tables(), data=st.data())


def test_parquet_is_measured_correctly_or_refused(compare, fresh, many):
    """Columns of any type and name, and files of which bytes were lost or changed."""

    def attempt(made, data):
        path = fresh() / "table.parquet"
        table = data.draw(retyped(arrow(made)))
        pq.write_table(table, path, row_group_size=data.draw(st.sampled_from([1, 3, 100])))
        if not data.draw(st.integers(0, 3)):
            path.write_bytes(data.draw(damaged(path.read_bytes())))

        def reference():
            return right_figures(parse_parquet(path), made.columns)

        return compare(path, reference, cli=data.draw(st.booleans()), columns=made.columns)

    many(attempt, ci=40, full=350, made=tables(), data=st.data())


def test_dataframes_are_measured_correctly_or_refused(compare, many):
    """The same through Arrow, pandas and polars, without a file."""

    def attempt(made, data):
        table = data.draw(retyped(arrow(made)))
        frame = data.draw(st.sampled_from(FRAMES))(table)

        def reference():
            return right_figures(parse_arrow(table), made.columns)

        return compare(frame, reference, columns=made.columns)

    many(attempt, ci=30, full=250, made=tables(), data=st.data())


def test_one_file_per_run_is_measured_correctly_or_refused(compare, fresh, many):
    """Files of several formats together, each of them one run."""

    def attempt(made, data):
        folder, paths = fresh(), []
        place = made.names.index(made.columns.run) if made.columns.run in made.names else 0
        runs = {str(row[place]): [] for row in made.rows}
        for row in made.rows:
            runs[str(row[place])].append(row[:place] + row[place + 1 :])
        names = made.names[:place] + made.names[place + 1 :]
        for index, rows in enumerate(runs.values()):
            suffix = data.draw(st.sampled_from([".csv", ".jsonl", ".parquet"]))
            paths.append(folder / f"run-{index}{suffix}")
            write(Made(names, rows), paths[-1])

        def reference():
            tables = [parse(path) for path in paths]
            return right_figures(together(tables, made.columns), made.columns)

        return compare(paths, reference, columns=made.columns)

    many(attempt, ci=15, full=100, made=tables(kinds=("plain", "integer", "text")), data=st.data())


def test_arrays_are_measured_correctly_or_refused(compare, many):
    """Wrong shapes, invalid numbers, labels and names of all sorts."""

    def attempt(made):
        values, given_with = made

        return compare(values, lambda: right_arrays(values, given_with), **given_with)

    many(attempt, ci=50, full=350, made=arrays())


def test_npz_files_are_measured_correctly_or_refused(compare, fresh, many):
    """The same from a file, of which bytes were lost or changed."""

    def attempt(made, data):
        values, given_with = made
        path = fresh() / "arrays.npz"
        key = "probs" if values.ndim == 3 else "predictions"
        save = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
        # Members of more than 4096 bytes are read in pieces.
        padding = data.draw(st.sampled_from([0, 0, 700]))
        if padding:
            values, given_with = repeated(values, given_with, padding)
        save(path, **{key: values}, **{name: as_array(v) for name, v in given_with.items()})
        content = path.read_bytes()
        if data.draw(st.booleans()):
            # The first bytes describe the rest, and damage there is the hardest to detect.
            end = data.draw(st.sampled_from([200, len(content)]))
            content = data.draw(damaged(content[:end])) + content[end:]
            path.write_bytes(content)

        def reference():
            arrays = parse_npz(content)
            demand("probs" in arrays or "predictions" in arrays, "no predictions")
            return right_arrays(arrays.get("probs", arrays.get("predictions")), arrays)

        return compare(path, reference, cli=data.draw(st.booleans()), columns=Columns())

    many(attempt, ci=40, full=300, made=arrays(), data=st.data())
