"""Paths into JSON lines: each line is a row, or named."""

import json

import pytest

import seedproof as sp
from seedproof.errors import ColumnError, MissingValueError, UnreadableError
from seedproof.logs import paths
from seedproof.logs.paths import read_paths
from seedproof.testing.errors import WithFields

COLUMNS = sp.Columns(value="samples[*].ok")


@pytest.fixture
def write(tmp_path):
    """Writes lines, with a blank one before the second; returns the file."""

    def call(rows):
        first, *others = [json.dumps(row) for row in rows]
        file = tmp_path / "rows.jsonl"
        file.write_text("\n".join([first, "", *others]) + "\n")
        return file

    return call


def line(number, samples=({"ok": True}, {"ok": False})):
    """Return a line with two items."""
    return {"id": f"q{number}", "samples": samples and list(samples)}


EMPTY = [None, []]


@pytest.mark.parametrize("empty", [*EMPTY, "absent"])
def test_lines_without_items_are_refused_by_their_numbers(write, empty):
    """100 of 200 lines: every second one."""
    rows = [line(number, empty) if number % 2 else line(number) for number in range(200)]
    for row in rows:
        if row["samples"] == list("absent"):
            del row["samples"]

    with pytest.raises(
        MissingValueError,
        # A blank line is the second: the second row is in line 3.
        check=WithFields(n_empty=100, n_lines=200, path="samples", lines=(3, 5, 7, 9, 11)),
    ):
        sp.measure(write(rows), columns=COLUMNS)


@pytest.mark.parametrize("empty", EMPTY)
def test_lines_without_items_are_left_out_with_a_note(write, empty):
    rows = [line(number, empty) if number == 5 else line(number) for number in range(9)]

    report = sp.measure(write(rows), columns=COLUMNS, common_examples=True)

    assert report.measurement.n_examples == 8
    (note,) = (n for n in report.measurement.notes if n.code == "lists-empty")
    assert (note.fields["n_empty"], note.fields["n_lines"]) == (1, 9)
    assert note.fields["lines"] == (7,)


def test_gate_over_lost_lines_does_not_pass(write):
    rows = [line(number, None) if number % 2 else line(number) for number in range(200)]

    with pytest.raises(MissingValueError):
        sp.gate(write(rows), min={"mean": 0.1}, columns=COLUMNS)


def test_numbers_of_lines_are_those_of_the_file_in_every_piece(write, monkeypatch):
    monkeypatch.setattr(paths, "CHUNK_BYTES", 200)
    rows = [line(number, [] if number in {0, 31} else ({"ok": 1},)) for number in range(40)]

    read = read_paths(write(rows), ["id", "samples[*].ok"], "trial", may_lack=True)

    assert len(read.table) == 38
    assert read.notes[0].fields["lines"] == (1, 33)


def test_piece_without_any_list_is_counted(write, monkeypatch):
    """All lists of a piece are null, so that it has no type."""
    monkeypatch.setattr(paths, "CHUNK_BYTES", 200)
    rows = [line(number, None if number > 20 else ({"ok": 1},)) for number in range(60)]

    read = read_paths(write(rows), ["id", "samples[*].ok"], "trial", may_lack=True)

    assert len(read.table) == 21
    assert read.notes[0].fields["n_empty"] == 39


def test_file_without_any_item_has_no_value(write):
    with pytest.raises(ColumnError):
        sp.measure(write([line(0, []), line(1, None)]), columns=COLUMNS, common_examples=True)


def test_value_that_is_no_list_is_named(write):
    with pytest.raises(ColumnError, check=WithFields(path="samples")):
        sp.measure(write([{"id": "a", "samples": "x"}, {"id": "b", "samples": "y"}]),
                   columns=sp.Columns(value="samples[*]"))  # fmt: skip


@pytest.mark.parametrize(
    "path",
    ["a..b", "samples[", "samples[*", "samples[-1]", "samples[1", "[*]", "[0].a", "*.a", "a.*", "a[0].[1]",
     "a[99999999999]", "]a", "a.", ".a"],
)  # fmt: skip
def test_what_is_no_path_is_refused(write, path):
    with pytest.raises(ColumnError):
        read_paths(write([line(0)]), [path], "trial")


@pytest.mark.parametrize("row", [None, 3, "x", [1]])
@pytest.mark.parametrize("place", [0, 2])
def test_line_that_is_not_an_object_is_named(write, row, place):
    """With null first, Arrow's parser would end the process."""
    rows = [line(number) for number in range(4)]
    rows[place] = row

    with pytest.raises(UnreadableError, check=WithFields(line=place + 1 + (place > 0))):
        sp.measure(write(rows), columns=COLUMNS)


def test_deep_nesting_of_an_unused_value_is_named(tmp_path):
    """So would a line nested 20,000 deep, whether or not anything in it is asked for."""
    deep = '{"id": "b", "samples": [{"ok": 1}], "x": ' + "[" * 20_000 + "]" * 20_000 + "}"
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{json.dumps(line(0))}\n{deep}\n")

    with pytest.raises(UnreadableError):
        sp.measure(file, columns=COLUMNS)


def test_long_lines_with_many_values_are_read(write):
    rows = [line(number, ({"ok": 1}, {"ok": 0})) | {"x": [[1]] * 3000} for number in range(3)]

    assert sp.measure(write(rows), columns=COLUMNS).measurement.n_examples == 3


def test_line_that_is_not_utf_8_is_named(tmp_path):
    """Its texts would be read, and fail later, in the name of a column or of an example."""
    file = tmp_path / "rows.jsonl"
    file.write_bytes(json.dumps(line(0)).encode() + b'\n{"id": "\xe9", "samples": [{"ok": 1}]}\n')

    with pytest.raises(UnreadableError, check=WithFields(line=2)):
        sp.measure(file, columns=COLUMNS)


def test_byte_order_mark_is_left_out(tmp_path):
    """As editors on Windows write it."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(line(n))}\n" for n in range(3)), encoding="utf-8-sig")

    assert sp.measure(file, columns=COLUMNS).measurement.n_examples == 3
