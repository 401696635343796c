"""Every sentence is no stronger than what was computed."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.metrics.confidence import AGREEMENTS
from seedproof.report.figures import build_figures, section_titles
from seedproof.report.sentences import drift, followed, headline, limits, sentences


def _flipping(n_runs, n_examples, n_flips):
    """Runs that each differ from all others on some examples of their own."""
    predictions = np.zeros((n_runs, n_examples), dtype=int)
    for run in range(n_runs):
        predictions[run, run * n_flips : (run + 1) * n_flips] = 1
    return predictions


def _accuracy(report):
    """The message on accuracy."""
    (message,) = next(s.messages for s in sentences(report.measurement) if s.topic == "Accuracy")
    return message


@pytest.mark.parametrize(
    ("n_examples", "n_flips", "code", "fields"),
    [
        (1000, 0, "no-answer-changed", {}),
        (1000, 100, "answers-changed", {"n_changed": 20, "per": 100}),
        (200_000, 50, "answers-changed", {"n_changed": 5, "per": 10_000}),
    ],
)
def test_the_headline_is_as_sharp_as_its_interval(n_examples, n_flips, code, fields):
    """Six runs, each alone with so many answers: two runs differ on twice as many."""
    message = headline(sp.measure(_flipping(6, n_examples, n_flips)).measurement)

    assert (message.code, message.fields) == (code, fields)


def test_one_odd_run_makes_the_headline_vague():
    """Whether the next run is odd too, six runs cannot know."""
    predictions = _flipping(6, 1000, 0)
    predictions[0, :600] = 1

    report = sp.measure(predictions)
    message, flips = headline(report.measurement), report["flip_rate"]

    assert message.code == "answers-changed-roughly"
    assert (message.fields["low"], message.fields["high"]) == (
        round(100 * flips.low),
        round(100 * flips.high),
    )


def test_rare_flips_are_not_rounded_up():
    """One flip in a million answers is not one in a thousand."""
    message = headline(sp.measure(_flipping(50, 100_000, 1)).measurement)

    assert message.fields["per"] == 100_000


def test_equal_accuracies_are_called_equal():
    """Runs that err on different examples equally often have no spread to explain."""
    predictions = np.zeros((6, 60), dtype=int)
    for run in range(6):
        predictions[run, run] = 1

    report = sp.measure(predictions, labels=np.zeros(60, dtype=int))

    assert _accuracy(report).code == "accuracies-equal"
    assert _accuracy(report).fields["n_runs"] == 6


@pytest.mark.parametrize(
    ("reach", "code"),
    [
        (0.5, "accuracy-spread-from-runs"),
        (0.8, "accuracy-spread-from-drift-and-runs"),
        (1.6, "accuracy-spread-from-drift"),
    ],
)
def test_a_drift_that_does_not_explain_the_accuracies_is_not_blamed(reach, code):
    """The noise of the runs moves a lot, thresholds a little, more, and most."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=3000)
    labels = (truth > 0).astype(int)
    noise = np.linspace(0.1, 1.2, 10)
    shift = rng.permutation(np.linspace(-reach, reach, 10))
    scores = truth + noise[:, None] * rng.normal(size=(10, 3000)) + shift[:, None]

    report = sp.measure((scores > 0).astype(int), labels=labels)

    assert _accuracy(report).code == code


def test_whose_probability_is_followed_is_said():
    """All, some or no labels are three different things."""
    probs = np.full((3, 4, 2), 0.5)

    codes = [
        followed(sp.measure(probs, labels=labels).measurement).code
        for labels in ([0, 1, 0, 1], [0, -1, -1, -1], None)
    ]

    assert codes == ["gold-class", "gold-class-or-consensus", "consensus"]


@pytest.mark.parametrize(
    ("n_runs", "codes"),
    [
        (2, ["two-runs", "no-probabilities"]),
        (7, ["few-runs", "no-probabilities"]),
        (8, ["no-probabilities"]),
    ],
)
def test_few_runs_are_noted(n_runs, codes):
    """With fewer than eight runs there is advice to make more."""
    report = sp.measure(_flipping(n_runs, 50, 5), labels=np.zeros(50, dtype=int))

    assert [message.code for message in limits(report.measurement)] == codes


def test_missing_labels_are_noted():
    """What is left out without them is said."""
    found = limits(sp.measure(np.full((8, 4, 2), 0.5)).measurement)

    assert [message.code for message in found] == ["no-labels"]


def test_titles_claim_no_difference_that_chance_explains():
    """Independent noise: neither the accuracies nor the calibration get a verdict."""
    rng = np.random.default_rng(6)
    logits = 2 * rng.normal(size=(1, 800, 2)) + 0.3 * rng.normal(size=(6, 800, 2))
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    labels = (rng.random(800) < probs[0, :, 1]).astype(int)
    report = sp.measure(probs, labels=labels)

    titles = section_titles(report.measurement, build_figures(report.measurement))

    assert titles["Accuracy"].code == "accuracy-spread-within-chance"
    assert titles["Accuracy"].fields == {"n_runs": 6}
    assert titles["Calibration"].code == "calibration-error-range"


def test_unanimous_examples_have_a_bar_of_their_own():
    """A split of 49 to 1 is not agreement, however small its entropy."""
    predictions = np.zeros((50, 1000), dtype=int)
    predictions[0, :400] = 7
    measurement = sp.measure(predictions, classes=[str(i) for i in range(20)]).measurement

    votes = next(figure for figure in build_figures(measurement) if figure.name == "votes")

    counts = {row["group"]: row["count"] for row in votes.rows}
    assert counts == {AGREEMENTS[0]: 600, AGREEMENTS[1]: 400}


def test_the_drifting_class_is_the_second_of_two():
    """Runs give it to one, two and four of four examples."""
    found = sp.measure([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]], classes=["no", "yes"])

    name, shares = drift(found.measurement)

    assert name == "yes"
    assert shares.tolist() == [0.25, 0.5, 1.0]
