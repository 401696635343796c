import io
import lzma
import os
import tarfile
import zipfile

import numpy as np
import pytest

from seedproof.errors import (
    EmptyInputError,
    NotFoundError,
    UnknownLabelError,
    UnknownNameError,
    UnreadableError,
)
from seedproof_reproductions.conll2019.settings import MIN_COUNTS
from seedproof_reproductions.datasets.catalog import (
    AGNEWS_PARTIAL_NOTE,
    IMDB_MAX_TOKENS,
    LOADERS,
    SNLI_NOTE,
    load,
)

HEADER = ("text", "label", "exp_split")
needs_data = pytest.mark.skipif(
    "SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set"
)


def test_the_recipe_knows_every_data_set_and_no_other():
    """Each has a bound for rare words; another name is refused."""
    assert set(LOADERS) == set(MIN_COUNTS)
    with pytest.raises(UnknownNameError):
        load("sts")


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("sst", [863, 862]), ("agnews", [1900, 1900]), ("snli", [3219, 3237, 3368])],
)
def test_the_real_test_files_have_the_sizes_of_the_paper(name, sizes):
    """Table 1, and our note about SST."""
    assert np.bincount(load(name).test.labels).tolist() == sizes


def test_sst_keeps_more_than_five_tokens_and_fewer_than_the_longest(write_csv):
    """Of 5, 6, 7 and 8 tokens, those of 6 and 7 stay; ids are places in the file."""
    rows = [
        (" ".join("w" * n), n % 2, split)
        for split in ("dev", "train", "test")
        for n in (5, 6, 7, 8)
    ]
    write_csv("sst/sst_dataset.csv", [HEADER, *rows])

    data = load("sst")

    assert [len(words) for words in data.train.tokens] == [6, 7]
    assert data.train.ids.tolist() == [5, 6]
    assert data.train.labels.tolist() == [0, 1]
    assert data.test.ids.tolist() == [9, 10]


def test_imdb_cuts_long_reviews_to_train_on_and_does_not_test_on_them(data_folder):
    """A tenth of the training is held out; a fifth of the shorter test reviews is kept."""
    (data_folder / "imdb").mkdir()
    for split in ("train", "test"):
        rows = [f"{i % 2},{'word' if i % 4 else 'word ' * 500} number{i}" for i in range(40)]
        packed = lzma.compress(("label,text\n" + "\n".join(rows) + "\n").encode())
        (data_folder / "imdb" / f"imdb_{split}.csv.xz").write_bytes(packed)

    data = load("imdb")

    assert (len(data.train), len(data.dev), len(data.test)) == (36, 4, 6)
    assert max(map(len, (*data.train.tokens, *data.dev.tokens))) == IMDB_MAX_TOKENS
    assert max(map(len, data.test.tokens)) < IMDB_MAX_TOKENS
    assert not set(data.train.ids) & set(data.dev.ids)
    assert all(i % 2 == label for i, label in zip(data.test.ids, data.test.labels, strict=True))
    assert load("imdb").test.ids.tolist() == data.test.ids.tolist()


