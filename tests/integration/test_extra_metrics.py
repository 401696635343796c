"""Metrics of the user's own and figures by class, from every kind of input to a saved report."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import matthews_corrcoef

import seedproof as sp
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location

CLASSES = np.array(["cat", "dog", "owl"])
EXTRA = {"mcc": matthews_corrcoef}
N_RUNS, N_EXAMPLES = 6, 300


def drawn(seed, shares=(0.7, 0.2, 0.1)):
    """Labels and predictions of all runs, as names."""
    rng = np.random.default_rng(seed)
    labels = np.random.default_rng(0).choice(3, N_EXAMPLES, p=shares)
    shape = N_RUNS, N_EXAMPLES
    answers = np.where(rng.random(shape) < 0.8, labels, rng.integers(0, 3, shape))
    return CLASSES[labels], CLASSES[answers]


def as_table(labels, predictions):
    run, example = np.divmod(np.arange(predictions.size), N_EXAMPLES)
    answers = predictions.ravel()
    return pa.table(
        {"run": run, "example": example, "label": labels[example], "prediction": answers}
    )


def as_store(labels, predictions, folder):
    answers = iter(predictions)

    def train(run):
        run.log_predictions(
            "test", predictions=next(answers), labels=labels, classes=CLASSES.tolist()
        )

    sp.Study("own", train, seeds=N_RUNS, store=str(folder)).run(engine="serial")
    return str(folder)


def test_arrays_tables_and_stores_give_the_same(tmp_path):
    labels, predictions = drawn(1)

    reports = [
        sp.measure(predictions, labels=labels, extra=EXTRA),
        sp.measure(as_table(labels, predictions), extra=EXTRA),
        sp.measure(as_store(labels, predictions, tmp_path / "store"), extra=EXTRA),
    ]

    expected = [matthews_corrcoef(labels, run) for run in predictions]
    for report in reports:
        assert report["mcc"].value == pytest.approx(np.mean(expected))
        by_run = sorted(report.measurement.detail["mcc_by_run"])
        assert by_run == pytest.approx(sorted(expected))


def test_saved_report_has_them(tmp_path):
    """In its summary, its table and its page."""
    labels, predictions = drawn(1)
    report = sp.measure(predictions, labels=labels, extra=EXTRA)

    report.save(tmp_path)

    summary = json.loads((tmp_path / "summary.json").read_bytes())
    assert summary["metrics"]["mcc"]["over"] == "runs"
    assert len(summary["detail"]["mcc_by_run"]) == N_RUNS
    assert load_saved(Location.of(tmp_path)).metrics["mcc_sd"] == report["mcc_sd"]
    assert "mcc" in report.text()
    assert "mcc_sd" in report.to_html()


def test_reports_with_them_are_compared_without_them():
    """A comparison does not know which direction is better, and says so."""
    reports = [
        sp.measure(predictions, labels=labels, extra=EXTRA)
        for labels, predictions in (drawn(1), drawn(2))
    ]

    comparison = sp.compare(reports).comparison

    assert "mcc" not in comparison.arms[0].effects
    note = next(note for note in comparison.notes if note.code == "own-metrics-not-compared")
    assert note.fields["names"] == ("mcc", "mcc_sd")


@pytest.mark.parametrize(("shares", "is_shown"), [((0.7, 0.2, 0.1), True), ((1 / 3,) * 3, False)])
def test_terminal_shows_figures_by_class_if_classes_are_imbalanced(shares, is_shown):
    """They are close to the accuracy otherwise."""
    labels, predictions = drawn(1, shares)

    report = sp.measure(predictions, labels=labels)

    rows = {row.name: row.is_key for row in report.view().rows}
    assert rows["balanced_accuracy"] == rows["macro_f1"] == is_shown
    assert not rows["macro_f1_sd"]


def test_figures_by_class_are_compared_and_gated():
    """An arm that is right more often is better, and passes a limit."""
    labels, predictions = drawn(1)
    better = np.where(np.random.default_rng(3).random(predictions.shape) < 0.7, labels, predictions)

    report = sp.compare({"old": predictions, "new": better}, labels=labels, primary="macro_f1")
    gate = sp.gate(better, labels=labels, min={"balanced_accuracy": 0.8})

    assert report.effect("new", "macro_f1").verdict == "better"
    assert report.effect("new", "balanced_accuracy").verdict == "better"
    assert gate.outcome == "pass"


def test_clusters_widen_figures_by_class():
    """Copies of an example show nothing new."""
    labels, predictions = drawn(1)
    predictions[1:] = predictions[0]  # so that examples make all of the difference
    copies = np.repeat(np.arange(N_EXAMPLES), 5)

    apart, together = (
        sp.measure(predictions[:, copies], labels=labels[copies], **options)["balanced_accuracy"]
        for options in ({}, {"clusters": copies})
    )

    assert together.over == "runs × clusters"
    assert together.high - together.low > 1.7 * (apart.high - apart.low)
