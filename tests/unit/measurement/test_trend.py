"""The note on runs whose results rise or fall in their order."""

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.measurement.trend import LEVEL, runs_trend
from seedproof.stats.trend_test import trend_p

RISING = np.linspace(0.6, 0.8, 8)


def of_accuracies(accuracies, n_examples=400):
    """Return runs whose accuracies are these, with labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n_examples)
    ranks = np.argsort(rng.random((len(accuracies), n_examples)), axis=1)
    is_right = ranks < np.asarray(accuracies)[:, np.newaxis] * n_examples
    return np.where(is_right, labels, 1 - labels), labels


def found(checks):
    return [(x.severity, x.runs) for x in checks if x.name == "runs-trend"]


@pytest.mark.parametrize("accuracies", [RISING, RISING[::-1]], ids=["rising", "falling"])
def test_accuracies_that_trend_have_a_note(accuracies):
    values, labels = of_accuracies(accuracies)

    assert found(sp.measure(values, labels=labels).checks) == [("note", tuple("01234567"))]


def test_numbers_and_single_numbers_that_trend_have_a_note():
    noise = np.random.default_rng(1).standard_normal((8, 300))
    table = pa.table({"seed": list(range(8)), "reward": RISING})

    assert found(sp.measure(noise + 5 * RISING[:, np.newaxis]).checks)
    assert found(sp.measure_scalars(table).checks)


def test_notes_of_arms_are_in_a_comparison():
    arms = {
        name: sp.Predictions.from_arrays(values, labels=labels)
        for name, order in (("a", RISING), ("b", RISING[[3, 1, 4, 0, 5, 7, 2, 6]]))
        for values, labels in [of_accuracies(order)]
    }
    checks = sp.compare(arms, baseline="a").checks

    assert [check.arm for check in checks if check.name == "runs-trend"] == ["a"]


@pytest.mark.parametrize(
    ("order", "is_found"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], True),
        ([0, 1, 2, 4, 3, 5, 7, 6], True),
        ([0, 2, 1, 4, 3, 5, 7, 6], True),
        ([2, 1, 0, 4, 3, 7, 5, 6], False),
    ],
)
def test_both_sides_of_the_level(order, is_found):
    values = RISING[order]

    assert (trend_p(values) <= LEVEL) == is_found
    assert bool(list(runs_trend(tuple("01234567"), "accuracy", values))) == is_found


@pytest.mark.parametrize(
    ("names", "is_found"),
    [
        ([f"run-{i}" for i in range(8, 16)], True),
        (["17", "42", "50", "77", "78", "99", "100", "1234"], True),
        (["0", "1", "2", "3", "4", "5", "7", "6"], False),
        (["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"], False),
        (["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8"], False),
    ],
)
def test_only_numbered_runs_have_an_order(names, is_found):
    assert bool(list(runs_trend(names, "accuracy", RISING))) == is_found


def test_five_runs_are_too_few():
    assert not list(runs_trend(tuple("01234"), "accuracy", RISING[:5]))
    assert list(runs_trend(tuple("012345"), "accuracy", RISING[:6]))
