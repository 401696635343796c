"""Metrics that arms share although examples have different numbers of trials."""

import numpy as np

from seedproof.comparison.arms.arm_contrast import of_all_examples
from seedproof.metrics.statistic import ExampleSums, ExampleValues, RootOfMean, ValueOnly


def mean_of(n_examples):
    sums = ExampleSums()
    sums.update(ExampleValues(np.linspace(0.0, 1.0, n_examples), None))
    return sums.mean_over_examples()


def test_statistics_of_fewer_examples_and_counts_are_left_out():
    """Errors are of the examples with a target, which are the same in both arms."""
    complete, partial = mean_of(6), mean_of(4)
    statistics = {
        "mean": complete,
        "flip_rate": partial,
        "example_sd": RootOfMean(partial, divisor=1.0),
        "pass^2": complete,
        "mae": partial,
        "flaky_share": complete,
        "solid_share": ValueOnly(0.5),
        "mean_sd": ValueOnly(0.1),
    }

    assert list(of_all_examples(statistics)) == ["mean", "pass^2", "mae", "mean_sd"]