def test_imdb_reads_the_public_archive_by_folder(data_folder):
    """`pos` is 1, `neg` is 0, and reviews without a label are left out."""
    (data_folder / "imdb").mkdir()
    with tarfile.open(data_folder / "imdb" / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for name in (f"{s}/{k}" for s in ("train", "test") for k in ("pos", "neg", "unsup")):
            for i in range(10):
                content = name.replace("/", " ").encode()
                member = tarfile.TarInfo(f"aclImdb/{name}/{i}_7.txt")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

    data = load("imdb")

    assert (len(data.train), len(data.dev)) == (18, 2)
    for words, label in zip(data.train.tokens, data.train.labels, strict=True):
        assert words == ("train", ("neg", "pos")[label])


def test_agnews_is_world_against_business_by_the_description(write_csv):
    """Sports and science are left out; ids are places in the file."""
    write_csv(
        "agnews/test.csv",
        [("1", "t", "World peace"), ("2", "t", "A"), ("3", "t", "Oil"), ("4", "t", "B")],
    )
    write_csv("agnews/train.csv", [(kind, "title", "text") for kind in "1313" * 10])

    data = load("agnews")

    assert data.test.tokens == (("world", "peace"), ("oil",))
    assert data.test.labels.tolist() == [0, 1]
    assert data.test.ids.tolist() == [0, 2]
    assert (len(data.train), len(data.dev)) == (36, 4)
    assert AGNEWS_PARTIAL_NOTE not in data.notes


def test_agnews_takes_a_part_of_the_training_file_and_notes_it(data_folder, write_csv):
    """Only where the official file is missing."""
    write_csv("agnews/test.csv", [("1", "t", "World peace")])
    text = "class,title,description,source\n" + "1,,War,x\n3,,Trade,x\n2,,Goal,x\n" * 5
    path = data_folder / "agnews" / "agnews_train_partial.csv.xz"
    path.write_bytes(lzma.compress(text.encode()))

    data = load("agnews")

    assert len(data.train) + len(data.dev) == 10
    assert AGNEWS_PARTIAL_NOTE in data.notes


@pytest.fixture
def snli_folder(data_folder):
    """Three pairs to train on, two in each other split."""
    folder = data_folder / "snli"
    folder.mkdir()
    rows = '1\t1\tA "man\tHe is old.\n3\t3\tA dog.\tAn animal.\n2\t2\tRain.\tSun.\n'
    (folder / "cat_train.csv").write_text(rows, encoding="utf-8")
    for split in ("dev", "test"):
        (folder / f"labels.{split}").write_text("entailment\nneutral\n", encoding="utf-8")
        (folder / f"s1.{split}").write_text("A dog .\nIt rains .\n", encoding="utf-8")
        (folder / f"s2.{split}").write_text("A pet .\nIt pours .\n", encoding="utf-8")
    return folder


def test_snli_pairs_have_a_premise_and_a_query(snli_folder):
    """Labels 1, 2, 3 are neutral, contradiction, entailment; files must have as many lines."""
    data = load("snli")

    assert data.train.tokens[0] == ("a", "man")
    assert data.train.queries[0] == ("he", "is", "old")
    assert data.train.labels.tolist() == [0, 2, 1]
    assert data.test.labels.tolist() == [2, 0]
    assert data.test.queries == (("a", "pet"), ("it", "pours"))
    assert data.notes == (SNLI_NOTE,)
    (snli_folder / "labels.dev").write_text("neutral\n", encoding="utf-8")
    with pytest.raises(UnreadableError):
        load("snli")


def test_snli_leaves_out_pairs_without_agreement(data_folder):
    """The public archive has a gold label of `-` for them; ids keep their places."""
    (data_folder / "snli").mkdir()
    rows = "gold_label\tparse\tsentence1\tsentence2\n-\tx\tNo one.\tKnows.\ncontradiction\tx\tA cat.\tA dog.\n"
    with zipfile.ZipFile(data_folder / "snli" / "snli_1.0.zip", "w") as archive:
        for split in ("train", "dev", "test"):
            archive.writestr(f"snli_1.0/snli_1.0_{split}.txt", rows)

    data = load("snli")

    assert data.test.ids.tolist() == data.test.labels.tolist() == [1]
    assert data.test.tokens == (("a", "cat"),)


@pytest.mark.parametrize(
    ("name", "path", "positive", "n_tokens"),
    [
        ("adr", "adr/adr.csv", "reaction", 5000),
        ("diabetes", "mimic/diabetes.csv", "diabetes", 4000),
        ("anemia", "mimic/anemia.csv", "chronic", 4000),
    ],
)
def test_what_may_not_be_redistributed_is_the_users_own_copy(
    write_csv, name, path, positive, n_tokens
):
    """Clinical notes are cut; without a copy the data set cannot be loaded."""
    with pytest.raises(NotFoundError):
        load(name)
    rows = [("word " * 5000, 1, split) for split in ("train", "dev", "test")]
    write_csv(path, [HEADER, *rows])

    data = load(name)

    assert (data.name, data.classes[data.test.labels[0]]) == (name, positive)
    assert len(data.test.tokens[0]) == n_tokens
    assert [split.ids.tolist() for split in (data.train, data.dev, data.test)] == [[0], [1], [2]]


def test_without_dev_a_tenth_of_train_is_held_out(write_csv):
    """Nothing of the test is touched."""
    rows = [(f"text {i}", i % 2, "train") for i in range(50)]
    write_csv("adr/adr.csv", [HEADER, *rows, ("t", 0, "test")])

    data = load("adr")

    assert (len(data.train), len(data.dev), len(data.test)) == (45, 5, 1)
    assert sorted([*data.train.ids, *data.dev.ids]) == list(range(50))


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (("a", "yes", "train"), UnknownLabelError),
        (("a", 1, "valid"), UnknownLabelError),
        (("a", 1, "train"), EmptyInputError),
        (("a", 1, "test"), EmptyInputError),
    ],
)
def test_a_damaged_copy_is_refused(write_csv, row, error):
    """Another label, another split, nothing to test or to train on."""
    write_csv("adr/adr.csv", [HEADER, row])
    with pytest.raises(error):
        load("adr")
