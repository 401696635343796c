"""The report of a measurement, and of several arms, in a terminal."""

from io import StringIO

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.report.view import KEY_METRICS
from seedproof.testing.errors import WithFields

ARMS = ("none", "label-smoothing", "tgtss-shared", "linear", "heads-16", "wide-decay-zero-smooth")


def _probs(n_runs=4):
    raised = np.exp(np.random.default_rng(0).normal(size=(n_runs, 80, 3)))
    return raised / raised.sum(axis=2, keepdims=True)


def _metrics(text):
    """Names of the metrics in the table, in their order."""
    table = text.split("metric ", maxsplit=1)[1].split("\n\n")[0]
    return [line.split()[0] for line in table.splitlines()[1:]]


@pytest.fixture(scope="module")
def report():
    """Four runs with probabilities and labels."""
    return sp.measure(_probs(), labels=np.arange(80) % 3)


@pytest.fixture(scope="module")
def arms():
    """Six arms of four runs."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=80)
    answers = {
        arm: np.where(rng.random((4, 80)) < 0.8, labels, rng.integers(3, size=(4, 80)))
        for arm in ARMS
    }
    return sp.SideBySide({arm: sp.measure(runs, labels=labels) for arm, runs in answers.items()})


def test_key_metrics_are_printed_unless_all_are_requested(report):
    """The line after the table says how many there are more."""
    *shown, more = _metrics(report.text())

    assert set(shown) == set(KEY_METRICS)
    assert int(more) == len(report) - len(KEY_METRICS)
    assert _metrics(report.text(all_metrics=True)) == list(report)


def test_missing_key_metrics_are_not_printed():
    """Without labels and probabilities two of them are left."""
    shown = _metrics(sp.measure(_probs().argmax(2)).text())

    assert shown[:-1] == ["flip_rate", "label_entropy_corrected"]


def test_requested_metrics_are_printed():
    """Not the key metrics, which share their counts or are always measured."""
    shown = _metrics(sp.measure(_probs(), metrics=["predictive_js", "ambiguity"]).text())

    assert shown[:-1] == ["ambiguity", "predictive_js"]


def test_key_metrics_are_printed_if_those_of_explanations_are_requested(
    make_explained_store, drawn_texts
):
    """Metrics of explanations have a table of their own."""
    arm, tokens, _ = drawn_texts(0.8, n_runs=3, n_examples=12)
    store = make_explained_store({"none": arm}, tokens=tokens)

    assert "flip_rate" in _metrics(sp.measure(store, metrics=["explanation_kl"]).text())


def test_unstable_examples_are_printed_with_their_answers():
    """With the number of runs, the most frequent first; long names lose their middle."""
    answers = ["negative", "a-rather-long-class-1", "a-rather-long-class-2"]
    runs = [[0, 1], [0, 1], [0, 2], [1, 2]]
    table = pa.Table.from_pylist(
        [
            {"run": run, "example": example, "prediction": answers[answer]}
            for run, row in enumerate(runs)
            for example, answer in enumerate(row)
        ]
    )

    text = sp.measure(table).text()

    assert "a-rath…ass-1 (2), a-rath…ass-2 (2)" in text
    assert "negative (3), a-rath…ass-1 (1)" in text


def test_column_that_was_not_carried_cannot_be_shown(report):
    """The error lists the columns that can be."""
    with pytest.raises(ColumnError, check=WithFields(column="txt", known=())):
        report.view(show=["txt"])


@pytest.mark.parametrize(("width", "n_tables"), [(80, 2), (120, 2), (400, 1)])
@pytest.mark.parametrize("all_metrics", [False, True])
def test_arms_that_do_not_fit_are_printed_below(arms, width, n_tables, all_metrics):
    """No interval is cut, and every arm is there once, in its order."""
    console = Console(width=width, record=True, file=StringIO())
    console.print(arms._render((), all_metrics=all_metrics))
    lines = console.export_text().splitlines()

    headers = [line.split()[1:] for line in lines if line.startswith("metric")]
    assert [arm for header in headers for arm in header] == list(ARMS)
    assert len(headers) == n_tables
    assert all("…" not in line and len(line) <= width for line in lines)
    flips = arms["heads-16"].view().rows[0]
    assert any(flips.interval in line for line in lines)
    assert any(line.startswith("ambiguity") for line in lines) == all_metrics


def test_short_form_of_a_view_is_one_line():
    """A notebook shows it for the last line of a cell."""
    views = (
        sp.measure([[0, 1, 1], [0, 1, 0]]).view(),
        sp.compare({"a": [[0, 1, 1], [0, 1, 0]], "b": [[0, 1, 1], [1, 1, 1]]}).view(),
    )

    assert all(len(repr(view)) < 200 for view in views)
