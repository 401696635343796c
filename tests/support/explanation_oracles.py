"""Slow, obvious loops over pairs of runs, to check the figures of explanations.

They follow the definitions, one pair and one example at a time, with scipy where it has the
quantity, and share no code with `seedproof.metrics`. An example is a list of runs, each a list of
scores.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np
from scipy.stats import entropy, kendalltau

from seedproof.typing import FloatArray

Scores: TypeAlias = Sequence[float] | FloatArray
Example: TypeAlias = Sequence[Scores] | FloatArray


def slow_weights(scores: Scores) -> list[float]:
    """Share of each token: its magnitude over their sum; equal if all are 0."""
    magnitudes = [abs(float(score)) for score in scores]
    total = math.fsum(magnitudes)
    if total == 0.0:
        return [1 / len(magnitudes)] * len(magnitudes)
    return [magnitude / total for magnitude in magnitudes]


def slow_smoothed(scores: Scores, *, epsilon: float = 1e-10) -> list[float]:
    """Shares with epsilon added, renormalized."""
    raised = [share + epsilon for share in slow_weights(scores)]
    return [share / math.fsum(raised) for share in raised]


def slow_explanation_kl(runs: Example) -> float:
    """Mean of KL(a‖b) over all ordered pairs, by scipy."""
    rows = [slow_smoothed(run) for run in runs]
    return _mean([float(entropy(a, b)) for a, b in permutations(rows, 2)])


def slow_explanation_js(runs: Example) -> float:
    """Entropy of the mean less mean entropy, times R/(R-1), by scipy."""
    rows = [slow_smoothed(run) for run in runs]
    mean = [_mean(list(shares)) for shares in zip(*rows, strict=True)]
    apart = float(entropy(mean)) - _mean([float(entropy(row)) for row in rows])
    return apart * len(rows) / (len(rows) - 1)


def slow_order(scores: Scores) -> list[int]:
    """Tokens from the largest magnitude to the smallest; ties by position."""
    return sorted(range(len(scores)), key=lambda place: (-abs(float(scores[place])), place))


def slow_top(scores: Scores, percent: int) -> set[int]:
    """The top share of the tokens, rounded up."""
    size = math.ceil(Fraction(percent, 100) * len(scores))
    return set(slow_order(scores)[:size])


def slow_jaccard(runs: Example, percent: int) -> float:
    """Mean Jaccard distance of the top tokens over all pairs."""
    tops = [slow_top(run, percent) for run in runs]
    return _mean([1 - len(a & b) / len(a | b) for a, b in combinations(tops, 2)])


def slow_overlap(runs: Example, percent: int) -> float:
    """Mean share of the top tokens that two runs share, over all pairs."""
    tops = [slow_top(run, percent) for run in runs]
    return _mean([len(a & b) / len(a) for a, b in combinations(tops, 2)])


def slow_tau(runs: Example) -> float:
    """Mean of Kendall's tau-b over all pairs, by scipy; runs without any order as documented."""
    return _mean([_tau(a, b) for a, b in combinations(runs, 2)])


def _tau(first: Scores, second: Scores) -> float:
    a, b = np.abs(np.asarray(first)), np.abs(np.asarray(second))
    is_flat = [bool((scores == scores[0]).all()) for scores in (a, b)]
    if any(is_flat):
        return float(all(is_flat))
    return float(kendalltau(a, b, variant="b").statistic)


def slow_rbo(runs: Example, *, persistence: float = 0.9) -> float:
    """Mean extrapolated rank-biased overlap over all pairs."""
    orders = [slow_order(run) for run in runs]
    return _mean([_rbo(a, b, persistence) for a, b in combinations(orders, 2)])


def _rbo(first: list[int], second: list[int], p: float) -> float:
    """Equation 32 of Webber, Moffat and Zobel (2010), for lists of one length."""
    depth = len(first)
    shared = [len(set(first[:d]) & set(second[:d])) for d in range(1, depth + 1)]
    terms = [shared[d - 1] / d * p**d for d in range(1, depth + 1)]
    return shared[-1] / depth * p**depth + (1 - p) / p * math.fsum(terms)


SLOW_FIGURES: dict[str, Callable[[Example], float]] = {
    "explanation_kl": slow_explanation_kl,
    "explanation_js": slow_explanation_js,
    "explanation_jaccard_10": lambda runs: slow_jaccard(runs, 10),
    "explanation_jaccard_20": lambda runs: slow_jaccard(runs, 20),
    "explanation_overlap": lambda runs: slow_overlap(runs, 20),
    "explanation_tau": slow_tau,
    "explanation_rbo": slow_rbo,
}


def slow_noise(runs: Sequence[Example], figure: str) -> float:
    """A figure between the draws of one run, averaged over runs; axes (runs, draws, tokens)."""
    return _mean([SLOW_FIGURES[figure](draws) for draws in runs])


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
