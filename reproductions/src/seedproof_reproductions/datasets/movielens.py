"""MovieLens-1M (Harper & Konstan, 2015) as implicit feedback, one item per user held out.

The split is that of Neural Collaborative Filtering (He et al., 2017): the latest item of each user
is tested against 99 items that the user has not rated. The data may not be redistributed, so the
user's own copy is read.
"""

import gzip
import zipfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from seedproof.errors import UnreadableError
from seedproof.typing import BoolArray, IntArray
from seedproof_reproductions.datasets.files import local_file, own_file

FOLDER = "movielens1m"
TITLE = "MovieLens-1M"
# In place of a rating that is not known, and of a candidate that was dropped.
UNKNOWN, NO_ITEM = 0, -1
# All training pairs without their ratings, and ratings of some users, where the table with both is
# not available.
PAIRS, PARTIAL_RATINGS = "ml1m_ncf_train_pairs.npz", "ratings_users_1_to_2999.dat.gz"


@dataclass(frozen=True, eq=False)
class Interactions:
    """Items that users have rated: histories to train on, and one item per user to test.

    Users and items are numbers from 0. Rows of `users`, `items` and `ratings` are sorted by user
    and item; all other arrays have one row per user.
    """

    n_items: int
    users: IntArray
    items: IntArray
    ratings: IntArray  # 1 to 5, or UNKNOWN
    candidates: IntArray  # the tested item first, then others; NO_ITEM where one was dropped
    test_ratings: IntArray
    names: IntArray  # of the users in the whole data set

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.candidates)

    @cached_property
    def starts(self) -> IntArray:
        """First row of each user, and the number of all rows at the end."""
        return np.searchsorted(self.users, np.arange(self.n_users + 1))

    @cached_property
    def is_rated(self) -> BoolArray:
        """Return which users have a known rating for each item of theirs."""
        n_unknown = np.bincount(self.users[self.ratings == UNKNOWN], minlength=self.n_users)
        is_rated: BoolArray = (n_unknown == 0) & (self.test_ratings != UNKNOWN)
        return is_rated

    def of(self, chosen: IntArray) -> "Interactions":
        """Return the interactions of some users, given in ascending order, with new numbers."""
        place = np.full(self.n_users, -1)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.users] >= 0
        return replace(
            self,
            users=place[self.users[kept]],
            items=self.items[kept],
            ratings=self.ratings[kept],
            candidates=self.candidates[chosen],
            test_ratings=self.test_ratings[chosen],
            names=self.names[chosen],
        )

    def held_out(self, seed: int) -> "Interactions":
        """Return the interactions with one item per user moved from training to testing.

        It takes the place of the tested item, against as many items that the user has not rated.
        Choices that are made on these leave the real tests untouched.
        """
        rng = np.random.default_rng(seed)
        tested = self.starts[:-1] + rng.integers(np.diff(self.starts))
        is_rated = np.zeros((self.n_users, self.n_items), dtype=np.bool_)
        is_rated[self.users, self.items] = True
        is_rated[np.arange(self.n_users), self.candidates[:, 0]] = True
        keys = np.where(is_rated, np.inf, rng.random(is_rated.shape))
        others = np.argsort(keys, axis=1)[:, : self.candidates.shape[1] - 1]
        return replace(
            self,
            users=np.delete(self.users, tested),
            items=np.delete(self.items, tested),
            ratings=np.delete(self.ratings, tested),
            candidates=np.column_stack([self.items[tested], others]),
            test_ratings=self.ratings[tested],
        )


