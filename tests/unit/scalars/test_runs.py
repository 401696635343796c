"""Figures of single numbers per run, and checks of the runs."""

import numpy as np
import pytest
from scipy import stats

from seedproof.scalars.runs import ScalarArm, Scalars


def scalars(**metrics: list[float]) -> Scalars:
    """Return the runs of one arm."""
    n_runs = len(next(iter(metrics.values())))
    values = {name: np.array(numbers, dtype=float) for name, numbers in metrics.items()}
    return Scalars({"a": ScalarArm("a", tuple(map(str, range(n_runs))), values)})


def test_means_have_students_interval_whatever_their_sign():
    """The same as a textbook's, on drawn cases of any level and size."""
    rng = np.random.default_rng(0)
    for n_runs in rng.integers(3, 30, 500):
        values = rng.normal(rng.normal(0, 5), rng.uniform(0.1, 3), n_runs)

        figure = scalars(loss=values).arms["a"].metrics["loss"]

        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert figure.value == pytest.approx(values.mean())
        assert (figure.low, figure.high) == (pytest.approx(low), pytest.approx(high))
        assert figure.over == "runs"


@pytest.mark.parametrize(
    ("n_runs", "has_mean", "has_sd"), [(2, False, False), (3, True, False), (5, True, True)]
)
def test_intervals_need_runs(n_runs, has_mean, has_sd):
    figures = scalars(loss=[0.3, 0.1, 0.4, 0.15, 0.9][:n_runs]).arms["a"].metrics

    assert (figures["loss"].low is not None) == has_mean
    assert (figures["loss_sd"].low is not None) == has_sd


def test_runs_that_do_not_vary_have_no_interval():
    figures = scalars(loss=[0.1] * 6).arms["a"].metrics

    assert (figures["loss"].value, figures["loss"].low) == (pytest.approx(0.1), None)
    assert (figures["loss_sd"].value, figures["loss_sd"].low) == (0.0, None)


@pytest.mark.parametrize(
    ("metrics", "severities"),
    [
        ({"loss": [0.31, 0.31, 0.4, 0.5, 0.6]}, []),
        ({"loss": [0.312345678, 0.312345678, 0.4, 0.5, 0.6]}, ["warning"]),
        (
            {
                "loss": [0.312345678, 0.312345678, 0.4, 0.5, 0.6],
                "return": [20.12345678, 20.12345678, 3.0, 4.0, 5.0],
            },
            ["error"],
        ),
        (
            {
                "loss": [0.312345678, 0.312345678, 0.4, 0.5, 0.6],
                "return": [1.0, 2.0, 3.0, 4.0, 5.0],
            },
            [],
        ),
        ({"loss": [0.5] * 5}, ["error"]),
    ],
)
def test_copies_of_a_run_are_reported(metrics, severities):
    checks = scalars(**metrics).checks

    assert [check.severity for check in checks] == severities
    assert {check.name for check in checks} <= {"duplicate-runs"}


def test_arms_with_the_same_numbers_are_reported():
    first, second, third = ([0.1, 0.2, 0.3, 0.25, x] for x in (0.15, 0.15, 0.16))
    arms = {
        name: ScalarArm(name, tuple("01234"), {"loss": np.array(values)})
        for name, values in (("a", first), ("b", second), ("c", third))
    }

    checks = Scalars(arms).checks

    assert [(check.name, check.severity) for check in checks] == [("identical-arms", "error")]
    assert Scalars({name: arms[name] for name in "ac"}).checks == ()


def test_few_runs_are_a_warning():
    assert [check.name for check in scalars(loss=[0.1, 0.2]).checks] == ["few-runs"]
