"""Limits of single numbers per run with a long tail: cautions, and medians in their place."""

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import OptionError, UnknownNameError

EVEN = np.linspace(0.8, 1.0, 10)
# One run in ten is bad.
TAIL = np.append(np.linspace(0.9, 1.0, 9), 0.1)


def table(values):
    return pa.table({"seed": list(range(len(values))), "reward": values})


def gate(values, **options):
    return sp.gate(table(np.asarray(values)), declared_runs=len(values), **options)


@pytest.mark.parametrize(
    ("values", "rule", "outcome", "has_caution"),
    [
        (TAIL, {"min": {"reward": 0.5}}, "pass", True),
        (EVEN, {"min": {"reward": 0.5}}, "pass", False),
        # The tail is on the side of the limit that is safe.
        (1 - TAIL, {"min": {"reward": -0.5}}, "pass", False),
        (1 - TAIL, {"max": {"reward": 0.5}}, "pass", True),
        (1 - TAIL, {"min": {"reward": 0.5}}, "fail", True),
        (TAIL, {"min": {"reward": 0.8}}, "investigate", False),
        # The interval of a median assumes nothing.
        (TAIL, {"min": {"reward_median": 0.5}}, "pass", False),
    ],
)
def test_caution_names_the_skewness_where_a_tail_makes_a_verdict_doubtful(
    values, rule, outcome, has_caution
):
    (verdict,) = gate(values, **rule).rules

    assert verdict.outcome == outcome
    assert (verdict.caution is not None) == has_caution
    if verdict.caution is not None:
        assert abs(verdict.caution.fields["skewness"]) > 2
        assert (verdict.caution.fields["share"], verdict.caution.fields["nominal"]) == (16, 2.5)


@pytest.mark.parametrize(("n_runs", "is_noted"), [(10, True), (11, False)])
def test_few_runs_may_hide_a_tail(n_runs, is_noted):
    report = gate(np.linspace(0.8, 1.0, n_runs), min={"reward": 0.5})

    assert ("assumed-tails" in [note.code for note in report.result.notes]) == is_noted


def test_caution_is_in_every_text():
    report = gate(TAIL, min={"reward": 0.5})
    caution = report.rules[0].caution
    assert caution is not None
    words = f"skewness of {caution.fields['skewness']:+.1f}"
    texts = report.summary()["rules"][0]["text"], report.to_markdown(), report.to_junit()

    assert all(words in text for text in texts)


def test_caution_next_to_the_accuracy_of_runs_with_examples():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    wrong = rng.random((10, 400)) < np.where(np.arange(10) == 4, 0.6, 0.05)[:, np.newaxis]
    options = {"labels": labels, "min": {"accuracy": 0.4}, "allow": ["outlier-run"]}
    skewed = sp.gate(np.where(wrong, 3, labels), declared_runs=10, **options)
    even = sp.gate(
        np.where(wrong[[*range(4), *range(5, 10)]], 3, labels), declared_runs=9, **options
    )

    assert (skewed.outcome, skewed.rules[0].caution is not None) == ("pass", True)
    assert (even.outcome, even.rules[0].caution) == ("pass", None)


def test_median_is_not_compared_with_a_baseline():
    with pytest.raises(OptionError):
        gate(TAIL, no_worse={"reward_median": 0.1}, baseline=table(EVEN))


def test_median_of_an_unknown_metric_is_refused():
    with pytest.raises(UnknownNameError):
        gate(TAIL, min={"return_median": 0.1})


def test_runs_that_are_all_equal_show_no_interval():
    """Another metric varies, so that they are no copies."""
    runs = pa.table({"seed": list(range(6)), "reward": [0.9] * 6, "loss": EVEN[:6]})
    (verdict, *_) = sp.gate(runs, min={"reward": 0.5, "loss": 0.1}, declared_runs=6).rules

    assert (verdict.outcome, verdict.reason) == ("investigate", "no interval")
