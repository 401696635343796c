"""What is said of one run against the others, and no more than the figures bear."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.measurement.dynamics.pictures import CumulativeCurve, EntropyMap
from seedproof.measurement.dynamics.result import EXAMPLES, DynamicsMeasurement
from seedproof.report import charts
from seedproof.report.dynamics.words import (
    paragraphs,
    reading,
    section_title,
    sentences,
    title,
)
from seedproof.report.figures.dynamics import cumulative_entropy, one_run_map
from seedproof.report.numbers import Correlation
from seedproof.stats.intervals import Estimate

BOTH = "runs × examples"
FOUND = DynamicsMeasurement(
    runs=("0", "1", "2"),
    n_runs=50,
    n_examples=1200,
    n_steps=(100, 100),
    metrics={
        "single_run_entropy": Estimate(0.21, 0.2, 0.22, BOTH),
        "single_run_pearson": Estimate(0.78, 0.74, 0.81, BOTH),
        "single_run_precision": Estimate(0.62, 0.58, 0.66, BOTH),
        "other_runs_pearson": Estimate(0.97, 0.95, 0.98, BOTH),
    },
    by_run={
        "single_run_entropy": np.array([0.2, 0.21, 0.22]),
        "single_run_pearson": np.array([0.75, 0.78, 0.81]),
    },
    least_stable=0.1,
    entropy_map=EntropyMap(
        1.0,
        0.5,
        np.diag(np.arange(20)),
        np.where(np.arange(20) > 0, np.arange(20) / 40, np.nan),
        np.where(np.arange(20) > 5, 0.01, np.nan),
    ),
    curve=CumulativeCurve(
        np.array([1.0, 2.0, 4.0]),
        np.array([0.0, 0.5, 0.2]),
        np.array([0.0, 0.4, 0.1]),
        np.array([0.0, 0.6, 0.3]),
    ),
    examples=EXAMPLES.empty_table(),
)


def other(**metrics):
    """The same with other figures; None leaves one out."""
    changed = {**FOUND.metrics, **metrics}
    return replace(FOUND, metrics={n: value for n, value in changed.items() if value is not None})


def test_sentences_in_full():
    """One run against the others, what others would tell, and what one run finds."""
    agrees, least_stable = sentences(FOUND)

    assert agrees.code == "one-run-agrees"
    assert agrees.fields["pearson"].estimate == FOUND.metrics["single_run_pearson"]
    assert agrees.fields["reference"].estimate == FOUND.metrics["other_runs_pearson"]
    assert agrees.fields["n_others"] == 49
    assert least_stable.code == "least-stable-tenth"
    assert least_stable.fields["precision"].estimate == FOUND.metrics["single_run_precision"]
    assert sentences(None) == ()


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.784, 0.74, 0.812, BOTH), "0.78 [0.74, 0.81]"),
        (Estimate(0.05, -0.02, 0.12, BOTH), "0.05 [−0.02, 0.12]"),
        (Estimate(-0.5), "−0.50"),
    ],
)
def test_correlations_have_two_digits(estimate, text):
    """And a true minus sign."""
    assert str(Correlation(estimate)) == text


def test_an_interval_that_holds_zero_shows_nothing():
    """Nothing is called a relation unless its interval supports it."""
    weak = other(single_run_pearson=Estimate(0.05, -0.02, 0.12, BOTH))

    (message,) = sentences(weak)

    assert message.code == section_title(weak).code == "one-run-not-shown-to-agree"
    assert message.fields["pearson"].estimate == weak.metrics["single_run_pearson"]


def test_what_cannot_be_held_against_others_is_said_so():
    """Two runs, or runs that never disagree."""
    names = [name for name in FOUND.metrics if name != "single_run_entropy"]
    alone = other(**dict.fromkeys(names))

    (message,) = sentences(alone)

    assert message.code == "entropy-within-one-run"
    assert message.fields["entropy"].estimate == FOUND.metrics["single_run_entropy"]
    assert section_title(alone).code == "entropy-over-steps"
    assert paragraphs(alone) == ()
    assert reading(alone) == ()


PART, NEARLY = "one-run-partly-as-good", "one-run-nearly-as-good"
NOT_APART = "one-run-not-distinguished"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (Estimate(0.97, 0.95, 0.98, BOTH), PART),
        (Estimate(0.83, 0.82, 0.84, BOTH), PART),
        (Estimate(0.83, 0.80, 0.86, BOTH), NOT_APART),  # 0.74 is less than 0.9 of 0.86
        (Estimate(0.80, 0.78, 0.82, BOTH), NEARLY),  # 0.74 is at least 0.9 of 0.82
        (Estimate(0.80, 0.60, 0.92, BOTH), NOT_APART),
        (Estimate(0.97), PART),
        (None, "one-run-agrees"),
    ],
)
def test_the_title_is_no_stronger_than_the_intervals(reference, expected):
    """Nearly as much: from nine tenths on. A part: where the intervals do not meet."""
    assert section_title(other(other_runs_pearson=reference)).code == expected


def test_fewer_than_a_tenth_are_told():
    """Where others disagree on 3.2 % of the examples, so many count, and chance finds as many."""
    found = replace(FOUND, least_stable=0.0321)

    message = sentences(found)[1]

    assert message.code == "least-stable-share"
    assert message.fields["percent"] == pytest.approx(3.21)
    assert message.fields["precision"].estimate == FOUND.metrics["single_run_precision"]


def test_words_beside_the_charts():
    """Why a run is left out, what limits it, and how much single runs differ."""
    alone, noisy, spread = paragraphs(FOUND)

    assert alone.code == "run-left-out-of-others"
    assert noisy.code == "noise-of-others"
    assert noisy.fields["reference"].estimate == FOUND.metrics["other_runs_pearson"]
    assert spread.code == "range-over-runs"
    assert [spread.fields[end].estimate.value for end in ("low", "high")] == [0.75, 0.81]


def test_title_counts_runs_examples_and_steps():
    """Runs may have different numbers of steps."""
    assert title(FOUND).fields == {
        "n_traced": 3, "n_examples": 1200, "n_steps": 100, "most_steps": 100,
    }  # fmt: skip
    other_title = title(replace(FOUND, runs=("0",), n_steps=(5, 9)))
    assert other_title.fields["n_traced"] == 1
    assert (other_title.fields["n_steps"], other_title.fields["most_steps"]) == (5, 9)


def test_intervals_over_examples_alone_are_told():
    """Another run may tell more or less."""
    few = other(single_run_pearson=Estimate(0.78, 0.74, 0.81, "examples"))

    assert [message.code for message in reading(few)] == [
        "run-against-others",
        "intervals-over-examples",
    ]
    assert [message.code for message in reading(FOUND)] == ["run-against-others"]


def test_charts_are_valid_and_aggregated(check_spec):
    """As Vega-Lite's schema says; at most a mark a cell and a column, whatever the examples."""
    (drawn,), (curve,) = one_run_map(FOUND), cumulative_entropy(FOUND)

    for figure in (drawn, curve):
        check_spec(figure)
        assert charts.picture(figure, "svg").startswith(b"<svg")
    assert len([row for row in drawn.rows if row["kind"] == "cell"]) == 19
    assert [row["count"] for row in drawn.rows if row["kind"] == "mean"] == list(range(1, 20))
    assert drawn.numbers[0] == ("0.05–0.10", "0.025", "–", "0.3")
    assert drawn.numbers[-1] == ("0.95–1.00", "0.475", "0.455–0.495", "6.3")
    assert curve.takeaway.code == "entropy-falls"
    assert curve.takeaway.fields == {"peak": 0.5, "step": 2.0, "last": 0.2}


