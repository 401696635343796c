"""Sparse counts equal dense ones, in memory that grows with the pairs met."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.training.dynamics import pair_counts
from seedproof.training.dynamics.pair_counts import PairCounts

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=20)


def dense(counts):
    """All counts as a table, by reading keys alone."""
    table = np.zeros((6, 4), dtype=int)
    for key, count in zip(*(array.tolist() for array in counts.pairs()), strict=True):
        table[divmod(key, 4)] = count
    return table.tolist()


def counted(batches):
    """Counts of some batches of pairs."""
    counts = PairCounts(4)
    for batch in batches:
        rows, classes = np.array(batch, dtype=np.int64).reshape(-1, 2).T
        counts.add(rows, classes)
    return counts


def table_of(batches):
    """The same by plain counting."""
    table = [[0] * 4 for _ in range(6)]
    for batch in batches:
        for row, class_idx in batch:
            table[row][class_idx] += 1
    return table


@pytest.mark.parametrize("waiting", [0, 7, 2**16])
@given(batches=st.lists(PAIRS, max_size=6))
def test_counts_are_those_of_a_table(waiting, batches):
    """Whether pairs wait for long, or not at all; a pair may come twice in a batch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_counts, "MAX_WAITING", waiting)
        counts = counted(batches)

        assert dense(counts) == table_of(batches)
        keys = counts.pairs()[0]
        assert (np.diff(keys) > 0).all()


@given(first=st.lists(PAIRS, max_size=4), second=st.lists(PAIRS, max_size=4))
def test_merged_counts_are_those_of_all_batches(first, second):
    """And the other one stays as it is."""
    counts, other = counted(first), counted(second)

    counts.merge(other)

    assert dense(counts) == table_of(first + second)
    assert dense(other) == table_of(second)


def test_what_waits_is_bounded():
    """Half a megabyte, and 12 bytes a pair however often it was met."""
    counts = PairCounts(10)
    rows, classes = np.arange(1000), np.zeros(1000, dtype=np.int64)

    largest = 0
    for _ in range(500):
        counts.add(rows, classes)
        largest = max(largest, counts.nbytes)

    assert largest <= 8 * pair_counts.MAX_WAITING + 12 * 1000
    counts.pairs()
    assert counts.nbytes == 12 * 1000


def test_class_indices_of_any_width_make_the_same_pairs():
    """Pairs are 64 bits wide, also where classes are bytes: 70,000 · 70,000 needs 33."""
    counts = PairCounts(70_000)
    for kind in (np.uint8, np.int32, np.uint64):
        counts.add(np.array([69_999], dtype=np.int32), np.array([200], dtype=kind))

    keys, n_met = counts.pairs()

    assert (keys.tolist(), n_met.tolist()) == ([69_999 * 70_000 + 200], [3])
