import hashlib
import lzma
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seedproof.errors import ColumnError, EmptyInputError, NotFoundError, UnreadableError
from seedproof_reproductions.datasets import files
from seedproof_reproductions.datasets.files import (
    digest_notes,
    local_file,
    own_file,
    public_file,
    read_bare_table,
    read_table,
    sources,
)

CONTENT = b"text,label\n"


def test_own_copies_are_below_the_data_folder(data_folder):
    """A file that is not there is None, or an error if it cannot be fetched."""
    (data_folder / "a").mkdir()
    (data_folder / "a" / "b.csv").touch()

    assert (
        local_file("a/b.csv")
        == own_file("a/b.csv", title="A", layout="")
        == data_folder / "a/b.csv"
    )
    assert local_file("a/c.csv") is None
    with pytest.raises(NotFoundError):
        own_file("a/c.csv", title="A", layout="a table")


def test_a_variable_that_does_not_name_a_folder_is_refused(monkeypatch, tmp_path):
    """A typo must not lead to a download; an empty value means that it is not set."""
    monkeypatch.setenv("SEEDPROOF_DATA", "")
    assert local_file("sst/sst_dataset.csv") is None
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path / "dtaa"))
    with pytest.raises(NotFoundError):
        local_file("sst/sst_dataset.csv")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of one file on loopback, an empty cache, and a function that sets the digest."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "words.csv").write_bytes(CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SEEDPROOF_DATA", raising=False)
    url = f"http://127.0.0.1:{server.server_port}/words.csv"

    def publish(digest):
        known = {"made/words.csv": {"url": url, "digest": f"sha256:{digest}"}}
        monkeypatch.setattr(files, "sources", lambda: known)
        return folder / "words.csv"

    yield publish
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_public_file_is_fetched_once_and_checked(served, tmp_path):
    """The second time it comes from the cache, though its origin is gone."""
    origin = served(hashlib.sha256(CONTENT).hexdigest())

    first = public_file("made/words.csv")
    origin.unlink()

    assert public_file("made/words.csv") == first == tmp_path / "cache/seedproof/made/words.csv"
    assert first.read_bytes() == CONTENT
    assert digest_notes(first, "made/words.csv") == ()


def test_a_public_file_that_has_changed_is_refused(served):
    """Other bytes are another data set."""
    served("0" * 64)
    with pytest.raises(NotFoundError):
        public_file("made/words.csv")


def test_a_copy_with_other_bytes_is_used_and_noted(served, data_folder):
    """The user's own copy is not checked, and a note names it."""
    served("0" * 64)
    (data_folder / "made").mkdir()
    (data_folder / "made" / "words.csv").write_bytes(b"mine")

    file = public_file("made/words.csv")

    (note,) = digest_notes(file, "made/words.csv")
    assert str(file) in note


def test_every_public_file_has_an_address_and_a_digest():
    """The cache has the name that the address ends in."""
    lengths = {"sha256": 64, "md5": 32}
    for path, source in sources().items():
        kind, _, digest = source["digest"].partition(":")
        assert len(digest) == lengths[kind]
        assert source["url"].startswith("https://")
        assert source["url"].endswith("/" + path.rpartition("/")[2])


def test_a_compressed_table_reads_like_a_plain_one(tmp_path):
    """Quotes, commas and newlines inside a field survive."""
    content = 'label,text\n1,"so, so\ngood"\n'
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(content.encode()))

    rows = [read_table(tmp_path / name, columns=("text",)) for name in ("a.csv", "a.csv.xz")]

    assert rows[0] == rows[1] == [{"label": "1", "text": "so, so\ngood"}]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"label\n1\n", ColumnError),
        (b"", ColumnError),
        (b"text,label\n", EmptyInputError),
        (b"text,label\na\n", UnreadableError),
        (b"text,label\n\xff,1\n", UnreadableError),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, content, error):
    """A missing column, no rows, a short row, another encoding."""
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(error):
        read_table(tmp_path / "bad.csv", columns=("text", "label"))


def test_rows_without_a_header_need_the_same_number_of_fields(tmp_path):
    """With tabs, a quote is part of a field."""
    (tmp_path / "a.csv").write_text('"1","b, c"\n"2"\n', encoding="utf-8")
    (tmp_path / "b.csv").write_text('1\tA "man\n', encoding="utf-8")

    with pytest.raises(UnreadableError):
        read_bare_table(tmp_path / "a.csv", n_columns=2)
    assert read_bare_table(tmp_path / "b.csv", n_columns=2, separator="\t") == [["1", 'A "man']]
