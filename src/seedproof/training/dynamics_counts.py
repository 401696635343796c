"""Counts of the classes predicted for each example, and moments of its gold probability."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from seedproof.typing import FloatArray, IntArray

# Half a megabyte: small compared with any model, and large enough that merging is seldom.
MAX_WAITING = 2**16


class PairCounts:
    """Exact counts of pairs of example and class, in memory proportional to the pairs that occur.

    A pair is a number, example times classes plus class. Pairs are sorted, each with a count. New
    ones wait in a small buffer, so that a small batch does not move all of them.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self._keys: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._counts: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._waiting: list[npt.NDArray[np.int64]] = []
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        """Size of all counts in bytes."""
        return self._keys.nbytes + self._counts.nbytes + 8 * self._n_waiting

    def add(self, rows: IntArray, classes: IntArray) -> None:
        """Count each pair once more."""
        self._waiting.append(rows.astype(np.int64) * self.n_classes + classes.astype(np.int64))
        self._n_waiting += len(rows)
        if self._n_waiting > MAX_WAITING:
            self._settle()

    def merge(self, other: "PairCounts") -> None:
        """Add the counts of another recorder with as many classes."""
        self._settle()
        self._put(*other.pairs())

    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return all pairs in ascending order and the count of each: views, not to be changed."""
        self._settle()
        return self._keys, self._counts

    def replace(self, keys: IntArray, counts: IntArray) -> None:
        """Replace all pairs and counts by others, as `pairs` returned them."""
        self._keys = np.array(keys, dtype=np.int64)
        self._counts = np.array(counts, dtype=np.int32)
        self._waiting, self._n_waiting = [], 0

    def _settle(self) -> None:
        if self._waiting:
            keys, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
            self._waiting, self._n_waiting = [], 0
            self._put(keys, counts.astype(np.int32))

    def _put(self, keys: npt.NDArray[np.int64], counts: npt.NDArray[np.int32]) -> None:
        """Add to the counts of known pairs, and put new ones where they belong."""
        place = np.searchsorted(self._keys, keys)
        known = place < len(self._keys)
        known[known] = self._keys[place[known]] == keys[known]
        self._counts[place[known]] += counts[known]
        if not known.all():
            self._keys = np.insert(self._keys, place[~known], keys[~known])
            self._counts = np.insert(self._counts, place[~known], counts[~known])


class GoldMoments:
    """Running mean and spread of the gold label's probability, per example.

    Examples may be seen unequally often. A NaN makes the moments of its example NaN.
    """

    def __init__(self, n_examples: int) -> None:
        self.n_steps: IntArray = np.zeros(n_examples, dtype=np.int32)
        self.mean: FloatArray = np.zeros(n_examples)
        self.squares: FloatArray = np.zeros(n_examples)  # sum of squared distances from the mean

    @property
    def nbytes(self) -> int:
        """Size of all moments in bytes."""
        return self.n_steps.nbytes + self.mean.nbytes + self.squares.nbytes

    def add(self, rows: IntArray, values: FloatArray) -> None:
        """Add one step of some examples."""
        for turn in _without_repeats(rows):
            ones, zeros = np.ones(len(turn), dtype=np.int32), np.zeros(len(turn))
            self._add(rows[turn], ones, values[turn], zeros)

    def merge(self, other: "GoldMoments") -> None:
        """Add the steps of another recorder of the same examples."""
        self._add(np.arange(len(self.mean)), other.n_steps, other.mean, other.squares)

    def mean_and_sd(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation (divided by n) per example; NaN if it was not seen."""
        is_seen = self.n_steps > 0
        sd = np.sqrt(self.squares / np.maximum(self.n_steps, 1))
        return np.where(is_seen, self.mean, np.nan), np.where(is_seen, sd, np.nan)

    def _add(self, rows: IntArray, n_new: IntArray, mean: FloatArray, squares: FloatArray) -> None:
        """Combine moments by the formula of Chan, Golub and LeVeque (1979).

        Where one side is empty the result is the other, to the bit.
        """
        n = self.n_steps[rows]
        share = n_new / np.maximum(n + n_new, 1)
        apart = mean - self.mean[rows]
        self.squares[rows] = self.squares[rows] + squares + apart**2 * (n * share)
        self.mean[rows] += apart * share
        self.n_steps[rows] = n + n_new


def _without_repeats(rows: IntArray) -> Iterator[IntArray]:
    """Yield positions of rows in turns, first occurrences first: no row comes twice in a turn."""
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    nth = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
    for turn in range(int(nth.max(initial=-1)) + 1):
        yield order[nth == turn]
