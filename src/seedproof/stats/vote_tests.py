"""Whether the votes of two versions on one example may come from one distribution.

An exact test for each example, and the false discovery rate over all of them. Given how often each
class was voted for by the runs of both versions together, every split of the votes over the two
versions is as likely as any other where nothing changed (Fisher's exact test; Freeman and Halton
1951 for more than two classes). All probabilities are whole numbers over one denominator, so they
are compared exactly.
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

# Share of false ones that is accepted among the examples that are listed.
FALSE_DISCOVERY_RATE = Fraction(1, 20)
# Nobody trains more runs of one version than this to have one example shown.
MOST_RUNS = 100


@dataclass(frozen=True, eq=False)
class ExactTests:
    """The exact test of some examples.

    Args:
        p_values: Probability of a split of the votes at least as unlikely, axes (examples).
        counts: How many of the examples that were tested have which p-value, by its numerator.
        is_tested: Whether an example's votes, of both versions together, allow a p-value of at
            most the false discovery rate; no split of the others could count.
    """

    p_values: np.ndarray
    counts: Counter[int]
    is_tested: BoolArray


def all_splits(n_old: int, n_new: int) -> int:
    """In how many ways the runs may be split over the versions: the denominator of all p-values."""
    return comb(n_old + n_new, n_old)


@lru_cache(maxsize=2**14)
def tails(first: int, second: int, *, n_old: int, n_new: int) -> Mapping[tuple[int, int], int]:
    """How many splits of the runs are at most as likely, for every split of the votes.

    Args:
        first: Votes of both versions for one class.
        second: Votes of both versions for another one; all other votes count as a third class.
        n_old: Runs of the old version.
        n_new: Runs of the new version.

    Returns:
        By votes of the old version for the first and the second class: divided by `all_splits`
        it is the two-sided p-value.
    """
    other = n_old + n_new - first - second
    weights = {
        (mine, also): comb(first, mine) * comb(second, also) * comb(other, n_old - mine - also)
        for mine in range(min(first, n_old) + 1)
        for also in range(min(second, n_old - mine) + 1)
        if n_old - mine - also <= other
    }
    found: dict[tuple[int, int], int] = {}
    total = 0
    for weight, tied in groupby(sorted(weights, key=weights.__getitem__), weights.__getitem__):
        tables = list(tied)
        total += weight * len(tables)
        found |= dict.fromkeys(tables, total)
    return MappingProxyType(found)


def examine_votes(old: IntArray, new: IntArray, agreement: IntArray) -> ExactTests:
    """The exact test of each example: are the votes of both versions of one distribution?

    More than three classes are taken as the two with most votes of both versions together, and the
    others: who decides that does not know whose votes they are, so the test stays exact.

    Args:
        old: Predicted classes of the old version, axes (runs, examples).
        new: The same of the new version.
        agreement: How many runs of both versions predict what this run predicts, the runs of the
            old version first, axes (runs, examples).

    Returns:
        A p-value for each example; 1 where all runs agree.
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
    for index, (one, two, mine, also) in enumerate(patterns.T.tolist()):
        known = tails(one, two, n_old=n_old, n_new=n_new)
        p_values[index] = known[mine, also] / total
        if min(known.values()) <= most:
            counts[known[mine, also]] += int(sizes[index])
            is_tested[index] = True
    places = places.reshape(-1)
    return ExactTests(p_values[places], counts, is_tested[places])


def most_voted(pooled: IntArray, agreement: IntArray) -> tuple[IntArray, IntArray]:
    """The class with most votes, the smallest index among equals, and its votes."""
    votes = agreement.max(axis=0)
    last = np.iinfo(pooled.dtype).max
    winner = np.where(agreement == votes, pooled, last).min(axis=0)
    return winner, votes


@dataclass(frozen=True, slots=True)
class Discoveries:
    """What the tests of all examples say together.

    Args:
        rate: The share of false ones that is accepted among those found.
        n_tested: How many examples were tested: those whose votes could be significant at all.
        n_found: On how many of them the seed does not explain the difference.
        threshold: The largest p-value that counts; None if none does.
        least_p: The smallest p-value that so many runs can give.
        n_needed: How many examples would have to differ that clearly for any to be found.
        runs_needed: How many runs of each version one such example alone would need; None if more
            than 100.
    """

    rate: float
    n_tested: int
    n_found: int
    threshold: float | None
    least_p: float
    n_needed: int
    runs_needed: int | None


def discover(counts: Mapping[int, int], *, n_old: int, n_new: int) -> Discoveries:
    """The procedure of Benjamini and Hochberg (1995) over examples with few distinct p-values.

    Which examples are tested follows from the votes of both versions together, which the tests
    take as given, so that leaving out the others keeps the rate.

    Args:
        counts: How many examples have which p-value, by its numerator over `all_splits`.
        n_old: Runs of the old version.
        n_new: Runs of the new version.

    Returns:
        The largest p-value that counts, and what it would take.
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
    """The p-value of an example on which all old runs say one thing and all new ones another."""
    return Fraction(2 if n_old == n_new else 1, all_splits(n_old, n_new))


def adjusted(counts: Mapping[int, int], *, n_old: int, n_new: int) -> dict[float, float]:
    """The false discovery rate at which each p-value would just count.

    Args:
        counts: As for `discover`.
        n_old: Runs of the old version.
        n_new: Runs of the new version.

    Returns:
        Adjusted p-values (q-values), by p-value.
    """
    total, n_tested = all_splits(n_old, n_new), sum(counts.values())
    found: dict[float, float] = {}
    least, so_far = Fraction(1), n_tested
    for numerator in sorted(counts, reverse=True):
        least = min(least, Fraction(numerator * n_tested, so_far * total))
        found[numerator / total] = float(least)
        so_far -= counts[numerator]
    return found
