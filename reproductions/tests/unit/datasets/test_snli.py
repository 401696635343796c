import os
import zipfile

import numpy as np
import pytest
from seedproof_reproductions.datasets import snli
from seedproof_reproductions.datasets.cache import Source

from seedproof.errors import UnreadableError

HEADER = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\n"


@pytest.fixture
def made_folder(data_folder):
    """Three pairs to train on, two in each other split."""
    folder = data_folder / "snli"
    folder.mkdir()
    (folder / "cat_train.csv").write_text(
        '1\t1\tA "man\tHe is old.\n3\t3\tA dog.\tAn animal.\n2\t2\tRain.\tSun.\n', encoding="utf-8"
    )
    for split in ("dev", "test"):
        (folder / f"labels.{split}").write_text("entailment\nneutral\n", encoding="utf-8")
        (folder / f"s1.{split}").write_text("A dog .\nIt rains .\n", encoding="utf-8")
        (folder / f"s2.{split}").write_text("A pet .\nIt pours .\n", encoding="utf-8")
    return folder


@pytest.mark.usefixtures("made_folder")
def test_pairs_have_a_premise_and_a_query():
    """Labels 1, 2, 3 are neutral, contradiction, entailment; a lone quote is a sign."""
    data = snli.load()

    assert data.train.tokens[0] == ("a", "man")
    assert data.train.queries[0] == ("he", "is", "old")
    assert data.train.labels.tolist() == [0, 2, 1]
    assert data.test.labels.tolist() == [2, 0]
    assert data.test.queries == (("a", "pet"), ("it", "pours"))
    assert data.notes == (snli.NOTE,)


def test_files_that_do_not_match_are_refused(made_folder):
    """A missing line would give each later pair the label of another."""
    (made_folder / "labels.dev").write_text("neutral\n", encoding="utf-8")

    with pytest.raises(UnreadableError, match=r"labels\.dev"):
        snli.load()


def test_the_public_archive_leaves_out_pairs_without_agreement(tmp_path, monkeypatch):
    """A gold label of `-` means that the annotators did not agree; ids keep their places."""
    monkeypatch.delenv("SEEDPROOF_DATA", raising=False)
    path = tmp_path / "snli_1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        rows = "-\tx\tNo one.\tKnows.\ncontradiction\tx\tA cat.\tA dog.\n"
        for split in ("train", "dev", "test"):
            archive.writestr(f"snli_1.0/snli_1.0_{split}.txt", HEADER + rows)

    def fetched(source: Source, *, folder: str):
        assert (source, folder) == (snli.PUBLIC, "snli")
        return path

    monkeypatch.setattr(snli, "fetch", fetched)

    data = snli.load()

    assert data.test.ids.tolist() == [1]
    assert data.test.labels.tolist() == [1]
    assert data.test.tokens == (("a", "cat"),)


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
def test_the_real_test_file_has_the_sizes_of_the_paper():
    """Table 1: 3219 neutral, 3237 contradiction, 3368 entailment."""
    assert np.bincount(snli.load().test.labels).tolist() == [3219, 3237, 3368]