@pytest.mark.parametrize(
    ("means", "errors", "code", "fields"),
    [
        # The last column has one example, and no known error: the one before it speaks.
        (
            {0: 0.1, 9: 0.4, 19: 0.9},
            {0: 0.01, 9: 0.02},
            "entropy-of-others-differs",
            {"least": 0.1, "most": 0.4},
        ),
        (
            {0: 0.1, 9: 0.12},
            {0: 0.01, 9: 0.02},
            "entropy-of-others-open",
            {"least": 0.1, "most": 0.12},
        ),
        ({0: 0.1, 19: 0.9}, {0: 0.01}, "too-few-examples", {}),
    ],
)
def test_the_map_says_only_what_is_known(means, errors, code, fields):
    """Columns with a known error alone, and no difference where their bars meet."""
    columns = np.arange(20)
    drawn = EntropyMap(
        1.0,
        0.5,
        np.diag([1 if i in means else 0 for i in columns]),
        np.array([means.get(i, np.nan) for i in columns]),
        np.array([errors.get(i, np.nan) for i in columns]),
    )

    (figure,) = one_run_map(replace(FOUND, entropy_map=drawn))

    assert (figure.takeaway.code, figure.takeaway.fields) == (code, fields)


def test_a_rising_curve_is_not_called_early():
    """Where the last value is the largest, it is what is said."""
    curve = replace(FOUND.curve, mean=np.array([0.0, 0.1, 0.3]))

    (figure,) = cumulative_entropy(replace(FOUND, curve=curve))

    assert figure.takeaway.code == "entropy-at-end"
    assert figure.takeaway.fields == {"last": 0.3, "step": 4.0}
    assert cumulative_entropy(replace(FOUND, curve=None)) == ()
    assert one_run_map(replace(FOUND, entropy_map=None)) == ()
