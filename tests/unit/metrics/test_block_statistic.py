"""Shapes of values: what heavy tails and skewness do to intervals."""

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from seedproof.metrics.block_statistic import Shape
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.means import Means
from seedproof.records.answer_settings import AnswerSettings
from seedproof.stats.intervals import estimate


def test_shape_is_that_of_scipy_however_it_was_added_up():
    for seed in range(500):
        rng = np.random.default_rng(seed)
        values = rng.lognormal(sigma=rng.random(), size=rng.integers(3, 40)) + rng.choice([0, 1e3])
        cut = rng.integers(0, len(values))

        shape = Shape.of(values[:cut]) + Shape.of(values[cut:])

        assert shape.mean == pytest.approx(values.mean())
        assert shape.skewness == pytest.approx(skew(values, bias=False), rel=1e-4, abs=1e-6)
        df = 2 * len(values) / (kurtosis(values, fisher=False) - 1)
        assert shape.df == pytest.approx(max(min(len(values) - 1, df), 1), rel=1e-4)


def test_equal_values_have_no_skewness():
    assert Shape.of(np.ones(10)).skewness == 0.0
    assert Shape.of(np.ones(10)).df == 9
    assert (Shape() + Shape()).n == 0


def mean_of(numbers):
    family = Means(len(numbers), AnswerSettings(are_trials=True))
    family.update(NumberBatch(numbers))
    return estimate(family.result()["mean"])


def test_interval_of_a_skewed_mean_is_longer_on_the_side_of_the_tail():
    numbers = np.random.default_rng(0).lognormal(sigma=1.0, size=(3, 60))
    upward, downward = mean_of(numbers), mean_of(-numbers)

    assert upward.high - upward.value > 1.05 * (upward.value - upward.low)
    assert downward.low == pytest.approx(-upward.high)
