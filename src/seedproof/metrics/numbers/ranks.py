"""Rank agreement of two runs: Kendall's tau and Spearman's rho."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.block_statistic import Agreement, Residuals
from seedproof.metrics.calibration import scrambled
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.statistic import ExampleValues, Statistic, ValueOnly
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import BoolArray, FloatArray, IntArray

# Examples whose ranks are compared: all up to so many, and fewer with more runs.
MOST_EXAMPLES = 2048
MOST_NUMBERS = 50 * MOST_EXAMPLES
FEWEST_EXAMPLES = 64
# Signs of differences that fit the processor's cache.
CACHED_SIGNS = 2**17
# A correlation that is 1 but for rounding.
EQUAL = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of examples that does not depend on how the work was divided.

    It holds those whose hash is lowest, as if drawn at random.
    """

    most: int
    numbers: FloatArray  # axes (runs, examples)
    hashes: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))  # ascending
    blocks: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def empty(cls, n_runs: int) -> "Sample":
        """Return a sample without examples, for so many runs."""
        most = min(MOST_EXAMPLES, max(MOST_NUMBERS // n_runs, FEWEST_EXAMPLES))
        return cls(most, np.zeros((n_runs, 0)))

    def with_batch(self, numbers: FloatArray, batch: NumberBatch) -> "Sample":
        """Add the numbers of the examples of a batch, axes (runs, examples)."""
        # Hashed twice: the hash of a position decides on its block.
        hashes = scrambled(scrambled(batch.first + np.arange(batch.n_examples)))
        own = np.arange(batch.n_examples)
        if len(self.hashes) == self.most:
            own = np.flatnonzero(hashes < self.hashes[-1])
        return self + Sample(self.most, numbers[:, own], hashes[own], batch.filled_blocks[own])

    def __add__(self, other: "Sample") -> "Sample":
        hashes = np.concatenate([self.hashes, other.hashes])
        lowest = np.argsort(hashes, kind="stable")[: self.most]
        return Sample(
            self.most,
            np.concatenate([self.numbers, other.numbers], axis=1)[:, lowest],
            hashes[lowest],
            np.concatenate([self.blocks, other.blocks])[lowest],
        )


@dataclass(frozen=True, eq=False)
class PairSums:
    """Correlations of each run with all others, added up, and what blocks contribute to them."""

    sums: FloatArray  # (runs)
    pulls: FloatArray  # axes (runs, blocks)

    def agreement(self, n_examples: int, *, has_runs: bool) -> Statistic:
        """Return the mean over pairs of runs."""
        n_runs = len(self.sums)
        mean = float(self.sums.sum()) / (n_runs * (n_runs - 1))
        if not abs(mean) < EQUAL or self.pulls.shape[1] < 3:
            return ValueOnly(mean)
        slope = 1 / (1 - mean**2)
        whole = slope * self.pulls.sum(axis=0) / (n_runs * (n_runs - 1))
        if not has_runs or n_runs == 2:
            return Agreement(
                value=mean, without=None, blocks=Residuals(n_examples, whole, whole[np.newaxis])
            )
        n_left = (n_runs - 1) * (n_runs - 2)
        left = np.clip((self.sums.sum() - 2 * self.sums) / n_left, -EQUAL, EQUAL)
        pulls = slope * (self.pulls.sum(axis=0) - 2 * self.pulls) / n_left
        return Agreement(
            value=mean, without=np.arctanh(left), blocks=Residuals(n_examples, whole, pulls)
        )


class Order(NamedTuple):
    """Numbers of each run among all of its numbers, axes (runs, examples)."""

    ascending: IntArray  # examples, the lowest number first
    n_below: IntArray  # lower numbers
    n_up_to: IntArray  # lower or equal numbers

    @classmethod
    def of(cls, numbers: FloatArray) -> "Order":
        """Return the order of numbers with the axes (runs, examples)."""
        ascending = np.argsort(numbers, axis=1, kind="stable")
        ordered = np.take_along_axis(numbers, ascending, axis=1)
        pairs = list(zip(ordered, numbers, strict=True))
        n_below = np.stack([np.searchsorted(row, own) for row, own in pairs])
        n_up_to = np.stack([np.searchsorted(row, own, side="right") for row, own in pairs])
        return cls(ascending, n_below, n_up_to)

    @property
    def ranks(self) -> FloatArray:
        """Ranks from 0 on; equal numbers share their mean rank."""
        return np.asarray((self.n_below + self.n_up_to - 1) / 2)

    def ranks_without(self, is_gone: BoolArray) -> FloatArray:
        """Return the ranks of the examples that are left if some are gone: (runs, examples)."""
        gone = np.zeros((len(self.ascending), self.ascending.shape[1] + 1), dtype=np.int64)
        np.cumsum(is_gone[self.ascending], axis=1, out=gone[:, 1:])
        # A rank drops by the lower examples that are gone, and by half of the equal ones.
        drops = sum(np.take_along_axis(gone, x, axis=1) for x in (self.n_below, self.n_up_to)) / 2
        return np.asarray((self.ranks - drops)[:, ~is_gone])


def kendall(order: Order, blocks: IntArray) -> PairSums:
    """Return sums of Kendall's tau-b.

    With u the signs of the differences between any two examples, divided by the root of the sum of
    their squares, tau is the product of the u of two runs. So the sum over other runs needs their
    total only.
    """
    ranks, n_unequal = order.ranks, order.ranks.shape[1] - (order.n_up_to - order.n_below)
    n_runs, n = ranks.shape
    squares = n_unequal.sum(axis=1, keepdims=True)
    scale = 1 / np.sqrt(squares)
    by_example = np.empty((n_runs, n))
    n_rows = max(CACHED_SIGNS // (n_runs * n), 1)
    for start in range(0, n, n_rows):
        rows = slice(start, start + n_rows)
        signs = ranks[:, rows, np.newaxis] - ranks[:, np.newaxis]
        np.clip(signs, -1.0, 1.0, out=signs)  # ranks differ by 1 at least
        total = np.einsum("r,rij->ij", scale[:, 0], signs)
        by_example[:, rows] = np.einsum("rij,ij->ri", signs, total)
    # Less the product of each run with itself.
    by_example = scale * by_example - n_unequal / squares
    sums, shares = by_example.sum(axis=1, keepdims=True), n_unequal / squares
    # Leaving out an example takes its row and its column, and its share of both scales.
    other_shares = (shares.sum(axis=0) - shares) / (n_runs - 1)
    pulls = (n - 1) * (2 * by_example - sums * (shares + other_shares))
    _, places = np.unique(blocks, return_inverse=True)
    return PairSums(sums[:, 0], np.stack([np.bincount(places, row) for row in pulls]))


def spearman(order: Order, blocks: IntArray) -> PairSums:
    """Return sums of Spearman's rho, the correlation of ranks."""
    sums, pulls = _correlations(order.ranks), []
    for block in np.unique(blocks):
        is_gone = blocks == block
        without = _correlations(order.ranks_without(is_gone))
        pulls.append((sums - without) * np.count_nonzero(~is_gone))
    return PairSums(sums, np.stack(pulls, axis=1))


def _correlations(ranks: FloatArray) -> FloatArray:
    """Return the correlations of each run with all others, added up: (runs)."""
    scaled = standardized(ranks)
    return np.asarray((scaled * (scaled.sum(axis=0) - scaled)).sum(axis=1))


def standardized(ranks: FloatArray) -> FloatArray:
    """Return ranks less their mean, with squares that add up to 1; 0 if all are equal."""
    gaps = ranks - ranks.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(gaps).sum(axis=1, keepdims=True))
    return np.asarray(gaps / np.where(size > 0.0, size, 1.0))


class Ranks(NumberFamily):
    """Rank agreement of two runs; empty if all numbers are 0 or 1, which have no ranks."""

    figures: ClassVar[tuple[str, ...]] = ("rank_tau", "rank_rho")
    memory: ClassVar[str] = "runs × sample"

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        self._sample = Sample.empty(n_runs)

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        self._sample = self._sample.with_batch(batch.of_runs, batch)
        return super().add(batch, values)

    def result(self) -> Mapping[str, Statistic]:
        """Return the agreement of two runs, averaged over pairs, on all or a sample of examples."""
        numbers, blocks = self._sample.numbers, self._sample.blocks
        n_examples = numbers.shape[1]
        if self.is_pass_or_fail or n_examples < 3 or not np.ptp(numbers, axis=1).all():
            return {}
        order, has_runs = Order.of(numbers), not self.settings.are_trials
        return {
            name: sums(order, blocks).agreement(n_examples, has_runs=has_runs)
            for name, sums in (("rank_tau", kendall), ("rank_rho", spearman))
        }
