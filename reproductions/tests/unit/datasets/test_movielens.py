import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest

from seedproof.errors import NotFoundError, UnreadableError
from seedproof_reproductions.datasets.movielens import FOLDER, NO_ITEM, load_movielens

# Three users, five items: user, item, rating, time.
TRAIN = "1\t3\t5\t9\n0\t1\t2\t9\n0\t0\t4\t9\n2\t2\t1\t9\n2\t0\t3\t9\n1\t4\t4\t9\n"
TESTED = "0\t3\t5\t9\n1\t0\t3\t9\n2\t1\t1\t9\n"
# User 1 has the tested item twice.
CANDIDATES = "(0,3)\t2\t4\n(1,0)\t0\t2\n(2,1)\t3\t4\n"


@pytest.fixture
def write_small(write):
    """Writes the three files, some of them changed."""

    def write_small(**changed):
        files = {"train.rating": TRAIN, "test.rating": TESTED, "test.negative": CANDIDATES}
        for name, content in (files | changed).items():
            write(f"{FOLDER}/ml-1m.{name}", content)

    return write_small


@pytest.mark.skipif(
    not Path(os.environ.get("SEEDPROOF_DATA", "nowhere"), FOLDER).is_dir(),
    reason="MovieLens-1M is not in SEEDPROOF_DATA",
)
def test_real_files_have_the_published_sizes():
    """As in Table 3.1; 156 users have their tested item among their other candidates."""
    data = load_movielens()

    assert (data.n_users, data.n_items, len(data.items)) == (6040, 3706, 994_169)
    assert data.candidates.shape == (6040, 100)
    assert (data.candidates == NO_ITEM).sum() == 156
    assert len(np.unique(data.candidates[:, 0])) == 1921


def test_rows_are_sorted_and_duplicates_of_the_tested_item_are_dropped(write_small):
    write_small()

    data = load_movielens()

    assert (data.n_users, data.n_items) == (3, 5)
    assert data.users.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.items.tolist() == [0, 1, 3, 4, 0, 2]
    assert data.ratings.tolist() == [4, 2, 5, 4, 3, 1]
    assert data.starts.tolist() == [0, 2, 4, 6]
    assert data.candidates.tolist() == [[3, 2, 4], [0, NO_ITEM, 2], [1, 3, 4]]


def test_part_of_the_users_keeps_their_names_and_items(write_small):
    write_small()

    part = load_movielens().of(np.array([0, 2]))

    assert (part.n_users, part.n_items) == (2, 5)
    assert (part.users.tolist(), part.items.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 2])
    assert part.names.tolist() == [0, 2]
    assert part.test_ratings.tolist() == [5, 1]


@pytest.mark.usefixtures("made_movielens")
def test_held_out_items_are_of_the_training_part():
    """The others are 29 items that the user has not rated, in training or in the test."""
    whole = load_movielens()

    part, again, other = whole.held_out(0), whole.held_out(0), whole.held_out(1)

    assert len(part.items) == len(whole.items) - 60
    for user in range(60):
        rated, kept = (set(of.items[of.users == user].tolist()) for of in (whole, part))
        tested, *others = part.candidates[user].tolist()
        assert rated == {*kept, tested} > kept
        assert not {*others} & {*rated, whole.candidates[user, 0]}
        assert len({*others}) == 29
        is_tested = (whole.users == user) & (whole.items == tested)
        assert whole.ratings[is_tested].tolist() == [part.test_ratings[user]]
    assert np.array_equal(part.candidates, again.candidates)
    assert not np.array_equal(part.candidates[:, 0], other.candidates[:, 0])


def test_pairs_without_ratings_take_those_of_another_file(write_small, write, data_folder):
    """Ratings have the numbers of movies, and count users from 1; user 2 has none."""
    write_small()
    (data_folder / FOLDER / "ml-1m.train.rating").unlink()
    pairs = io.BytesIO()
    rows = np.array([line.split("\t")[:2] for line in TRAIN.splitlines()], np.uint16)
    np.savez(pairs, train=rows)
    write(f"{FOLDER}/ml1m_ncf_train_pairs.npz", pairs.getvalue())
    unknown = load_movielens()
    write(
        f"{FOLDER}/item_map.csv",
        "ncf_item,movieID\n" + "".join(f"{i},{70 - i}\n" for i in range(5)),
    )
    rated = "1::70::4::9\n1::69::2::9\n2::67::5::9\n2::66::4::9\n"
    write(f"{FOLDER}/ratings_users_1_to_2999.dat.gz", gzip.compress(rated.encode()))
    data = load_movielens()

    assert not unknown.is_rated.any()
    assert data.items.tolist() == unknown.items.tolist() == [0, 1, 3, 4, 0, 2]
    assert data.ratings.tolist() == [4, 2, 5, 4, 0, 0]
    assert data.is_rated.tolist() == [True, True, False]


@pytest.mark.parametrize(
    "changed",
    [
        {"test.rating": ""}, {"test.rating": "0\tx\t5\t9\n"}, {"test.rating": TESTED[:9]},
        {"test.negative": CANDIDATES.replace("(1,0)", "(1,2)")},
        {"test.negative": CANDIDATES.replace("\t4\n", "\n", 1)},
        {"train.rating": "0\t-1\t2\t9\n" + TRAIN}, {"train.rating": TRAIN[9:]},
        {"train.rating": TRAIN + "3\t1\t1\t9\n3\t2\t1\t9\n"},
    ],
)  # fmt: skip
def test_files_of_another_format_are_refused(write_small, changed):
    write_small(**changed)

    with pytest.raises(UnreadableError):
        load_movielens()


@pytest.mark.usefixtures("data_folder")
def test_copy_of_the_user_is_required():
    with pytest.raises(NotFoundError):
        load_movielens()
