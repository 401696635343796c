"""Steps that follow from the figures."""

import html
import re

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.document import today
from seedproof.report.next_steps import after_comparing, after_measuring


def measured(n_runs=10, *, flips=0.1, drift=0.0, labels=True, n_examples=400):
    """Return a measurement of two classes, in which examples near the threshold flip."""
    rng = np.random.default_rng(3)
    margins = rng.standard_normal(n_examples)
    noise = flips * rng.standard_normal((n_runs, n_examples))
    shift = drift * np.linspace(-1, 1, n_runs)[:, None]
    answers = (margins + noise + shift > 0).astype(int)
    gold = (margins > 0).astype(int)
    return sp.measure(answers, labels=gold if labels else None).measurement


def codes(steps):
    return [step.code for step in steps]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"n_runs": 4, "flips": 0.3}, ["add-runs", "mitigate", "check-labels"]),
        ({"n_runs": 4, "flips": 0.01}, ["add-runs"]),  # a gate on four runs gives no verdict
        ({"n_runs": 5, "flips": 0.3}, ["mitigate", "check-labels", "set-limit"]),
        ({"flips": 0.3}, ["mitigate", "check-labels", "set-limit"]),
        ({"flips": 0.3, "labels": False}, ["add-labels", "mitigate", "set-limit"]),
        ({"flips": 0.05, "drift": 1.0}, ["fix-threshold", "mitigate", "check-labels"]),
        ({"flips": 0.0}, []),
    ],
)
def test_steps_follow_from_the_measurement(settings, expected):
    """The most urgent first, and at most three."""
    steps = after_measuring(measured(**settings))

    assert codes(steps)[: len(expected)] == expected
    assert len(steps) <= 3


def test_suggested_limit_is_above_the_interval():
    """Today's runs would pass it."""
    measurement = measured(flips=0.3)

    limit = after_measuring(measurement)[-1].fields["limit"]

    high = measurement.metrics["flip_rate"].high
    assert high <= limit <= 1.1 * high


@pytest.mark.parametrize(
    ("n_runs", "flips", "expected"),
    [
        (10, 0.05, ["adopt"]),
        (10, 0.6, ["choose-cheaper"]),
        (5, 0.6, ["plan"]),
        (4, 0.05, ["add-runs", "plan"]),
    ],
)
def test_steps_follow_from_the_comparison(n_runs, flips, expected):
    rng = np.random.default_rng(4)
    margins = rng.standard_normal(400)
    arms = {
        name: (margins + spread * rng.standard_normal((n_runs, 400)) > 0).astype(int)
        for name, spread in (("none", 0.6), ("ours", flips))
    }
    comparison = sp.compare(arms, baseline="none").comparison

    assert codes(after_comparing(comparison, has_cautions=False)) == expected
    assert "read-cautions" in codes(after_comparing(comparison, has_cautions=True))


def test_page_has_title_date_and_command():
    """Texts of the user stay texts."""
    title, command = "<b>v2</b>", "seedproof-measure"
    report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]])

    page = report.to_html(title=title, command=command)

    assert title not in page
    assert page.count(html.escape(title)) == 2
    assert re.findall(r"datetime=.([-0-9]+)", page) == [today()]
    assert page.count(command) == 1


def test_date_can_be_set_for_reproducible_builds(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")

    assert today() == "1970-01-02"
