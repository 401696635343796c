import hashlib

import pytest
from seedproof_reproductions.datasets import cache
from seedproof_reproductions.datasets.cache import (
    Source,
    fetch,
    local_file,
    note_on_bytes,
    own_file,
)

from seedproof.errors import NotFoundError


def test_without_the_variable_there_is_no_folder(monkeypatch):
    """Unset and empty mean the same: data sets are fetched."""
    monkeypatch.delenv("SEEDPROOF_DATA", raising=False)
    assert local_file("sst/sst_dataset.csv") is None

    monkeypatch.setenv("SEEDPROOF_DATA", "")
    assert local_file("sst/sst_dataset.csv") is None


def test_a_folder_that_is_not_there_is_refused(monkeypatch, tmp_path):
    """A typo must not lead to a download."""
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path / "dtaa"))

    with pytest.raises(NotFoundError, match="dtaa"):
        local_file("sst/sst_dataset.csv")


def test_a_file_of_ones_own_is_found(data_folder):
    """A file below the folder is used, and one that is not there is None."""
    (data_folder / "sst").mkdir()
    (data_folder / "sst" / "sst_dataset.csv").touch()

    assert local_file("sst/sst_dataset.csv") == data_folder / "sst" / "sst_dataset.csv"
    assert local_file("sst/other.csv") is None


@pytest.mark.usefixtures("data_folder")
def test_what_may_not_be_passed_on_says_what_to_do():
    """The message names the file and its layout."""
    with pytest.raises(NotFoundError, match=r"Tweets.*adr/adr\.csv.*SEEDPROOF_DATA.*a table"):
        own_file("adr/adr.csv", what="Tweets", layout="a table")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of one file on loopback, and a cache that is empty."""
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "words.csv").write_bytes(b"text,label\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield f"http://127.0.0.1:{server.server_port}/words.csv", folder / "words.csv"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_public_file_is_fetched_once_and_checked(served, tmp_path):
    """The second time the file comes from the cache, though its origin is gone."""
    url, origin = served
    source = Source(url, "sha256:" + hashlib.sha256(b"text,label\n").hexdigest())

    first = fetch(source, folder="made")
    origin.unlink()
    second = fetch(source, folder="made")

    assert first == second
    assert first.read_bytes() == b"text,label\n"
    assert first.is_relative_to(tmp_path / "cache")


def test_a_file_that_has_changed_is_refused(served):
    """Other bytes are another data set."""
    url, _ = served

    other = Source(url, "sha256:" + "0" * 64)

    with pytest.raises(NotFoundError, match=r"could not be fetched .*cache.*made.words\.csv\."):
        fetch(other, folder="made")
    with pytest.raises(NotFoundError, match=r"at a/b\.csv below the folder that SEEDPROOF_DATA"):
        fetch(other, folder="made", local="a/b.csv")


@pytest.mark.parametrize(
    ("digest", "n_notes"),
    [
        # Of "abc", from RFC 1321 and FIPS 180-2.
        ("md5:900150983cd24fb0d6963f7d28e17f72", 0),
        ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 0),
        ("md5:900150983cd24fb0d6963f7d28e17f73", 1),
    ],
)
def test_a_copy_is_compared_with_what_was_published(tmp_path, digest, n_notes):
    """Whichever digest is known of it."""
    path = tmp_path / "words.csv"
    path.write_bytes(b"abc")

    notes = note_on_bytes(path, Source("https://example.org/words.csv", digest))

    assert len(notes) == n_notes
    assert all(str(path) in note and "md5" in note for note in notes)


def test_every_public_source_has_a_digest():
    """No data set is taken on trust."""
    from seedproof_reproductions import word_vectors
    from seedproof_reproductions.datasets import agnews, imdb, snli, sst

    sources = [sst.PUBLIC, imdb.PUBLIC, agnews.TRAIN, agnews.TEST, snli.PUBLIC, word_vectors.GLOVE]

    lengths = {"sha256": 64, "md5": 32}
    for source in sources:
        kind, _, digest = source.digest.partition(":")
        assert len(digest) == lengths[kind]
        assert source.url.startswith("https://")
    assert cache.FOLDER_VARIABLE == "SEEDPROOF_DATA"
