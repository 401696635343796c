import numpy as np
import pytest

from seedproof.metrics.statistic import ExampleSums, ExampleValues

# Three runs, four examples: a count out of six, and out of two with one run left out.
VALUES = ExampleValues(
    whole=np.array([0, 4, 4, 6]),
    without=np.array([[0, 2, 2, 2], [0, 2, 0, 2], [0, 0, 2, 2]]),
    whole_denominator=6,
    without_denominator=2,
)


def part_of(values, rows):
    """Some of the examples."""
    return ExampleValues(
        values.whole[rows],
        None if values.without is None else values.without[:, rows],
        values.whole_denominator,
        values.without_denominator,
    )


def sums_of(*parts):
    """Totals of some batches."""
    sums = ExampleSums()
    for part in parts:
        sums.update(part)
    return sums


def test_values_are_counts_over_their_denominator():
    """0, 4, 4, 6 of 6."""
    np.testing.assert_allclose(VALUES.values, [0, 2 / 3, 2 / 3, 1], rtol=1e-15)


def test_mean_over_examples_by_hand():
    """Mean 14/24; without a run 6/8, 4/8, 4/8.

    Σh²/n = (0 + 4/9 + 4/9 + 1)/4 = 17/36, less (7/12)² leaves 19/144, over n-1 = 3: 19/432.
    By example the runs left out give 0,0,0; 1,1,0; 1,0,1; 1,1,1: variances 0, 2/9, 2/9, 0, times
    R-1 = 2, over n² = 16: 1/18.
    """
    mean = sums_of(VALUES).mean_over_examples(largest=1.0)

    assert mean.value == pytest.approx(14 / 24, rel=1e-15)
    assert mean.without.tolist() == [0.75, 0.5, 0.5]
    assert mean.example_variance == pytest.approx(19 / 432, rel=1e-13)
    assert mean.interaction_variance == pytest.approx(1 / 18, rel=1e-13)
    assert (mean.n_examples, mean.scale, mean.largest, mean.bias_left) == (4, "log", 1.0, 0.0)
    assert sums_of(VALUES).mean_over_examples(scale="logit").scale == "logit"


def test_counts_beyond_64_bits_stay_exact():
    """10^9 examples × 50² pairs × many studies never round: the total is a Python integer."""
    large = ExampleValues(np.array([2**61, 2**61 + 1]), None)

    sums = sums_of(*[large] * 8)

    assert sums.total == 8 * (2**62 + 1)


def test_two_runs_have_no_mean_without_a_run():
    """The quantity needs two."""
    mean = sums_of(ExampleValues(np.array([0, 2]), None, 2)).mean_over_examples()

    assert mean.without is None
    assert mean.interaction_variance == 0


def test_single_example_has_no_variance_over_examples():
    """There is nothing to divide by; the variance over runs remains."""
    mean = sums_of(part_of(VALUES, slice(1, 2))).mean_over_examples()

    assert mean.example_variance == 0
    assert mean.interaction_variance > 0


def test_equal_examples_have_no_negative_variance():
    """Mean square less squared mean may round below 0."""
    mean = sums_of(ExampleValues(np.full(7, 0.1), None)).mean_over_examples()

    assert mean.example_variance >= 0
    assert mean.example_variance == pytest.approx(0, abs=1e-17)
