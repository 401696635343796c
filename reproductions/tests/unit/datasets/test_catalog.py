import itertools
import os
import shutil

import numpy as np
import pytest

from seedproof.errors import EmptyInputError, NotFoundError, UnknownLabelError, UnreadableError
from seedproof_reproductions.datasets.catalog import NOTES, load

COLUMNS = ("text", "label", "exp_split")


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("sst", [863, 862]), ("agnews", [1900, 1900]), ("snli", [3219, 3237, 3368])],
)
def test_real_test_files_have_the_published_sizes(name, sizes):
    """As in Table 1, except for our note about SST."""
    assert np.bincount(load(name).test.labels).tolist() == sizes


def test_sst_drops_short_sentences_and_the_longest(write):
    """Of 5, 6, 7 and 8 tokens, those with 6 and 7 are kept; ids are positions in the file."""
    splits = ("dev", "train", "test")
    rows = [(" ".join("w" * n), n % 2, split) for split in splits for n in (5, 6, 7, 8)]
    write("sst/sst_dataset.csv", [COLUMNS, *rows])

    train = load("sst").train

    assert [len(words) for words in train.tokens] == [6, 7]
    assert (train.ids.tolist(), train.labels.tolist()) == ([5, 6], [0, 1])


def test_imdb_truncates_long_training_reviews_and_drops_long_test_reviews(write):
    """A tenth of the training reviews is held out; a fifth of the short test reviews is kept."""
    rows = [(i % 2, f"{'word' if i % 4 else 'word ' * 500} number{i}") for i in range(40)]
    for split in ("train", "test"):
        write(f"imdb/imdb_{split}.csv.xz", [("label", "text"), *rows])

    data = load("imdb")

    assert (len(data.train), len(data.dev), len(data.test)) == (36, 4, 6)
    assert max(map(len, (*data.train.tokens, *data.dev.tokens))) == 400
    assert max(map(len, data.test.tokens)) < 400
    assert not set(data.train.ids) & set(data.dev.ids)
    assert (data.test.ids % 2 == data.test.labels).all()
    assert load("imdb").test.ids.tolist() == data.test.ids.tolist()


def test_imdb_reads_the_public_archive_by_folder(write, data_folder):
    """`pos` is 1, `neg` is 0, and reviews without a label are left out."""
    for split, kind, i in itertools.product(("train", "test"), ("pos", "neg", "unsup"), range(10)):
        write(f"aclImdb/{split}/{kind}/{i}_7.txt", f"{split} {kind}")
    shutil.make_archive(data_folder / "imdb" / "aclImdb_v1", "gztar", data_folder, "aclImdb")

    data = load("imdb")

    assert (len(data.train), len(data.dev)) == (18, 2)
    for words, label in zip(data.train.tokens, data.train.labels, strict=True):
        assert words == ("train", ("neg", "pos")[label])


def test_agnews_keeps_world_and_business(write):
    """Sports and science are left out; an incomplete training file is noted."""
    write("agnews/test.csv", [(kind, "title", f"text {kind}") for kind in "1234"])
    text = "class,title,description,source\n" + "1,,War,x\n3,,Trade,x\n2,,Goal,x\n" * 5
    write("agnews/agnews_train_partial.csv.xz", text)
    partial = load("agnews")
    write("agnews/train.csv", [(kind, "title", "text") for kind in "1313" * 10])
    data = load("agnews")

    assert (data.test.ids.tolist(), data.test.labels.tolist()) == ([0, 2], [0, 1])
    assert (len(partial.train), len(partial.dev)) == (8, 2)
    assert (len(data.train), len(data.dev)) == (36, 4)
    assert [NOTES["agnews_partial"] in loaded.notes for loaded in (partial, data)] == [True, False]


def test_snli_pairs_have_a_premise_and_a_query(write):
    """Labels 1, 2, 3 are neutral, contradiction, entailment; files must have equal lengths."""
    write("snli/cat_train.csv", '1\t1\tA "man\tHe is old.\n3\t3\tA dog.\tA pet.\n2\t2\tA.\tB.\n')
    for split in ("dev", "test"):
        write(f"snli/labels.{split}", "entailment\nneutral\n")
        write(f"snli/s1.{split}", "A dog .\nIt rains .\n")
        write(f"snli/s2.{split}", "A pet .\nIt pours .\n")

    data = load("snli")

    assert (data.train.tokens[0], data.train.queries[0]) == (("a", "man"), ("he", "is", "old"))
    assert data.train.labels.tolist() == [0, 2, 1]
    assert data.test.labels.tolist() == [2, 0]
    assert data.test.queries == (("a", "pet"), ("it", "pours"))
    write("snli/labels.dev", "neutral\n")
    with pytest.raises(UnreadableError):
        load("snli")


def test_snli_drops_pairs_without_agreement(write, data_folder):
    """Their gold label is `-` in the public archive; the ids of the others do not change."""
    rows = "gold_label\tsentence1\tsentence2\n-\tNo one.\tKnows.\ncontradiction\tA cat.\tA dog.\n"
    for split in ("train", "dev", "test"):
        write(f"snli_1.0/snli_1.0_{split}.txt", rows)
    shutil.make_archive(data_folder / "snli" / "snli_1.0", "zip", data_folder, "snli_1.0")

    test = load("snli").test

    assert test.ids.tolist() == test.labels.tolist() == [1]
    assert test.tokens == (("a", "cat"),)


@pytest.mark.parametrize(
    ("name", "path", "positive", "n_tokens"),
    [("adr", "adr/adr.csv", "reaction", 5000), ("anemia", "mimic/anemia.csv", "chronic", 4000)],
)
def test_copy_of_the_user_is_read(write, name, path, positive, n_tokens):
    """Notes are truncated; without dev, a tenth of train is held out; a copy is required."""
    with pytest.raises(NotFoundError):
        load(name)
    rows = [("word " * 5000, 1, split) for split in ("train", "dev", "test")]
    write(path, [COLUMNS, *rows])
    data = load(name)
    write(path, [COLUMNS, *([rows[0]] * 50), rows[2]])
    without_dev = load(name)

    assert (data.name, data.classes[data.test.labels[0]]) == (name, positive)
    assert len(data.test.tokens[0]) == n_tokens
    assert [split.ids.tolist() for split in (data.train, data.dev, data.test)] == [[0], [1], [2]]
    assert (len(without_dev.train), len(without_dev.dev), len(without_dev.test)) == (45, 5, 1)
    for label, split, error in (
        ("yes", "train", UnknownLabelError), (1, "valid", UnknownLabelError),
        (1, "train", EmptyInputError), (1, "test", EmptyInputError),
    ):  # fmt: skip
        write(path, [COLUMNS, ("a", label, split)])
        with pytest.raises(error):
            load(name)
