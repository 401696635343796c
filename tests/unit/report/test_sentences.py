"""Every sentence is no stronger than what was computed."""

from dataclasses import replace

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


def _drifting(n_examples=2000):
    """Ten runs that share their scores and differ in the threshold only, with labels."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=n_examples)
    labels = (scores + rng.normal(size=n_examples) > 0).astype(int)
    thresholds = np.linspace(-0.8, 0.8, 10)
    return (scores > thresholds[:, None]).astype(int), labels


def _wrong_at(rates):
    """Ten runs with independent errors at these rates, with labels."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 3000)
    wrong = rng.random((10, 3000)) < np.broadcast_to(rates, 10)[:, None]
    return np.where(wrong, 1 - labels, labels), labels


def _message(topic, predictions, labels=None):
    measurement = sp.measure(predictions, labels=labels).measurement
    (message,) = next(s.messages for s in sentences(measurement) if s.topic == topic)
    return message


@pytest.mark.parametrize(
    ("n_examples", "n_flips", "code", "fields"),
    [
        (1000, 0, "no-answer-changed", {"n_runs": 6}),
        (1000, 100, "answers-changed", {"n_changed": 20, "per": 100, "repeat": "run"}),
        (200_000, 50, "answers-changed", {"n_changed": 5, "per": 10_000, "repeat": "run"}),
    ],
)
def test_headline_is_as_precise_as_its_interval(n_examples, n_flips, code, fields):
    """Each of six runs differs alone on some answers, so two runs differ on twice as many."""
    message = headline(sp.measure(_flipping(6, n_examples, n_flips)).measurement)

    assert (message.code, message.fields) == (code, fields)


@pytest.mark.parametrize("n_runs", [2, 3, 4])
def test_headline_of_few_runs_describes_these_runs(n_runs):
    """Nothing is said about another seed."""
    same, differ = (headline(sp.measure(_flipping(n_runs, 1000, n)).measurement) for n in (0, 100))

    assert (same.code, same.fields) == ("no-answer-of-few-runs-differs", {"n_runs": n_runs})
    assert differ.code == f"answers-of-{'two' if n_runs == 2 else 'few'}-runs-differ"
    assert differ.fields == {"n_runs": n_runs, "n_changed": 20, "per": 100}


def test_headline_gives_a_range_if_one_run_is_an_outlier():
    """Six runs cannot show whether the next run is an outlier too."""
    predictions = _flipping(6, 1000, 0)
    predictions[0, :600] = 1

    report = sp.measure(predictions)
    message, flips = headline(report.measurement), report["flip_rate"]

    assert message.code == "answers-changed-roughly"
    ends = {"low": round(100 * flips.low), "high": round(100 * flips.high)}
    assert message.fields == ends | {"per": 100, "repeat": "run"}


def test_headline_names_seeds_if_they_are_recorded():
    """Without them, only runs are known to differ."""
    measurement = sp.measure(_flipping(6, 1000, 20)).measurement

    by_seed = headline(replace(measurement, repeats="seeds"))

    assert (by_seed.fields["repeat"], headline(measurement).fields["repeat"]) == ("seed", "run")


def test_headline_does_not_round_rare_flips_up():
    """One flip in a million answers is not one in a thousand."""
    message = headline(sp.measure(_flipping(50, 100_000, 1)).measurement)

    assert message.fields["per"] == 100_000


def test_identical_runs_report_an_upper_limit():
    """No observed flip does not mean a flip rate of 0."""
    predictions, labels = _drifting(n_examples=100)

    message = _message("Answers", np.stack([predictions[0]] * 4), labels)

    assert (message.code, message.fields["n_runs"]) == ("no-prediction-flipped", 4)
    assert message.fields["at_most"].value == pytest.approx(1 - 0.025 ** (1 / 100))


def test_drift_is_reported_with_its_range():
    """If most flips are net flips, the sentence gives the range of the class share."""
    predictions, labels = _drifting()

    message = _message("Accuracy", predictions, labels)

    assert message.code == "accuracy-spread-from-drift"
    fields, shares = message.fields["drift"].fields, predictions.mean(axis=1)
    assert fields["class_name"] == "1"
    ends = [fields["low"].value, fields["high"].value]
    assert ends == pytest.approx([shares.min(), shares.max()])  # the same sums in another order


@pytest.mark.parametrize(
    ("predictions", "labels", "code"),
    [
        (*_wrong_at(np.linspace(0.02, 0.35, 10)), "accuracy-spread-from-runs"),
        (*_wrong_at(0.1), "accuracy-spread-within-chance"),
        (_drifting()[0][:3], _drifting()[1], "accuracy-spread-of-few-runs"),
        (np.eye(6, 60, dtype=int), np.zeros(60, dtype=int), "accuracies-equal"),
    ],
)
def test_sentence_on_accuracy_follows_from_its_spread(predictions, labels, code):
    """Better and worse runs, independent flips, three runs, and equally many errors."""
    message = _message("Accuracy", predictions, labels)

    assert (message.code, message.fields["n_runs"]) == (code, len(predictions))


@pytest.mark.parametrize(
    ("reach", "code"),
    [
        (0.5, "accuracy-spread-from-runs"),
        (0.8, "accuracy-spread-from-drift-and-runs"),
        (1.6, "accuracy-spread-from-drift"),
    ],
)
def test_drift_is_not_the_cause_unless_it_explains_the_accuracies(reach, code):
    """The noise of the runs varies a lot; thresholds vary a little, more, and most."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=3000)
    noise = np.linspace(0.1, 1.2, 10)
    shift = rng.permutation(np.linspace(-reach, reach, 10))
    scores = truth + noise[:, None] * rng.normal(size=(10, 3000)) + shift[:, None]

    message = _message("Accuracy", (scores > 0).astype(int), (truth > 0).astype(int))

    assert message.code == code


def test_followed_class_depends_on_the_labels():
    """All, some or no examples have a label."""
    probs = np.full((3, 4, 2), 0.5)

    codes = [
        followed(sp.measure(probs, labels=labels).measurement).code
        for labels in ([0, 1, 0, 1], [0, -1, -1, -1], None)
    ]

    assert codes == ["gold-class", "gold-class-or-consensus", "consensus"]


@pytest.mark.parametrize(
    ("predictions", "labels", "codes"),
    [
        (
            _flipping(2, 50, 5),
            np.zeros(50, dtype=int),
            ["two-runs", "no-probabilities"],
        ),
        (_flipping(3, 50, 5), np.zeros(50, dtype=int), ["no-probabilities"]),
        (np.full((8, 4, 2), 0.5), None, ["no-labels"]),
    ],
)
def test_few_runs_and_missing_columns_are_noted(predictions, labels, codes):
    """The view has these notes after those on the input."""
    report = sp.measure(predictions, labels=labels)

    messages = limits(report.measurement)

    assert [message.code for message in messages] == codes
    assert report.view().notes == tuple(map(str, (*report.measurement.notes, *messages)))


def test_section_titles_report_no_difference_within_chance():
    """Independent noise: neither accuracies nor calibration errors get a verdict."""
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


def test_drifting_class_is_the_second_of_two():
    """The runs predict it for one, two and four of four examples."""
    report = sp.measure([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]], classes=["no", "yes"])

    name, shares = drift(report.measurement)

    assert name == "yes"
    assert shares.tolist() == [0.25, 0.5, 1.0]
