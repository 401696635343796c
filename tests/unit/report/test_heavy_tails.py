"""Where tails are heavy, the mean difference comes before the standard deviation on one example."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.metrics.statistic import RootOfMean
from seedproof.report.numeric.sentences import HEAVY_DF, has_heavy_tails


def measured(n_examples, outlier):
    """Measure numbers whose last example varies this many times as much as the others."""
    numbers = np.random.default_rng(0).standard_normal((5, n_examples))
    numbers[:, -1] *= outlier
    return sp.measure(numbers)


def df_of(report):
    """Return the degrees of freedom of the variance of the variances, from their kurtosis."""
    variances = report.measurement.example_table.read(["sd"]).column("sd").to_numpy() ** 2
    gaps = variances - variances.mean()
    kurtosis = (gaps**4).mean() / (gaps**2).mean() ** 2
    return 2 * len(gaps) / (kurtosis - 1)


@pytest.mark.parametrize(("aim", "is_heavy"), [(0.95, True), (1.05, False)])
def test_tails_are_heavy_if_few_examples_decide_the_variance(aim, is_heavy):
    """Both sides of the threshold, by bisection of the size of one outlier."""
    low, high = 1.0, 20.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if df_of(measured(200, middle)) > aim * HEAVY_DF else (low, middle)
        )
    report = measured(200, high)

    assert df_of(report) == pytest.approx(aim * HEAVY_DF, rel=0.04)
    assert has_heavy_tails(report.measurement) == is_heavy


def test_small_samples_of_normal_numbers_are_not_heavy():
    assert not has_heavy_tails(measured(15, 1.0).measurement)


def test_mean_difference_leads():
    heavy, usual = measured(200, 100.0), measured(200, 1.0)

    assert isinstance(heavy.measurement.statistics["example_sd"], RootOfMean)
    codes = [[m.code for s in x.view().sentences for m in s.messages] for x in (heavy, usual)]
    assert {"examples-differ-by", "heavy-tails"} <= set(codes[0])
    assert "examples-differ" not in codes[0]
    assert "examples-differ" in codes[1]
    figures = [[figure.name for figure in x.view().key_figures] for x in (heavy, usual)]
    assert "example_sd" not in figures[0]
    assert {"mean_difference", "example_sd"} <= set(figures[1])
    rows = {row.name: row.is_key for row in heavy.view().rows}
    assert (rows["mean_difference"], rows["example_sd"]) == (True, False)
