"""The level of each candidate of a loop, so that few of all keeps are false.

LORD++ (Ramdas et al. 2017, "Online control of the false discovery rate with decaying memory"): a
candidate spends part of an error budget, and every keep earns some of it back. The levels of all
candidates add up to at most the allowed share times the number of keeps. For candidates that are
open at the same time, only keeps that are known when a candidate begins count (Zrnic et al. 2021).
"""

from collections.abc import Sequence
from functools import cache
from math import exp, log, sqrt

# Candidates over which a budget is spent; a loop that keeps none of so many gets no further one.
HORIZON = 1_000
# Share of the budget that is there before the first keep.
AT_FIRST = 0.5


@cache
def _shares() -> tuple[float, ...]:
    """Shares of a budget, of the first candidate after it was earned and of those that follow."""
    # Javanmard & Montanari (2018), Annals of Statistics 46:526.
    weights = [log(max(t, 2)) / (t * exp(sqrt(log(t)))) for t in range(1, HORIZON + 1)]
    return tuple(weight / sum(weights) for weight in weights)


def next_level(n_before: int, keeps: Sequence[int], false_keeps: float) -> float:
    """Return the level of the next candidate.

    `keeps` has the number of candidates that had begun at the time of each keep.
    """
    first = AT_FIRST * false_keeps
    budgets = [first, *(false_keeps - first if k == 0 else false_keeps for k in range(len(keeps)))]
    ages = [n_before - earned for earned in (0, *keeps)]
    pairs = zip(budgets, ages, strict=True)
    return sum(budget * _shares()[age] for budget, age in pairs if age < HORIZON)
