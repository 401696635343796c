"""How often each pair of example and class was met, without a table of all pairs."""

import numpy as np
import numpy.typing as npt

from seedproof.typing import IntArray

# Half a megabyte: small beside any model, and large enough that merging it in is seldom.
MAX_WAITING = 2**16


class PairCounts:
    """Exact counts in memory proportional to the pairs that were met.

    Pairs are numbers, example times classes plus class, in ascending order with a count each. What
    was added last waits in a small buffer, so that a small batch does not move all of them.

    Args:
        n_classes: How many classes there are.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self._keys: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._counts: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._waiting: list[npt.NDArray[np.int64]] = []
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._keys.nbytes + self._counts.nbytes + 8 * self._n_waiting

    def add(self, rows: IntArray, classes: IntArray) -> None:
        """Count one more for each pair."""
        self._waiting.append(rows.astype(np.int64) * self.n_classes + classes.astype(np.int64))
        self._n_waiting += len(rows)
        if self._n_waiting > MAX_WAITING:
            self._settle()

    def merge(self, other: "PairCounts") -> None:
        """Add the counts of another one of as many classes."""
        self._settle()
        self._put(*other.pairs())

    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """All pairs in ascending order, and how often each was met; views, not to be changed."""
        self._settle()
        return self._keys, self._counts

    def replace(self, keys: IntArray, counts: IntArray) -> None:
        """Take other pairs, as `pairs` gave them, in place of all there are."""
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
