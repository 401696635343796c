"""Everything that the runs of a setting share, and the examples that a run draws per epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seedproof.errors import EmptyInputError
from seedproof.typing import IntArray
from seedproof_reproductions.datasets.files import data_folder
from seedproof_reproductions.datasets.movielens import Interactions, load_movielens
from seedproof_reproductions.thesis2019.settings import Setting

# Seed of the part that a smaller study takes.
PART_SEED = 2019
N_NEGATIVES = 4
# Ratings from here on are positive, in the setting with three classes.
LEAST_LIKED = 3


class Examples(NamedTuple):
    """Pairs of a user and an item, and the class of each."""

    users: Tensor
    items: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class Histories:
    """Items that each user has rated, in ascending order, one user after the other."""

    n_users: int
    n_items: int
    users: Tensor
    items: Tensor
    starts: Tensor  # first row of each user, and the number of all rows
    keys: Tensor  # users × n_items + items, ascending
    is_seen: Tensor  # the same as a table: axes (users, items)

    @classmethod
    def from_data(cls, data: Interactions) -> "Histories":
        """Return the histories of a data set."""
        users, items, starts = map(torch.from_numpy, (data.users, data.items, data.starts))
        is_seen = torch.zeros(data.n_users, data.n_items, dtype=torch.bool)
        is_seen[users, items] = True
        keys = users * data.n_items + items
        return cls(data.n_users, data.n_items, users, items, starts, keys, is_seen)

    @property
    def sizes(self) -> Tensor:
        """Number of items per user."""
        return self.starts.diff()

    def of(self, user: int) -> Tensor:
        """Return the items of one user."""
        return self.items[self.starts[user] : self.starts[user + 1]]

    def rows_of(self, users: Tensor) -> Tensor:
        """Return the rows of some users, one user after the other."""
        sizes = self.sizes[users]
        ends = sizes.cumsum(0)
        return torch.arange(int(ends[-1])) + (self.starts[users] - ends + sizes).repeat_interleave(
            sizes
        )

    def places(self, users: Tensor, items: Tensor) -> Tensor:
        """Return the place of each item in the history of its user, −1 where it is not in it."""
        wanted = users * self.n_items + items
        rows = torch.searchsorted(self.keys, wanted).clamp_(max=len(self.keys) - 1)
        return torch.where(self.keys[rows] == wanted, rows - self.starts[users], -1)

    def draw_negatives(self, users: Tensor, generator: torch.Generator) -> Tensor:
        """Draw an item for each user, uniformly over those that the user has not rated."""
        drawn = torch.randint(self.n_items, users.shape, generator=generator)
        keys = users * self.n_items
        is_seen = self.is_seen.view(-1)
        again = is_seen[keys + drawn].nonzero().squeeze(1)
        while len(again):
            drawn[again] = torch.randint(self.n_items, again.shape, generator=generator)
            again = again[is_seen[keys[again] + drawn[again]]]
        return drawn


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set as models see it."""

    data: Interactions
    histories: Histories
    classes: Tensor  # of each training row, 1 or more
    test_classes: Tensor  # of each user's tested item
    n_classes: int

    @property
    def class_weights(self) -> Tensor:
        """Weights of the classes with which all have the same share of the loss."""
        counts = torch.bincount(self.classes, minlength=self.n_classes).double()
        counts[0] = N_NEGATIVES * len(self.classes)
        return (counts.sum() / (self.n_classes * counts)).float()

    def example_ids(self, items: IntArray) -> IntArray:
        """Return one number per user and item, the same in every part of the data set.

        Items have the users as their first axis of two.
        """
        return np.asarray(self.data.names[:, np.newaxis] * self.data.n_items + items)

    def draw_examples(self, rows: Tensor, generator: torch.Generator) -> Examples:
        """Return training rows in their order, each followed by its negatives."""
        users = self.histories.users[rows].repeat_interleave(1 + N_NEGATIVES)
        items = torch.empty_like(users).view(-1, 1 + N_NEGATIVES)
        items[:, 0] = self.histories.items[rows]
        negatives = self.histories.draw_negatives(
            users.view_as(items)[:, 1:].reshape(-1), generator
        )
        items[:, 1:] = negatives.view(-1, N_NEGATIVES)
        labels = torch.zeros_like(items)
        labels[:, 0] = self.classes[rows]
        return Examples(users, items.view(-1), labels.view(-1))

    def batches_of_examples(
        self, size: int, order: torch.Generator, negatives: torch.Generator
    ) -> Iterator[Examples]:
        """Draw the examples of an epoch, in random order."""
        examples = self.draw_examples(torch.arange(len(self.classes)), negatives)
        shuffled = torch.randperm(len(examples.labels), generator=order)
        for rows in torch.split(shuffled, size):
            yield Examples(*(column[rows] for column in examples))

    def batches_of_users(
        self,
        size: int,
        order: torch.Generator,
        negatives: torch.Generator,
        n_positives: int | None = None,
    ) -> Iterator[Examples]:
        """Draw the examples of an epoch, in random order of the users and one after the other.

        With `n_positives`, at most so many rows per user are drawn.
        """
        histories = self.histories
        users = torch.randperm(histories.n_users, generator=order)
        rows, sizes = histories.rows_of(users), histories.sizes[users]
        if n_positives is not None:
            rows = rows[_drawn_per_user(sizes, n_positives, order)]
            sizes = sizes.clamp(max=n_positives)
        examples = self.draw_examples(rows, negatives)
        steps = [int(n) * (1 + N_NEGATIVES) for n in _sums(sizes, size)]
        for columns in zip(*(torch.split(column, steps) for column in examples), strict=True):
            yield Examples(*columns)


def _drawn_per_user(sizes: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return which rows are drawn, where users have so many rows one after the other."""
    users = torch.arange(len(sizes)).repeat_interleave(sizes)
    # Double precision, so that a random number below 1 stays with its user.
    keys = users + torch.rand(len(users), generator=generator, dtype=torch.float64)
    ranks = torch.arange(len(users)) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    is_drawn = torch.empty(len(users), dtype=torch.bool)
    is_drawn[keys.argsort()] = ranks < most
    return is_drawn


def _sums(sizes: Tensor, n_together: int) -> Tensor:
    """Return the sum of each so many numbers."""
    ends = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)[n_together - 1 :: n_together]])
    total = sizes.sum().view(1)
    return torch.cat([ends, total]).diff() if len(sizes) % n_together else ends.diff()


def prepare(setting: Setting) -> Prepared:
    """Read the data set once per process and folder of data sets, and take a setting's part."""
    return _prepared(setting.n_users, setting.held_out, data_folder(), len(setting.classes))


@lru_cache(maxsize=1)
def _prepared(
    n_users: int | None, held_out: int | None, _folder: Path | None, n_classes: int
) -> Prepared:
    data = load_movielens()
    if held_out is not None:
        data = data.held_out(held_out)
    has_ratings = n_classes > 2
    if has_ratings:
        if not data.is_rated.any():
            raise EmptyInputError(
                "No user has a rating for each item, so interactions cannot be split "
                "into positive and negative ones. Use another --output."
            )
        data = data.of(np.flatnonzero(data.is_rated))
    if n_users is not None and n_users < data.n_users:
        chosen = np.random.default_rng(PART_SEED).choice(data.n_users, n_users, replace=False)
        data = data.of(np.sort(chosen))
    classes, test_classes = (
        torch.from_numpy(1 + (ratings >= LEAST_LIKED) if has_ratings else np.ones_like(ratings))
        for ratings in (data.ratings, data.test_ratings)
    )
    return Prepared(data, Histories.from_data(data), classes, test_classes, n_classes)
