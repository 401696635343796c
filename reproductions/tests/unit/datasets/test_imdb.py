import io
import lzma
import tarfile

import numpy as np
import pytest
from seedproof_reproductions.datasets import imdb
from seedproof_reproductions.datasets.cache import Source

LONG = "word " * 500


@pytest.fixture
def made_tables(data_folder):
    """Forty reviews each, every fourth one too long."""
    (data_folder / "imdb").mkdir()
    for split in ("train", "test"):
        rows = [f"{i % 2},{'word' if i % 4 else LONG} number{i}" for i in range(40)]
        text = "label,text\n" + "\n".join(rows) + "\n"
        packed = lzma.compress(text.encode())
        (data_folder / "imdb" / f"imdb_{split}.csv.xz").write_bytes(packed)


@pytest.mark.usefixtures("made_tables")
def test_long_reviews_are_cut_to_train_on_and_left_out_of_the_test():
    """A tenth of the training is held out; a fifth of the shorter test reviews is kept."""
    data = imdb.load()

    assert (len(data.train), len(data.dev), len(data.test)) == (36, 4, 6)
    assert max(map(len, (*data.train.tokens, *data.dev.tokens))) == imdb.MAX_TOKENS
    assert max(map(len, data.test.tokens)) < imdb.MAX_TOKENS
    assert not set(data.train.ids) & set(data.dev.ids)
    assert all(i % 2 == label for i, label in zip(data.test.ids, data.test.labels, strict=True))


@pytest.mark.usefixtures("made_tables")
def test_the_splits_are_the_same_each_time():
    """What is held out is no matter of luck."""
    assert imdb.load().test.ids.tolist() == imdb.load().test.ids.tolist()


def test_the_public_archive_is_read_by_folder(tmp_path, monkeypatch):
    """`pos` is 1, `neg` is 0, and reviews without a label are left out."""
    monkeypatch.delenv("SEEDPROOF_DATA", raising=False)
    path = tmp_path / "aclImdb_v1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for split in ("train", "test"):
            for kind in ("pos", "neg", "unsup"):
                for i in range(10):
                    content = f"{kind} {split} text".encode()
                    member = tarfile.TarInfo(f"aclImdb/{split}/{kind}/{i}_7.txt")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))

    def fetched(source: Source, *, folder: str):
        assert (source, folder) == (imdb.PUBLIC, "imdb")
        return path

    monkeypatch.setattr(imdb, "fetch", fetched)
    data = imdb.load()

    assert len(data.train) + len(data.dev) == 20
    for words, label in zip(data.train.tokens, data.train.labels, strict=True):
        assert words == (("neg", "pos")[label], "train", "text")
    assert np.bincount(data.train.labels, minlength=2).sum() == 18
