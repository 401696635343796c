"""Rows counted from bytes: against Python's own readers, however the bytes are cut into blocks."""

import csv
import gzip
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seedproof.errors import UnreadableError
from seedproof.records.row_counts import (
    BLOCK_BYTES,
    LineCounter,
    QuotedRowCounter,
    RowCount,
    RowCounter,
    count_rows,
)
from seedproof.testing.errors import WithFields

PLENTY = 10**9


def count(counter: RowCounter, content: bytes, cuts: list[int]) -> RowCount:
    """Feed a counter with blocks of the given sizes, over and over."""
    at, turn = 0, 0
    while at < len(content):
        counter.add(content[at : at + cuts[turn % len(cuts)]])
        at += cuts[turn % len(cuts)]
        turn += 1
    return counter.close()


def csv_rows(text: str, separator: str = ",") -> list[list[str]]:
    """Return the rows of Python's csv module that are not empty."""
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]


cuts = st.lists(st.integers(1, 70), min_size=1, max_size=4)


@given(text=st.text(alphabet='x,"\n\r', max_size=200), cuts=cuts)
@example(text='a,"b""c\n""', cuts=[1])
@example(text='a""\n"""', cuts=[2])
@example(text='x"\n"\n', cuts=[2, 1])
def test_rows_are_those_of_the_csv_module(text, cuts):
    """For any quotes and line ends, once all quotes close."""
    counted = count(QuotedRowCounter(","), text.encode(), cuts)
    n_rows = len(csv_rows(text))

    # Another line is another row, unless a quote is open.
    is_open = len(csv_rows(text + "\nx")) == n_rows
    assert (counted.open_quote is not None) == is_open
    assert counted.n_rows == n_rows
    assert counted.n_bytes == len(text.encode())


@st.composite
def written_tables(draw: st.DrawFn) -> tuple[str, str, int]:
    """Text of a table, its separator, and how many rows the csv module wrote into it."""
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    # Before Python 3.13, a cell with another line end than the file's does not get quotes.
    signs = 'xé表 \t;,"' + ("\r\n" if quoting == csv.QUOTE_ALL else line_end)
    cells = st.lists(st.text(alphabet=signs, max_size=90), min_size=2, max_size=3)
    rows = draw(st.lists(cells, max_size=20))
    separator = draw(st.sampled_from(",;\t|"))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator=line_end, quoting=quoting).writerows(rows)
    text = file.getvalue()
    return text.removesuffix(line_end) if draw(st.booleans()) else text, separator, len(rows)


@given(table=written_tables(), cuts=cuts)
def test_what_the_csv_module_writes_is_counted(table, cuts):
    """With any separator and line end, and with or without one after the last row."""
    text, separator, n_rows = table

    counted = count(QuotedRowCounter(separator), text.encode(), cuts)

    assert (counted.n_rows, counted.open_quote) == (n_rows, None)


@pytest.mark.parametrize(
    ("text", "n_rows", "is_open"),
    [
        ('a, "b\nc"\n', 1, False),
        ('a,  "b\nc"\n', 2, False),
        (' "a\nb",c', 1, False),
        ('a, "b', 1, True),
    ],
    ids=["one", "two", "first-cell", "open"],
)
def test_one_space_before_a_quote_is_allowed(text, n_rows, is_open):
    """As in DuckDB; two are text."""
    for size in range(1, len(text)):
        counted = count(QuotedRowCounter(","), text.encode(), [size])

        assert (counted.n_rows, counted.open_quote is not None) == (n_rows, is_open)


@given(
    lines=st.lists(st.text(alphabet="{x \t\r\v\f", max_size=80), max_size=20),
    ends=st.booleans(),
    cuts=cuts,
)
def test_lines_of_white_space_do_not_count(lines, ends, cuts):
    """A line of JSON has something else in it."""
    content = ("\n".join(lines) + "\n" * ends).encode()

    counted = count(LineCounter(), content, cuts)

    assert counted.n_rows == sum(bool(line.strip()) for line in lines)
    assert counted.longest >= max((len(line) for line in lines), default=0)


@pytest.mark.parametrize(
    "counter", [LineCounter, lambda: QuotedRowCounter(",")], ids=["json", "csv"]
)
@pytest.mark.parametrize("at", [0, 1, 2], ids=["first", "middle", "last"])
def test_longest_row_has_its_size_and_offset(counter, at):
    """If it is longer than a block."""
    rows = [b"1,2"] * 2
    rows.insert(at, b"x" * 1000)

    counted = count(counter(), b"\n".join(rows), [64])

    assert (counted.longest, counted.longest_at) == (1000, 4 * at)
    assert counted.buffer_bytes > 1000


