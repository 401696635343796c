import numpy as np
import pytest
from seedproof_reproductions.findings2023.control import correlation
from seedproof_reproductions.findings2023.least_stable import entropies_over

from seedproof.metrics.confidence import probability_sd
from seedproof.metrics.statistic import ExampleValues


def drawn(rng, n_runs, n_examples):
    """Entropy over runs, and sd of the gold probability, of examples of two classes."""
    margin = rng.normal(2.0, 2.0, n_examples)
    logits = margin + 0.3 * rng.normal(size=(n_runs, 1)) + rng.normal(size=(n_runs, n_examples))
    answers = (logits < 0).astype(np.int64)
    return entropies_over(answers), probability_sd(1 / (1 + np.exp(-logits)))


def test_the_correlation_is_pearsons():
    """Over all examples, those without any entropy too."""
    x, y = drawn(np.random.default_rng(0), 12, 200)

    found = correlation(x, y)

    assert found.value == pytest.approx(np.corrcoef(x.values, y.values)[0, 1])
    assert found.low < found.value < found.high
    assert found.over == "runs × examples"


def test_what_does_not_vary_has_no_correlation():
    """Neither has what too few runs say."""
    x, y = drawn(np.random.default_rng(0), 5, 50)

    assert correlation(ExampleValues(np.zeros(50), np.zeros((5, 50))), y) is None
    assert correlation(ExampleValues(x.values, None), y) is None


def test_examples_alone_make_an_interval():
    """Runs that change nothing: Fisher's 1/(n-3) is the variance for normal values."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=1000)
    y = 0.6 * x + 0.8 * rng.normal(size=1000)

    found = correlation(*(ExampleValues(one, np.tile(one, (6, 1))) for one in (x, y)))

    width = (np.arctanh(found.high) - np.arctanh(found.low)) / 2
    assert width == pytest.approx(1.96 / np.sqrt(997), rel=0.1)  # the sample's own kurtosis


def test_runs_make_the_rest_of_the_interval():
    """A jackknife of Fisher's z with Student's t, whose squared width adds to that of examples."""
    x, y = drawn(np.random.default_rng(3), 6, 300)

    found = correlation(x, y)
    steady = correlation(
        *(ExampleValues(one.values, np.tile(one.values, (6, 1))) for one in (x, y))
    )

    both = zip(x.without, y.without, strict=True)
    left = np.arctanh([np.corrcoef(one, other)[0, 1] for one, other in both])
    widths = [(np.arctanh(one.high) - np.arctanh(one.low)) / 2 for one in (found, steady)]
    assert widths[0] ** 2 - widths[1] ** 2 == pytest.approx(2.5706**2 * 5 * left.var(), rel=1e-3)


def test_intervals_cover_the_truth():
    """The correlation that ten runs show in large studies: at least 91 of 100 intervals have it."""
    rng = np.random.default_rng(2)
    truth = np.mean([correlation(*drawn(rng, 10, 4000)).value for _ in range(20)])
    found = [correlation(*drawn(rng, 10, 250)) for _ in range(100)]

    assert sum(one.low <= truth <= one.high for one in found) >= 91
