"""Exact tests of whether the votes of two versions on an example have the same distribution.

One test per example, and the false discovery rate over all of them. Given the votes of both
versions together, every assignment of the votes to the versions is equally likely if nothing
changed (Fisher's exact test; Freeman and Halton 1951 for more than two classes). All probabilities
are whole numbers over one denominator, so they are compared exactly.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from math import ceil, comb
from types import MappingProxyType

import numpy as np

from seedproof.typing import BoolArray, IntArray

# Accepted share of false discoveries among the examples that are listed.
FALSE_DISCOVERY_RATE = Fraction(1, 20)
# More runs of each version are not advised.
MOST_RUNS = 100


@dataclass(frozen=True, eq=False)
class ExactTests:
    """Exact tests of some examples."""

    p_values: np.ndarray
    counts: Counter[int]  # tested examples per p-value, by its numerator
    # Only examples whose pooled votes allow a p-value of at most the false discovery rate.
    is_tested: BoolArray


def all_splits(n_old: int, n_new: int) -> int:
    """Return the number of assignments of runs to versions: the denominator of all p-values."""
    return comb(n_old + n_new, n_old)


@lru_cache(maxsize=2**14)
def tails(first: int, second: int, *, n_old: int, n_new: int) -> Mapping[tuple[int, int], int]:
    """Return the number of assignments that are at most as likely, for every split of the votes.

    Both versions give `first` and `second` votes to two classes; all other votes count as a third.
    Keys are the votes of the old version for the two. Divided by `all_splits`, a value is the
    two-sided p-value.
    """
    other = n_old + n_new - first - second
    weights = {
        (a, b): comb(first, a) * comb(second, b) * comb(other, n_old - a - b)
        for a in range(min(first, n_old) + 1)
        for b in range(min(second, n_old - a) + 1)
        if n_old - a - b <= other
    }
    cumulative: dict[tuple[int, int], int] = {}
    total = 0
    for weight, tied in groupby(sorted(weights, key=weights.__getitem__), weights.__getitem__):
        tables = list(tied)
        total += weight * len(tables)
        cumulative |= dict.fromkeys(tables, total)
    return MappingProxyType(cumulative)


def examine_votes(old: IntArray, new: IntArray, agreement: IntArray) -> ExactTests:
    """Test each example: do the votes of both versions have the same distribution?

    More than three classes are reduced to the two with most pooled votes, and the others. Pooling
    ignores which version a vote is from, so the test stays exact. `old` and `new` are predicted
    classes, and `agreement` is the number of runs of both versions that predict what this run
    predicts, old runs first, axes (runs, examples).
    """
    n_old, n_new = len(old), len(new)
    pooled = np.concatenate([old, new])
    first, n_first = most_voted(pooled, agreement)
    second, n_second = most_voted(pooled, np.where(pooled == first, 0, agreement))
    own = [(old == first).sum(axis=0), ((old == second) & (n_second > 0)).sum(axis=0)]
    patterns, places, sizes = np.unique(
        np.stack([n_first, n_second, *own]), axis=1, return_inverse=True, return_counts=True
    )
    counts: Counter[int] = Counter()
    p_values, is_tested = np.ones(len(sizes)), np.zeros(len(sizes), dtype=np.bool_)
    most = FALSE_DISCOVERY_RATE * (total := all_splits(n_old, n_new))
    for index, (votes, other_votes, *of_old) in enumerate(patterns.T.tolist()):
        known = tails(votes, other_votes, n_old=n_old, n_new=n_new)
        numerator = known[tuple(of_old)]
        p_values[index] = numerator / total
        if min(known.values()) <= most:
            counts[numerator] += int(sizes[index])
            is_tested[index] = True
    places = places.reshape(-1)
    return ExactTests(p_values[places], counts, is_tested[places])


def most_voted(pooled: IntArray, agreement: IntArray) -> tuple[IntArray, IntArray]:
    """Return the class with most votes, the smallest index among ties, and its votes."""
    votes = agreement.max(axis=0)
    last = np.iinfo(pooled.dtype).max
    winner = np.where(agreement == votes, pooled, last).min(axis=0)
    return winner, votes


@dataclass(frozen=True, slots=True)
class Discoveries:
    """Result of the tests of all examples together."""

    rate: float  # accepted share of false discoveries
    n_tested: int  # examples whose votes could be significant at all
    n_found: int  # examples whose difference noise does not explain
    threshold: float | None  # the largest significant p-value
    least_p: float  # the smallest p-value possible with this number of runs
    n_needed: int  # examples that must differ that clearly for any to be found
    runs_needed: int | None  # per version, to find a single such example; None if more than 100


def discover(counts: Mapping[int, int], *, n_old: int, n_new: int) -> Discoveries:
    """Apply the procedure of Benjamini and Hochberg (1995) to few distinct p-values.

    `counts` has the number of examples per p-value, by its numerator over `all_splits`. The choice
    of examples that are tested depends on pooled votes only, which the tests condition on, so that
    leaving out the others keeps the rate.
    """
    total, n_tested = all_splits(n_old, n_new), sum(counts.values())
    n_found, threshold, so_far = 0, None, 0
    for numerator in sorted(counts):
        so_far += counts[numerator]
        if numerator * n_tested <= FALSE_DISCOVERY_RATE * so_far * total:
            n_found, threshold = so_far, numerator
    least = _least(n_old, n_new)
    enough = (
        runs
        for runs in range(2, MOST_RUNS + 1)
        if _least(runs, runs) * n_tested <= FALSE_DISCOVERY_RATE
    )
    return Discoveries(
        rate=float(FALSE_DISCOVERY_RATE),
        n_tested=n_tested,
        n_found=n_found,
        threshold=None if threshold is None else threshold / total,
        least_p=float(least),
        n_needed=max(ceil(least * n_tested / FALSE_DISCOVERY_RATE), 1),
        runs_needed=next(enough, None),
    )


def _least(n_old: int, n_new: int) -> Fraction:
    """P-value of an example on which all old runs agree, and all new runs on another class."""
    return Fraction(2 if n_old == n_new else 1, all_splits(n_old, n_new))


def adjusted(counts: Mapping[int, int], *, n_old: int, n_new: int) -> dict[float, float]:
    """Return adjusted p-values (q-values) by p-value; `counts` is as for `discover`."""
    total, n_tested = all_splits(n_old, n_new), sum(counts.values())
    q_values: dict[float, float] = {}
    least, so_far = Fraction(1), n_tested
    for numerator in sorted(counts, reverse=True):
        least = min(least, Fraction(numerator * n_tested, so_far * total))
        q_values[numerator / total] = float(least)
        so_far -= counts[numerator]
    return q_values
