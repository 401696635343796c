import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seedproof.errors import ColumnError, EmptyInputError, NotFoundError, UnreadableError
from seedproof.testing.errors import WithFields
from seedproof_reproductions.datasets import files

CONTENT = b"text,label\n"


def test_wrong_data_folder_is_refused(write, monkeypatch, tmp_path):
    """A typo in the variable must not start a download; an empty value means not set."""
    own = write("a/b.csv", "")

    assert files.local_file("a/b.csv") == files.own_file("a/b.csv", title="A") == own
    assert files.local_file("a/c.csv") is None
    with pytest.raises(NotFoundError):
        files.own_file("a/c.csv", title="A")
    monkeypatch.setenv("SEEDPROOF_DATA", "")
    assert files.local_file("a/b.csv") is None
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path / "dtaa"))
    with pytest.raises(NotFoundError):
        files.local_file("a/b.csv")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of one file on loopback, an empty cache, and a function that sets the digest."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "words.csv").write_bytes(CONTENT)
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SEEDPROOF_DATA", raising=False)
    handler = partial(SimpleHTTPRequestHandler, directory=folder)

    def publish(digest):
        url = f"http://127.0.0.1:{server.server_port}/words.csv"
        known = {"made/words.csv": {"url": url, "digest": f"sha256:{digest}"}}
        monkeypatch.setattr(files, "sources", lambda: known)
        return folder / "words.csv"

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, ThreadPoolExecutor() as threads:
        threads.submit(server.serve_forever)
        yield publish
        server.shutdown()


def test_public_file_is_downloaded_once_and_verified(served, tmp_path):
    """The second call reads it from the cache, even if the server is gone."""
    origin = served(hashlib.sha256(CONTENT).hexdigest())

    first = files.public_file("made/words.csv")
    origin.unlink()

    assert files.public_file("made/words.csv") == first
    assert first == tmp_path / "cache/seedproof/made/words.csv"
    assert first.read_bytes() == CONTENT
    assert files.digest_notes(first, "made/words.csv") == ()


def test_changed_public_file_is_refused_and_changed_copy_is_noted(served, request):
    """A download with other bytes is refused; a copy of the user is read with a note."""
    served("0" * 64)
    with pytest.raises(NotFoundError):
        files.public_file("made/words.csv")

    own = request.getfixturevalue("write")("made/words.csv", "mine")
    assert files.public_file("made/words.csv") == own
    (note,) = files.digest_notes(own, "made/words.csv")
    assert str(own) in note


def test_tables_are_read_compressed_or_not(write):
    """Quotes, commas and newlines inside a field are kept; in TSV a quote is part of a field."""
    text = "so, so\ngood"
    content = f'label,text\n1,"{text}"\n'
    plain, packed = write("a.csv", content), write("a.csv.xz", content)
    tabs = write("b.csv", '1\t"A man\n')

    rows = [files.read_table(file, columns=("text",)) for file in (plain, packed)]

    assert rows[0] == rows[1] == [{"label": "1", "text": text}]
    bare = files.read_table(tabs, columns=("label", "text"), has_header=False, dialect=files.Tabs)
    assert bare[0]["text"].startswith('"')


@pytest.mark.parametrize(
    ("content", "has_header", "error"),
    [
        (b"label\n1\n", True, ColumnError),
        (CONTENT, True, EmptyInputError),
        (CONTENT + b"a\n", True, UnreadableError),
        (CONTENT + b"\xff,1\n", True, UnreadableError),
        (b"a,1\nb\n", False, UnreadableError),
        (b"a,1\nb,1,2\n", False, UnreadableError),
    ],
)
def test_damaged_table_is_refused(write, content, has_header, error):
    """A missing column, no rows, another encoding, a short row, or a long one without a header."""
    file = write("bad.csv", content)
    with pytest.raises(error, check=WithFields(file=file)):
        files.read_table(file, columns=("text", "label"), has_header=has_header)