def test_blocks_of_the_usual_size_agree_with_small_ones():
    """On quotes of every kind, among them single ones within texts."""
    rng = np.random.default_rng(3)
    cells = ["1", '"a"', '"b""c"', '"d\ne"', '5" disk', 'say ""x""', ' "f\n"', ""]
    rows = [",".join(rng.choice(cells, size=4)) for _ in range(60_000)]
    content = "\n".join(rows).encode()
    assert len(content) > 4 * BLOCK_BYTES

    whole = count(QuotedRowCounter(","), content, [BLOCK_BYTES])

    assert whole.n_rows == len(rows)
    assert count(QuotedRowCounter(","), content, [997]).n_rows == len(rows)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_packed_files_are_counted_as_their_content(tmp_path, ending):
    """With a byte order mark, which is not part of the first cell."""
    content = b'\xef\xbb\xbf"a\nb",c\n1,2\n3,4'
    path = tmp_path / f"t.csv{ending}"
    packers = {"": bytes, ".gz": gzip.compress, ".zst": pa.Codec("zstd").compress}
    path.write_bytes(bytes(packers[ending](content)))

    assert count_rows(path, QuotedRowCounter(","), row_bytes=PLENTY).n_rows == 3


def test_an_empty_file_has_no_rows(tmp_path):
    """Nor has one with only a byte order mark."""
    path = tmp_path / "t.jsonl"
    for content in (b"", b"\xef\xbb\xbf"):
        path.write_bytes(content)
        assert count_rows(path, LineCounter(), row_bytes=PLENTY) == RowCount(0, 0, 0)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_open_quote_is_refused_with_its_line(tmp_path, line_end):
    """Lines are counted as in an editor, also those within quotes."""
    path = tmp_path / "t.csv"
    path.write_text(line_end.join(["a,b", '1,"x', 'y"', '2,"z', "3,4", ""]), newline="")

    with pytest.raises(UnreadableError, check=WithFields(tables=("t.csv",))) as error:
        count_rows(path, QuotedRowCounter(","), row_bytes=PLENTY)

    reason = error.value.fields["reason"]
    assert (reason.code, reason.fields["line"]) == ("open-quote", 4)


def test_a_row_beyond_the_memory_is_refused_with_its_line_and_size(tmp_path):
    """Before anything is read into it."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3," + b"x" * 3_000_000 + b"\n4,5\n")

    expected = WithFields(file="t.csv", line=3, megabytes=3, option="--memory", problem="row")
    with pytest.raises(UnreadableError, check=expected):
        count_rows(path, QuotedRowCounter(","), row_bytes=2_000_000)


@pytest.mark.parametrize(
    ("ending", "damage"),
    # Arrow writes zstd without a checksum, so a changed byte need not show.
    [(".gz", "cut"), (".gz", "changed"), (".gz", "plain"), (".zst", "cut"), (".zst", "plain")],
)
def test_a_damaged_packed_file_is_refused(tmp_path, ending, damage):
    """A cut end, a changed byte, or content that is not packed."""
    content = b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))
    path = tmp_path / f"t.csv{ending}"
    with pa.CompressedOutputStream(str(path), {".gz": "gzip", ".zst": "zstd"}[ending]) as file:
        file.write(content)
    packed = path.read_bytes()
    at = len(packed) // 2
    changed = packed[:at] + bytes([packed[at] ^ 255]) + packed[at + 1 :]
    path.write_bytes({"cut": packed[:-20], "changed": changed, "plain": content}[damage])

    expected = WithFields(file=path.name, problem="packing")
    with pytest.raises(UnreadableError, check=expected):
        count_rows(path, QuotedRowCounter(","), row_bytes=PLENTY)


def test_a_packed_file_reports_how_much_is_checked(tmp_path):
    """In bytes of the file, up to its end."""
    path, seen = tmp_path / "t.csv.gz", []
    path.write_bytes(gzip.compress(b"run,example,prediction\n"))

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    count_rows(path, QuotedRowCounter(","), row_bytes=PLENTY, progress=progress)

    size = path.stat().st_size
    assert seen == [(size, size)]
