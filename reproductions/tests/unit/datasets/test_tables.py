import lzma

import pytest
from seedproof_reproductions.datasets.tables import read_bare_table, read_table

from seedproof.errors import ColumnError, EmptyInputError, UnreadableError


def test_a_packed_table_reads_as_an_open_one(tmp_path):
    """Quotes, commas and newlines inside a field survive, packed or not."""
    content = 'label,text\n1,"so, so\ngood"\n'
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(content.encode()))

    rows = [read_table(tmp_path / name, columns=("text",)) for name in ("a.csv", "a.csv.xz")]

    assert rows[0] == rows[1] == [{"label": "1", "text": "so, so\ngood"}]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"label\n1\n", ColumnError, "no column 'text'"),
        (b"", ColumnError, "no column 'text'"),
        (b"text\n", EmptyInputError, "no rows"),
        (b"text,label\na\n", UnreadableError, "Row 1"),
        (b"text,label\n\xff,1\n", UnreadableError, "UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, content, error, message):
    """The message says which file and what it lacks."""
    (tmp_path / "bad.csv").write_bytes(content)

    with pytest.raises(error, match=message):
        read_table(tmp_path / "bad.csv", columns=("text", "label")[: 1 + (b"," in content)])


def test_a_bare_table_needs_the_same_fields_in_each_row(tmp_path):
    """A row that lacks a field is named."""
    (tmp_path / "a.csv").write_text('"1","b, c"\n"2"\n', encoding="utf-8")

    with pytest.raises(UnreadableError, match="Row 2"):
        read_bare_table(tmp_path / "a.csv", n_columns=2)
