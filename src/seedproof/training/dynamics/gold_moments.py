"""Mean and spread over steps of a number for each example, such as its gold label's probability."""

from collections.abc import Iterator

import numpy as np

from seedproof.metrics.dynamics import Moments, merged_moments
from seedproof.typing import FloatArray, IntArray


class GoldMoments:
    """Running moments, where examples may be seen unequally often.

    A number that is NaN makes NaN of its example's moments for good.

    Args:
        n_examples: How many examples there are.
    """

    def __init__(self, n_examples: int) -> None:
        self.n_steps: IntArray = np.zeros(n_examples, dtype=np.int32)
        self.mean: FloatArray = np.zeros(n_examples)
        self.squares: FloatArray = np.zeros(n_examples)

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self.n_steps.nbytes + self.mean.nbytes + self.squares.nbytes

    def add(self, rows: IntArray, values: FloatArray) -> None:
        """Count one step of some examples."""
        for turn in _without_repeats(rows):
            here = rows[turn]
            n_one, no_squares = np.ones(len(here), dtype=np.int32), np.zeros(len(here))
            before = Moments(self.n_steps[here], self.mean[here], self.squares[here])
            after = merged_moments(before, Moments(n_one, values[turn], no_squares))
            self.n_steps[here], self.mean[here], self.squares[here] = after

    def merge(self, other: "GoldMoments") -> None:
        """Add the steps of another one of the same examples."""
        both = merged_moments(self.moments(), other.moments())
        self.n_steps, self.mean, self.squares = both

    def mean_and_sd(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each example; NaN where it was not seen."""
        return np.where(self.n_steps > 0, self.mean, np.nan), self.moments().sd

    def moments(self) -> Moments:
        """Number of steps, mean and sum of squared distances from it, of each example."""
        return Moments(self.n_steps, self.mean, self.squares)


def _without_repeats(rows: IntArray) -> Iterator[IntArray]:
    """Places of rows in turns, first occurrences first: no row comes twice in one turn."""
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    nth = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
    for turn in range(int(nth.max(initial=-1)) + 1):
        yield order[nth == turn]
