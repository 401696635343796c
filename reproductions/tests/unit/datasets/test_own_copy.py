import pytest
from seedproof_reproductions.datasets.own_copy import read_own

from seedproof.errors import EmptyInputError, UnknownLabelError

HEADER = ("text", "label", "exp_split")


def read(path, **settings):
    """A data set of two classes."""
    return read_own(path, name="made", classes=("no", "yes"), **settings)


def test_splits_and_labels_are_the_files_own(write_csv):
    """With a dev split nothing is drawn."""
    path = write_csv("a.csv", [HEADER, ("One!", 0, "train"), ("Two", 1, "dev"), ("3", 1, "test")])

    data = read(path)

    assert data.train.tokens == (("one",),)
    assert data.dev.labels.tolist() == [1]
    assert data.test.tokens == (("<number>",),)
    assert data.test.ids.tolist() == [2]


def test_without_dev_a_tenth_of_train_is_held_out(write_csv):
    """The rest is trained on, and nothing of the test is touched."""
    rows = [(f"text {i}", i % 2, "train") for i in range(50)]
    path = write_csv("a.csv", [HEADER, *rows, ("t", 0, "test")])

    data = read(path)

    assert (len(data.train), len(data.dev), len(data.test)) == (45, 5, 1)
    assert sorted([*data.train.ids, *data.dev.ids]) == list(range(50))


def test_texts_are_cut_and_that_is_told(write_csv):
    """A note says after how many tokens."""
    rows = [("a b c", 0, split) for split in ("train", "dev", "test")]
    path = write_csv("a.csv", [HEADER, *rows])

    data = read(path, max_tokens=2)

    assert data.test.tokens == (("a", "b"),)
    assert "2 tokens" in data.notes[0]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([("a", "yes", "train")], UnknownLabelError, "label 'yes'"),
        ([("a", 1, "valid")], UnknownLabelError, "exp_split 'valid'"),
        ([("a", 1, "train")], EmptyInputError, "'test'"),
        ([("a", 1, "test")], EmptyInputError, "'train'"),
    ],
)
def test_a_file_that_says_something_else_is_refused(write_csv, rows, error, message):
    """The message names the row or the split."""
    with pytest.raises(error, match=message):
        read(write_csv("a.csv", [HEADER, *rows]))
