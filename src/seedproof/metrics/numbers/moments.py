"""Means and sums of squares of numbers by block of examples, for parts of the variance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.metrics.calibration import N_BLOCKS
from seedproof.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the units of each level over the examples of each block; they can be added up.

    Squares and products are of deviations from the mean of the block, as those of large numbers
    would lose their digits.
    """

    sizes: IntArray | FloatArray  # examples of each block, or the sum of their weights: (blocks)
    size_squares: IntArray | FloatArray  # sums of the squared weights, the same without weights
    means: tuple[FloatArray, ...]  # per level, axes (units, blocks)
    squares: tuple[FloatArray, ...]  # the same
    products: FloatArray  # of each run with the sum of all runs, axes (runs, blocks)

    @classmethod
    def empty(cls, n_units: Sequence[int]) -> "Moments":
        """Return the moments of no example, given the number of units of each level."""
        zeros = tuple(np.zeros((n, N_BLOCKS)) for n in n_units)
        sizes = np.zeros(N_BLOCKS, dtype=np.int64)
        return cls(sizes, sizes, zeros, zeros, zeros[0])

    @classmethod
    def of(
        cls,
        by_level: Sequence[FloatArray],
        blocks: IntArray,
        weights: FloatArray | None = None,
    ) -> "Moments":
        """Return the moments of a batch, from the axes (units, examples) of each level."""
        counts = np.bincount(blocks, minlength=N_BLOCKS)
        order, filled = np.argsort(blocks, kind="stable"), np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[filled]
        sizes: IntArray | FloatArray = counts
        size_squares = sizes
        if weights is not None:
            sizes, size_squares = (np.bincount(blocks, weights**p, N_BLOCKS) for p in (1, 2))
            weights = weights[order]

        def sums(values: FloatArray) -> FloatArray:
            totals = np.zeros((len(values), N_BLOCKS))
            if weights is not None:
                values = values * weights
            totals[:, filled] = np.add.reduceat(values, starts, axis=1)
            return totals

        means: list[FloatArray] = []
        squares: list[FloatArray] = []
        products: FloatArray = np.zeros(0)
        for values in by_level:
            center = values.mean(axis=1, keepdims=True)
            deviations = values[:, order] - center
            mean = sums(deviations) / _or_one(sizes)
            if not means:
                of_all = deviations * deviations.sum(axis=0)
                products = sums(of_all) - sizes * mean * mean.sum(axis=0)
            means.append(np.where(sizes > 0, mean + center, 0.0))
            squares.append(sums(np.square(deviations)) - sizes * np.square(mean))
        return cls(sizes, size_squares, tuple(means), tuple(squares), products)

    @property
    def n_effective(self) -> FloatArray:
        """Number of examples of each block, as if all had the same weight; at least 1."""
        return np.maximum(np.square(self.sizes) / _or_one(self.size_squares), 1)

    def __add__(self, other: "Moments") -> "Moments":
        """Add other examples: Chan, Golub and LeVeque (1983), The American Statistician 37:242."""
        sizes = self.sizes + other.sizes
        share = other.sizes / _or_one(sizes)
        weights = self.sizes * share
        gaps = [second - first for first, second in zip(self.means, other.means, strict=True)]
        return Moments(
            sizes,
            self.size_squares + other.size_squares,
            tuple(mean + share * gap for mean, gap in zip(self.means, gaps, strict=True)),
            tuple(
                first + second + weights * np.square(gap)
                for first, second, gap in zip(self.squares, other.squares, gaps, strict=True)
            ),
            self.products + other.products + weights * gaps[0] * gaps[0].sum(axis=0),
        )

    def left_out(self) -> "Moments":
        """Return moments over all examples and then, in place of each block, over all others."""
        filled = np.flatnonzero(self.sizes)
        sizes = self.sizes[filled]
        n_left, squares_left = (
            np.array([x.sum(), *(x.sum() - x)]) for x in (sizes, self.size_squares[filled])
        )
        shares = np.array([0.0, *(sizes / _or_one(n_left[1:]))])

        def all_and_rest(values: FloatArray) -> FloatArray:
            whole = values.sum(axis=1, keepdims=True)
            return np.concatenate([whole, whole - values], axis=1)

        means: list[FloatArray] = []
        squares: list[FloatArray] = []
        products: FloatArray = np.zeros(0)
        for of_units, square in zip(self.means, self.squares, strict=True):
            whole = (of_units * self.sizes).sum(axis=1, keepdims=True) / sizes.sum()
            gaps = of_units[:, filled] - whole
            # Without a block, the mean moves away from it.
            moves = -shares * np.concatenate([np.zeros_like(whole), gaps], axis=1)
            if not means:
                of_all = self.products[:, filled] + sizes * gaps * gaps.sum(axis=0)
                products = all_and_rest(of_all) - n_left * moves * moves.sum(axis=0)
            means.append(whole + moves)
            around = square[:, filled] + sizes * np.square(gaps)
            squares.append(all_and_rest(around) - n_left * np.square(moves))
        return Moments(n_left, squares_left, tuple(means), tuple(squares), products)


def df_of(moments: Moments) -> FloatArray:
    """Return degrees of freedom of a variance over examples; NaN with fewer than two."""
    # With weights, by the expectation of a weighted sum of squares.
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = moments.size_squares / moments.sizes
    return np.where(moments.n_effective > 1, moments.sizes - lost, np.nan)


def _or_one(sizes: IntArray | FloatArray) -> IntArray | FloatArray:
    """Return sizes to divide by: 1 in place of 0."""
    return np.where(sizes > 0, sizes, 1)
