import numpy as np
import pytest

from seedproof.metrics.confidence import probability_sd
from seedproof.metrics.statistic import ExampleValues
from seedproof_reproductions.findings2023.comparison import entropies_over
from seedproof_reproductions.findings2023.stand_in import correlation


def drawn(rng, n_runs, n_examples):
    """Entropy over runs, and sd of the gold probability, of examples of two classes."""
    margin = rng.normal(2.0, 2.0, n_examples)
    logits = margin + 0.3 * rng.normal(size=(n_runs, 1)) + rng.normal(size=(n_runs, n_examples))
    return entropies_over((logits < 0).astype(np.int64)), probability_sd(1 / (1 + np.exp(-logits)))


def half_width(estimate):
    """Of the interval, on the scale of Fisher's z."""
    return (np.arctanh(estimate.high) - np.arctanh(estimate.low)) / 2


def test_correlation_is_pearsons_with_a_jackknife_over_runs():
    """On Fisher's z with Student's t; squared widths over runs and over examples are added."""
    x, y = drawn(np.random.default_rng(3), 6, 300)

    estimate = correlation(x, y)
    steady = correlation(*(ExampleValues(v.values, np.tile(v.values, (6, 1))) for v in (x, y)))

    assert estimate.value == pytest.approx(np.corrcoef(x.values, y.values)[0, 1])
    both = zip(x.without, y.without, strict=True)
    left = np.arctanh([np.corrcoef(*pair)[0, 1] for pair in both])
    runs = half_width(estimate) ** 2 - half_width(steady) ** 2
    assert runs == pytest.approx(2.5706**2 * 5 * left.var(), rel=1e-3)
    # What does not vary has no correlation, nor have too few runs.
    assert correlation(ExampleValues(np.zeros(300), np.zeros((6, 300))), y) is None
    assert correlation(ExampleValues(x.values, None), y) is None


def test_intervals_cover_the_truth():
    """The correlation that ten runs show in large studies: at least 91 of 100 intervals."""
    rng = np.random.default_rng(2)
    truth = np.mean([correlation(*drawn(rng, 10, 4000)).value for _ in range(20)])
    estimates = [correlation(*drawn(rng, 10, 250)) for _ in range(100)]

    assert sum(e.low <= truth <= e.high for e in estimates) >= 91
