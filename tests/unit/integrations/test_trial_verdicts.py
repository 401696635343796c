"""Verdicts on repeated tests: the interval, what changed, and what was accepted."""

import numpy as np
import pytest

from seedproof.integrations.trial_records import (
    Counts,
    Evidence,
    NewTrials,
    Pooled,
    ScoreSum,
    TestRun,
    TrialOutcome,
    TrialStore,
)
from seedproof.integrations.trial_verdicts import TestVerdict
from seedproof.stats.pass_rates import judge, rate_interval


def verdict(passed, n, *, least=0.8, accepted=None, is_repeated=False, recent=(), **evidence):
    """Return the verdict on trials."""
    runs = tuple(TestRun(*run) for run in recent)
    pooled = Pooled(
        Evidence(n, passed, recent=runs, **evidence),
        accepted,
        is_repeated=is_repeated,
        has_other_code=False,
    )
    return TestVerdict(least, pooled)


@pytest.mark.parametrize(
    ("passed", "n", "expected"),
    [(21, 21, "passed"), (20, 20, "undecided"), (0, 8, "failed"), (80, 100, "undecided")],
)
def test_interval_decides(passed, n, expected):
    result = verdict(passed, n)

    assert result.verdict == expected
    assert result.interval == rate_interval(passed, n)
    assert result.rate == passed / n


def test_latest_test_runs_that_show_the_opposite_leave_it_undecided():
    """A thousand passes do not hide that half of the latest 32 trials failed."""
    recent = ((8, 8),) * 4 + ((4, 8),) * 4

    assert verdict(1000, 1016, recent=recent[:-1]).verdict == "passed"
    changed = verdict(1000, 1016, recent=recent)
    assert (changed.verdict, changed.latest) == ("undecided", (16, 32))


def test_test_that_was_repaired_outside_of_the_code_is_undecided():
    recent = ((0, 8), (24, 24))

    assert verdict(24, 124, recent=recent).verdict == "undecided"
    assert verdict(24, 124, recent=recent[:1]).verdict == "failed"


@pytest.mark.parametrize(
    "recent", [((600, 600), (0, 8)), ((100, 100), (4, 8), (0, 8)), ((40, 50), (0, 8))]
)
def test_latest_test_runs_that_clearly_fail_are_not_hidden_by_earlier_ones(recent):
    passed, n = (sum(column) for column in zip(*recent, strict=True))

    result = verdict(passed, n, recent=recent, test_runs=len(recent))

    assert result.verdict == "failed"
    assert result.latest == (0, 8)


@pytest.mark.full
def test_latest_test_runs_rarely_fail_a_rate_that_never_falls():
    """Each of 200 test runs may be the first after a change; at most 2.5 % more are wrong."""
    rng, n_histories, n_failed = np.random.default_rng(0), 100, 0
    for _ in range(n_histories):
        passes = rng.binomial(8, 0.8, size=200)
        for end in range(8, 201, 8):
            recent = tuple((int(passed), 8) for passed in passes[max(end - 64, 0) : end])
            result = verdict(int(passes[:end].sum()), 8 * end, recent=recent, test_runs=end)
            if result.verdict == "failed":
                n_failed += 1
                break

    assert n_failed <= 0.05 * n_histories


def test_repeated_test_runs_do_not_pass_and_still_fail():
    assert verdict(100, 100, is_repeated=True).verdict == "undecided"
    assert verdict(10, 100, is_repeated=True).verdict == "failed"


@pytest.mark.parametrize("passed", range(9))
def test_copies_decide_nothing_that_the_distinct_trials_leave_open(tmp_path, passed):
    """Eight trials with fixed seeds, in 30 test runs: the interval stays that of eight."""
    trials = NewTrials({number: TrialOutcome(number < passed) for number in range(8)})
    store = TrialStore(tmp_path, "a")
    alone = judge(passed, 8, 0.8)

    for _ in range(30):
        result = TestVerdict(0.8, store.update({"test": trials})["test"])

        assert result.verdict in {alone, "undecided"}
        low, high = rate_interval(passed, 8)
        assert result.interval.low <= low
        assert high <= result.interval.high


def test_fixed_seeds_rarely_pass_a_rate_below_the_required_one():
    """Eight fixed seeds all pass in one of six cases, and never pass the test in 20 test runs."""
    recent = ((8, 8), *((8, 8, True),) * 19)

    result = verdict(160, 160, test_runs=20, copies=Counts(152, 152), recent=recent)

    assert (result.verdict, result.interval) == ("undecided", rate_interval(8, 8))
    assert dict(result.properties())["trials_possibly_copied"] == 152


def test_copies_of_failures_do_not_fail_the_latest_test_runs():
    recent = (*((8, 8),) * 5, (4, 8), *((4, 8, True),) * 14)

    copied = verdict(860, 920, test_runs=115, copies=Counts(112, 56), recent=recent)
    new = verdict(860, 920, test_runs=115, recent=[run[:2] for run in recent])

    assert (copied.verdict, new.verdict) == ("passed", "failed")


def test_intervals_of_scores_include_those_of_distinct_trials():
    copies = Counts(80, 80, {"score": ScoreSum(80, 40.0)})

    figures = verdict(90, 90, scores={"score": ScoreSum(90, 45.0)}, copies=copies).properties()

    low, high = rate_interval(5.0, 10)
    assert dict(figures)["score_low"] == pytest.approx(low, abs=1e-6)
    assert dict(figures)["score_high"] == pytest.approx(high, abs=1e-6)


@pytest.mark.parametrize(
    ("passed", "change"), [(100, "better"), (50, None), (60, None), (5, "worse")]
)
def test_change_is_shown_if_intervals_do_not_overlap(passed, change):
    result = verdict(passed, 100, accepted=Evidence(100, 50))

    assert result.change == change
    assert dict(result.properties())["change"] == (change or "none")


def test_properties_have_scores_on_their_scale():
    score = ScoreSum(10, 7.5, 1.0, 5.0)
    low, high = rate_interval(7.5, 10)

    figures = dict(verdict(10, 10, scores={"rating (1 to 5)": score}).properties())

    assert figures["rating (1 to 5)"] == 4.0
    assert figures["rating (1 to 5)_low"] == pytest.approx(1 + 4 * low, abs=1e-6)
    assert figures["rating (1 to 5)_high"] == pytest.approx(1 + 4 * high, abs=1e-6)


@pytest.mark.parametrize("passed", [0, 5, 8])
def test_every_rate_is_shown_with_its_interval(passed):
    first, *_ = verdict(passed, 8, least=0.3).sentences()

    low, high = rate_interval(passed, 8)
    assert f"{100 * passed / 8:.1f} % [{100 * low:.1f}, {100 * high:.1f}]" in first
