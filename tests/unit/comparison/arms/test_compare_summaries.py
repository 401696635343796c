"""Saved reports against a baseline."""

from types import SimpleNamespace

import pytest

from seedproof.comparison.arms.compare_summaries import compare_summaries
from seedproof.errors import MissingExampleError, OptionError
from seedproof.stats.intervals import Estimate
from seedproof.testing.errors import WithFields

BOTH = "runs × examples"


def report(n_runs=10, n_examples=100, kind="probs", **metrics):
    """Return the attributes of a measurement that a comparison of reports needs."""
    return SimpleNamespace(
        explanations={},
        n_runs=n_runs,
        n_examples=n_examples,
        n_labeled=n_examples,
        metrics=metrics,
        checks=(),
        kind=kind,
        repeats="runs",
        levels={},
        weights=None,
    )


def test_half_widths_add_as_squares_on_the_log_scale():
    """4 [2, 8] against 1 [0.5, 2] %: both are ×2 wide, so their ratio is ×2^√2 wide."""
    base = report(flip_rate=Estimate(0.01, 0.005, 0.02, BOTH))
    arm = report(flip_rate=Estimate(0.04, 0.02, 0.08, BOTH))

    effect = compare_summaries({"base": base, "arm": arm}).arms[0].effects["flip_rate"]

    assert effect.value == pytest.approx(4.0)
    assert (effect.low, effect.high) == pytest.approx((4 / 2**2**0.5, 4 * 2**2**0.5))
    assert effect.verdict == "less steady"


@pytest.mark.parametrize(
    ("metric", "base", "arm", "n_runs"),
    [
        # Entropies grow with the number of runs.
        ("label_entropy", Estimate(0.2, 0.1, 0.3, BOTH), Estimate(0.2, 0.1, 0.3, BOTH), 5),
        # Both intervals may reach 0.
        (
            "accuracy_sd_excess",
            Estimate(0.01, 0.0, 0.02, "runs"),
            Estimate(0.0, 0.0, 0.0, "runs"),
            10,
        ),
    ],
)
def test_figures_without_a_meaningful_ratio_are_not_compared(metric, base, arm, n_runs):
    """Entropies of different numbers of runs, and excess spreads."""
    reports = {"base": report(**{metric: base}), "arm": report(n_runs, **{metric: arm})}

    effect = compare_summaries(reports).arms[0].effects[metric]

    assert (effect.value, effect.verdict) == (None, "not tested")


def test_reports_of_other_examples_are_refused():
    """With both numbers."""
    first = {"name": "base", "n_examples": 100, "n_labeled": 100}
    second = {"other_name": "arm", "other_n_examples": 99, "other_n_labeled": 99}
    with pytest.raises(MissingExampleError, check=WithFields(**first, **second)):
        compare_summaries({"base": report(), "arm": report(n_examples=99)})


@pytest.mark.parametrize("kind", ["numbers", "rankings", "sets", "texts"])
def test_reports_of_other_answers_are_refused(kind):
    """Classes with and without probabilities are of one kind."""
    fields = {"answers": "classes", "other_answers": kind}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        compare_summaries({"base": report(), "arm": report(kind=kind)})
    estimate = Estimate(0.1, 0.05, 0.2, BOTH)
    both = {"base": report(flip_rate=estimate), "arm": report(kind="labels", flip_rate=estimate)}
    assert compare_summaries(both).primary == "flip_rate"


def test_a_report_alone_and_a_gold_standard_are_refused():
    """Both need more data."""
    with pytest.raises(OptionError, check=WithFields(n_reports=1)):
        compare_summaries({"base": report()})
    with pytest.raises(OptionError, check=WithFields(option="--gold")):
        compare_summaries({"base": report(), "arm": report()}, reference="arm")
