"""Metrics of the user's own."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.measurement.extra import checked_functions

LABELS = np.array([0, 1, 1, 0, 1, 0])
PREDICTIONS = np.array([[0, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]])


def accuracy(labels, predictions):
    """Share of right answers."""
    return np.mean(labels == predictions)


def test_metric_has_mean_spread_and_values_per_run():
    """The same as scikit-learn on each run; its interval is over runs alone."""
    report = sp.measure(PREDICTIONS, labels=LABELS, extra={"kappa": cohen_kappa_score})

    by_run = [cohen_kappa_score(LABELS, run) for run in PREDICTIONS]
    assert report["kappa"].value == pytest.approx(np.mean(by_run))
    assert report["kappa"].over == "runs"
    assert report["kappa_sd"].value == pytest.approx(np.std(by_run, ddof=1))
    np.testing.assert_allclose(report.measurement.detail["kappa_by_run"], by_run)
    assert report.measurement.notes[-1].fields["names"] == ("kappa",)


def test_interval_may_be_below_zero():
    """Unlike those of shares."""
    report = sp.measure(PREDICTIONS, labels=LABELS, extra={"loss": lambda y, p: -accuracy(y, p)})

    accuracies = [accuracy(LABELS, run) for run in PREDICTIONS]
    assert report["loss"].value == pytest.approx(-np.mean(accuracies))
    assert report["loss"].low < report["loss"].value < report["loss"].high
    assert report["loss"].low < 0


def test_classes_are_integers_if_their_names_are():
    """So `f1_score` finds its positive class, 1."""
    report = sp.measure(PREDICTIONS, labels=LABELS, extra={"f1": f1_score})

    expected = np.mean([f1_score(LABELS, run) for run in PREDICTIONS])
    assert report["f1"].value == pytest.approx(expected)


def test_classes_are_names_if_they_have_names():
    """The user's own, for labels and predictions."""
    names, seen = np.array(["no", "yes"]), []

    def noted(labels, predictions):
        seen.append((labels.tolist(), predictions.tolist()))
        return 1.0

    sp.measure(names[PREDICTIONS], labels=names[LABELS], extra={"noted": noted})

    assert seen == [(names[LABELS].tolist(), names[run].tolist()) for run in PREDICTIONS]


def test_probabilities_are_measured_by_their_predictions():
    probs = np.eye(2)[PREDICTIONS] * 0.4 + 0.3

    report = sp.measure(probs, labels=LABELS, extra={"own": accuracy})

    assert report["own"].value == pytest.approx(report["accuracy"].value)


def test_only_labeled_examples_are_passed():
    """As for the accuracy."""
    labels = np.array([0, -1, 1, 0, -1, 0])

    report = sp.measure(PREDICTIONS, labels=labels, extra={"own": accuracy})

    assert report["own"].value == pytest.approx(report["accuracy"].value)


def test_labels_are_none_if_there_are_none():
    """A metric of predictions alone needs no labels."""
    report = sp.measure(
        PREDICTIONS, extra={"positive": lambda y, p: np.mean(p) if y is None else np.nan}
    )

    assert report["positive"].value == pytest.approx(PREDICTIONS.mean())


@pytest.mark.parametrize(
    "extra",
    [
        {"not a name": accuracy},
        {"": accuracy},
        {"accuracy": accuracy},  # taken
        {"ece_sd": accuracy},
        {"nll": accuracy},
        {"explanation_js": accuracy},
        {"own": accuracy, "own_sd": accuracy},  # its own spread
        {"own": 3},
    ],
)
def test_unusable_names_and_values_are_refused(extra):
    with pytest.raises(OptionError) as caught:
        checked_functions(extra)

    assert caught.value.fields["name"] == next(iter(extra))


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "1", [1.0, 2.0], 1j])
def test_results_that_are_no_finite_number_are_refused(value):
    """With the run."""
    with pytest.raises(OptionError) as caught:
        sp.measure(PREDICTIONS, labels=LABELS, runs=list("xyz"), extra={"own": lambda *_: value})

    assert (caught.value.fields["name"], caught.value.fields["run"]) == ("own", "x")


def test_failing_function_is_reported_with_run_and_error():
    def fail(_labels, predictions):
        if predictions.sum() < 3:
            raise ZeroDivisionError
        return 1.0

    with pytest.raises(OptionError) as caught:
        sp.measure(PREDICTIONS, labels=LABELS, runs=list("xyz"), extra={"own": fail})

    assert (caught.value.fields["run"], caught.value.fields["type_name"]) == (
        "y",
        "ZeroDivisionError",
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
