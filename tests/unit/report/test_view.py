"""Every sentence has a condition, and the weaker one is said where it fails."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.report.numbers import bracketed, number
from seedproof.report.sentences import limits
from seedproof.stats.intervals import Estimate
from seedproof.testing.errors import WithFields


def _said(values, topic, **options):
    """The one message on a topic."""
    sentences = sp.measure(values, **options).view().sentences
    (message,) = next(sentence.messages for sentence in sentences if sentence.topic == topic)
    return message


def _drifting(rng, n_examples=2000):
    """Ten runs that share their scores and differ in the threshold alone."""
    scores = rng.normal(size=n_examples)
    labels = (scores + rng.normal(size=n_examples) > 0).astype(int)
    thresholds = np.linspace(-0.8, 0.8, 10)
    return (scores > thresholds[:, None]).astype(int), labels


def test_drift_is_named_with_its_range():
    """Where net flips are most of the flips, the class shares are to blame."""
    predictions, labels = _drifting(np.random.default_rng(1))

    message = _said(predictions, "Accuracy", labels=labels)

    assert message.code == "accuracy-spread-from-drift"
    drift, shares = message.fields["drift"].fields, predictions.mean(axis=1)
    assert drift["class_name"] == "1"
    ends = [drift["low"].value, drift["high"].value]
    assert ends == pytest.approx([shares.min(), shares.max()])  # the same sums in another order


def test_good_and_bad_runs_are_named_where_nothing_drifts():
    """Runs whose error rates differ, with errors on both sides alike."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 3000)
    rates = np.linspace(0.02, 0.35, 10)
    wrong = rng.random((10, 3000)) < rates[:, None]

    message = _said(np.where(wrong, 1 - labels, labels), "Accuracy", labels=labels)

    assert message.code == "accuracy-spread-from-runs"


def test_no_verdict_on_a_spread_that_chance_explains():
    """Independent flips: the sentence claims nothing more."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 2000)
    wrong = rng.random((10, 2000)) < 0.1

    message = _said(np.where(wrong, 1 - labels, labels), "Accuracy", labels=labels)

    assert message.code == "accuracy-spread-within-chance"
    assert message.fields["n_runs"] == 10


def test_few_runs_get_no_verdict():
    """Three runs cannot say what a spread is made of."""
    predictions, labels = _drifting(np.random.default_rng(4))

    message = _said(predictions[:3], "Accuracy", labels=labels)

    assert message.code == "accuracy-spread-of-few-runs"


def test_identical_runs_state_what_could_hide():
    """No flip seen is not no flip: the upper limit is said."""
    predictions, labels = _drifting(np.random.default_rng(5), n_examples=100)

    message = _said(np.stack([predictions[0]] * 4), "Answers", labels=labels)

    assert (message.code, message.fields["n_runs"]) == ("no-prediction-flipped", 4)
    assert message.fields["at_most"].value == pytest.approx(1 - 0.025 ** (1 / 100))


def test_two_runs_say_that_intervals_are_over_examples_only():
    """With one pair of runs nothing is known of other pairs."""
    predictions, labels = _drifting(np.random.default_rng(6))

    found = limits(sp.measure(predictions[[0, 9]], labels=labels).measurement)

    assert found[0].code == "two-runs"


def test_every_note_is_in_the_view():
    """Those of the input first, then what limits the figures."""
    report = sp.measure([[0, 1], [1, 1]])

    expected = (*report.measurement.notes, *limits(report.measurement))
    assert report.view().notes == tuple(map(str, expected))


def test_a_column_that_was_not_carried_cannot_be_shown():
    """A typo in --show is answered with what there is."""
    report = sp.measure([[0, 1], [1, 1]])

    with pytest.raises(ColumnError, check=WithFields(column="txt", known=())):
        report.view(show=["txt"])


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0895, "percent", "8.9"),
        (0.01536, "points", "1.54"),
        (0.0002, "percent", "0.02"),
        (0.0, "percent", "0.0"),
        (0.12345, "nats", "0.123"),
        (-0.5, "nats", "\N{MINUS SIGN}0.500"),
        (0.00004, "probability", "4e-05"),
    ],
)
def test_numbers_have_the_digits_of_their_unit(value, unit, text):
    """Rates have one decimal, points two, the rest three; tiny ones keep a digit."""
    assert number(value, unit) == text


def test_brackets_come_only_with_an_interval():
    """A figure without an interval is shown bare."""
    assert bracketed(Estimate(0.5), "percent") == "50.0\N{NO-BREAK SPACE}%"
    assert bracketed(Estimate(0.5, 0.4, 0.6, "runs"), "percent").endswith("% [40.0, 60.0]")