def load_movielens() -> Interactions:
    """Read the user's own copy; duplicates of the tested item among the candidates are dropped."""
    tested = _table(_own("ml-1m.test.rating"))
    file = _own("ml-1m.test.negative")
    candidates = _table(file)
    n_users = len(tested)
    is_aligned = len(candidates) == n_users and candidates.shape[1] > 2
    if not is_aligned or (candidates[:, :2] != tested[:, :2]).any():
        _refuse(file, "its users and items are not those of ml-1m.test.rating")
    if (tested[:, 0] != np.arange(n_users)).any():
        _refuse(file, "there must be one row per user, from 0")
    train = _read_train()
    order = np.lexsort((train[:, 1], train[:, 0]))
    users, items, ratings = train[order].T
    candidates = candidates[:, 1:].copy()
    n_items = 1 + max(int(items.max(initial=0)), int(candidates.max()))
    sizes = np.bincount(users, minlength=n_users)
    if len(sizes) > n_users or sizes.min() < 2 or sizes.max() == n_items:
        _refuse(file, "each user needs a test case, two items to train on, and one not rated")
    # The published file has 156 users whose tested item is also among the other candidates.
    candidates[:, 1:][candidates[:, 1:] == candidates[:, :1]] = NO_ITEM
    names = np.arange(n_users)
    return Interactions(n_items, users, items, ratings, candidates, tested[:, 2], names)


def load_ages() -> IntArray | None:
    """Read the least age of each user's age group; None if the file of users is missing."""
    file = local_file(f"{FOLDER}/users.dat")
    if file is None:
        return None
    try:
        rows = [line.split("::") for line in file.read_text(encoding="utf-8").splitlines()]
        # Users count from 1: number, gender, age group, occupation, postal code.
        users, ages = (np.array([int(row[place]) for row in rows]) for place in (0, 2))
    except (ValueError, IndexError) as error:
        _refuse(file, str(error))
    by_user = np.full(users.max(initial=0), UNKNOWN)
    by_user[users - 1] = ages
    return by_user


def _own(name: str) -> Path:
    return own_file(f"{FOLDER}/{name}", title=TITLE, layout=FOLDER)


def _read_train() -> IntArray:
    """Return rows of user, item and rating, in any order."""
    pairs_file = local_file(f"{FOLDER}/{PAIRS}")
    if local_file(f"{FOLDER}/ml-1m.train.rating") is not None or pairs_file is None:
        return _table(_own("ml-1m.train.rating"))[:, :3]
    try:
        pairs = np.load(pairs_file)["train"].astype(np.int64)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        _refuse(pairs_file, str(error))
    return np.column_stack([pairs, _partial_ratings(pairs)])


def _partial_ratings(pairs: IntArray) -> IntArray:
    """Return the rating of each pair of user and item, UNKNOWN for those that no file has."""
    ratings = np.full(len(pairs), UNKNOWN)
    file = local_file(f"{FOLDER}/{PARTIAL_RATINGS}")
    if file is None:
        return ratings
    movies = _table(_own("item_map.csv"), has_header=True)
    rated = _table(file)
    item_of = np.full(1 + max(movies[:, 1].max(), rated[:, 1].max()), NO_ITEM)
    item_of[movies[:, 1]] = movies[:, 0]
    n_items = 1 + max(movies[:, 0].max(), pairs[:, 1].max())
    # These files count users from 1.
    keys = (rated[:, 0] - 1) * n_items + item_of[rated[:, 1]]
    order = np.argsort(keys)
    wanted = pairs[:, 0] * n_items + pairs[:, 1]
    places = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
    is_known = keys[places] == wanted
    ratings[is_known] = rated[places[is_known], 2]
    return ratings


def _table(file: Path, *, has_header: bool = False) -> IntArray:
    """Read a table of whole numbers, between tabs, commas or pairs of colons."""
    try:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
        # Rows of candidates begin with "(user,item)".
        plain = text.translate({ord("("): None, ord(")"): None, ord(","): "\t", ord(":"): "\t"})
        rows = plain.replace("\t\t", "\t").splitlines()[int(has_header) :]
        table = np.loadtxt(rows or ["-1"], dtype=np.int64, delimiter="\t", ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        _refuse(file, str(error))
    if table.min() < 0:
        _refuse(file, "it is empty, or has numbers below 0")
    return table


def _refuse(file: Path, reason: str) -> NoReturn:
    raise UnreadableError(
        "{file} does not have the expected format: {reason}.", file=file, reason=reason.rstrip(".")
    )
