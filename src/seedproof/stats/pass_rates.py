"""Intervals of a pass rate that stay valid however often they are looked at.

Trials of a flaky test accumulate over test runs, and each run looks at all of them. A plain
interval would exclude the truth sooner or later. These come from bets: to test that the rate is at
most m, a share u of the capital is bet on a pass, at odds that are fair if the rate is m. A pass
multiplies the capital by 1 + u (1 − m) / m and a failure by 1 − u. If the rate is at most m, no bet
gains on average, so that the capital ever reaches 1 / tail with a probability of at most `tail`
(Ville 1939). The capital is split over many u, and the lower end of the interval is the largest m
at which it has reached 1 / tail. It falls with m for each u, so that the ends are unique, and the
interval and the test at a limit always agree. For the upper end, passes and failures swap roles.

The same holds for scores from 0 to 1 with their sum in place of the passes, because a bet on a
score gains at least the weighted geometric mean of both factors (Waudby-Smith and Ramdas 2024, JRSS
B 86:1). For scores that vary little the interval is wider than needed, never too narrow.
"""

from functools import partial
from math import cos, exp, inf, log, log1p, pi
from typing import Literal, NamedTuple, TypeAlias

from seedproof.stats.roots import bracketed_root

Verdict: TypeAlias = Literal["passed", "failed", "undecided"]

# Share of the time outside on each side, as for all 95 % intervals.
TAIL = 0.025
# Shares of the capital: the nodes of the arcsine distribution, dense near 0 for rates near the
# limit and near 1 for rates far from it. Every choice is valid; this one decides soon for both.
N_BETS = 48
# Capital that is bet as a whole, which is best for tests that always pass: of a limit of 0.9, 43
# trials show it instead of 47, and others need a twentieth more.
ALL_IN = 0.2
BETS = [
    ((1 - cos((2 * k + 1) * pi / (2 * N_BETS))) / 2, log((1 - ALL_IN) / N_BETS))
    for k in range(N_BETS)
]
# Forecasts end here.
MOST_TRIALS = 10_000


class RateInterval(NamedTuple):
    """The ends of an interval of a rate."""

    low: float
    high: float


def rate_interval(total: float, n: int, *, tail: float = TAIL) -> RateInterval:
    """Return the interval of a rate, valid at all numbers of trials simultaneously.

    Args:
        total: Number of trials that passed, or the sum of scores from 0 to 1.
        n: Number of trials.
        tail: Probability that the rate is ever below the interval, and ever above it.

    Returns:
        Both ends, from 0 to 1.

    Raises:
        ValueError: The total is not from 0 to `n`.

    >>> rate_interval(24, 24).low > 0.8
    True
    """
    if not 0 <= total <= n:
        raise ValueError(f"the total must be from 0 to {n}, got {total}")
    return RateInterval(_lowest(total, n - total, tail), 1 - _lowest(n - total, total, tail))


def judge(total: float, n: int, least: float, *, tail: float = TAIL) -> Verdict:
    """Return whether a rate is shown to reach a limit, or to be below it.

    The probability of ever deciding wrongly is at most `tail`, over all looks together.
    """
    needed = -log(tail)
    if log_capital(total, n - total, least) >= needed:
        return "passed"
    if log_capital(n - total, total, 1 - least) >= needed:
        return "failed"
    return "undecided"


def trials_until_decided(rate: float, n: int, least: float) -> int | None:
    """Return how many more trials decide, if the rate stays; None if more than 10,000 in all."""

    def is_decided(n_trials: int) -> bool:
        return judge(min(rate * n_trials, n_trials), n_trials, least) != "undecided"

    if not is_decided(MOST_TRIALS):
        return None
    below, enough = n, MOST_TRIALS
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if is_decided(middle) else (middle, enough)
    return enough - n


def log_capital(total: float, rest: float, limit: float) -> float:
    """Return the logarithm of the capital of bets against a rate of at most `limit`.

    Args:
        total: Number of passes, or the sum of scores.
        rest: Number of failures, or the sum of what scores lack to 1.
        limit: The rate that is tested, above 0.

    Returns:
        The logarithm, for a capital of 1 at the beginning.
    """
    odds = (1 - limit) / limit
    logs = [weight + total * log1p(share * odds) + rest * log1p(-share) for share, weight in BETS]
    if rest == 0:  # a single failure loses what is bet as a whole
        logs.append(log(ALL_IN) - total * log(limit))
    largest = max(logs)
    return largest + log(sum(exp(value - largest) for value in logs))


def _lowest(total: float, rest: float, tail: float) -> float:
    """Return the largest rate that is excluded from below; 0 if none is."""
    if total <= 0:
        return 0.0
    excess = partial(_excess, total, rest, tail)
    low = 1e-9
    if excess(low) <= 0:
        return 0.0
    # No bet gains if the rate that is tested is the one that was seen.
    return bracketed_root(excess, low, max(total / (total + rest), 2 * low))


def _excess(total: float, rest: float, tail: float, limit: float) -> float:
    value = log_capital(total, rest, limit) + log(tail)
    return value if value < inf else 1e300
