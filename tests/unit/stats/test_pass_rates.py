"""Pass rates under repeated looks: exact error rates, and intervals that agree with verdicts."""

from math import comb, exp, fsum, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.stats.pass_rates import (
    ALL_IN,
    BETS,
    TAIL,
    judge,
    log_capital,
    rate_interval,
    trials_until_decided,
)

LIMITS = (0.05, 0.5, 0.8, 0.95)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("n", [1, 7, 40])
def test_bets_gain_nothing_on_average_at_the_limit(limit, n):
    """The mean over all outcomes is computed exactly: what Ville's inequality needs."""
    mean = fsum(
        comb(n, passed)
        * limit**passed
        * (1 - limit) ** (n - passed)
        * exp(log_capital(passed, n - passed, limit))
        for passed in range(n + 1)
    )

    assert mean == pytest.approx(1.0, rel=1e-9)


def ever_judged(verdict, rate, limit, *, step, n_looks):
    """Return the exact probability that a verdict is given at any look."""
    binomial = np.array([1.0])
    for _ in range(step):
        binomial = np.convolve(binomial, [1 - rate, rate])
    never, ever = np.array([1.0]), 0.0
    for n in range(step, step * n_looks + 1, step):
        never = np.convolve(never, binomial)
        for passed in np.flatnonzero(never > 1e-14):
            if judge(int(passed), n, limit) == verdict:
                ever += never[passed]
                never[passed] = 0.0
    return ever


@pytest.mark.parametrize("limit", [0.3, 0.8])
@pytest.mark.parametrize("step", [1, 8])
def test_probability_of_ever_being_wrong_is_at_most_the_tail(limit, step):
    """Also if each trial is looked at; at the limit itself only a failure is wrong."""
    failed = ever_judged("failed", limit, limit, step=step, n_looks=60)
    passed = ever_judged("passed", limit - 1e-9, limit, step=step, n_looks=60)

    assert 0 < failed <= TAIL
    assert 0 < passed <= TAIL


def test_plain_intervals_would_be_wrong_too_often():
    """An exact binomial test at each look errs several times as often as its level."""
    rate, step, n_looks = 0.8, 8, 60
    open_paths, wrong = np.array([1.0]), 0.0
    binomial = np.array([comb(step, k) * rate**k * (1 - rate) ** (step - k) for k in range(9)])
    for n in range(step, step * n_looks + 1, step):
        open_paths = np.convolve(open_paths, binomial)
        pmf = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
        is_low = np.cumsum(pmf) <= TAIL
        wrong += open_paths[is_low].sum()
        open_paths[is_low] = 0.0

    assert wrong > 2 * TAIL
    assert ever_judged("failed", rate, rate, step=step, n_looks=n_looks) <= TAIL


@given(
    n=st.integers(1, 300), share=st.floats(0, 1), limit=st.floats(0.01, 0.99), whole=st.booleans()
)
def test_verdict_is_the_side_of_the_interval(n, share, limit, whole):
    total = round(share * n) if whole else share * n
    low, high = rate_interval(total, n)

    verdict = judge(total, n, limit)

    assert 0 <= low <= total / n <= high <= 1
    if abs(limit - low) > 1e-9 and abs(limit - high) > 1e-9:  # the precision of the ends
        sides = {(True, False): "passed", (False, True): "failed", (False, False): "undecided"}
        assert verdict == sides[low >= limit, high < limit]


@given(n=st.integers(1, 200), data=st.data())
def test_passes_and_failures_are_mirrored(n, data):
    passed = data.draw(st.integers(0, n))
    low, high = rate_interval(passed, n)

    mirrored = rate_interval(n - passed, n)

    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=12), limit=st.floats(0.05, 0.95))
def test_sum_of_scores_never_claims_more_than_bets_on_each(scores, limit):
    """The bets on scores themselves are fair, so what is not above them is valid."""
    capital = fsum(
        exp(weight) * prod(1 + share / limit * (score - limit) for score in scores)
        for share, weight in BETS
    ) + ALL_IN * prod(1 + (score - limit) / limit for score in scores)
    total = min(fsum(scores), len(scores))

    claimed = log_capital(total, len(scores) - total, limit)

    assert claimed <= log(capital) + 1e-9


@pytest.mark.parametrize(("limit", "n"), [(0.5, 7), (0.8, 21), (0.9, 43), (0.95, 89)])
def test_trials_until_a_test_that_always_passes_is_decided(limit, n):
    """The figures of the docs."""
    assert trials_until_decided(1.0, 0, limit) == n
    assert judge(n, n, limit) == "passed"
    assert judge(n - 1, n - 1, limit) == "undecided"


def test_rate_at_the_limit_is_never_decided():
    assert trials_until_decided(0.8, 10, 0.8) is None


def test_impossible_totals_are_refused():
    with pytest.raises(ValueError):
        rate_interval(3, 2)
