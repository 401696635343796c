import numpy as np
import pytest

from seedproof_reproductions.ratios import Ratio


def test_means_and_differences_equal_loops():
    rng = np.random.default_rng(0)
    values, chosen = rng.random((4, 30)), rng.random((4, 30)) < 0.5
    mean = Ratio.mean(values, chosen)
    rest = Ratio.mean(values, ~chosen)

    by_run = [
        np.mean([v for v, c in zip(row, some, strict=True) if c])
        for row, some in zip(values, chosen, strict=True)
    ]

    assert mean.by_run == pytest.approx(by_run)
    assert mean.estimate().value == pytest.approx(np.mean(by_run))
    assert (mean - rest).by_run == pytest.approx(mean.by_run - rest.by_run)


def test_pulls_are_what_leaving_out_an_example_changes():
    """To first order: the figure without the example differs by its pull over the others."""
    rng = np.random.default_rng(1)
    totals, sizes = rng.random((3, 5_000)), 1 + rng.random((3, 5_000))
    ratio = Ratio.of(totals, sizes)
    without = Ratio.of(totals[:, 1:], sizes[:, 1:])

    assert ratio.by_run - without.by_run == pytest.approx(ratio.pulls[:, 0] / 5_000, rel=0.01)


def test_intervals_cover_the_truth():
    """Runs and examples differ as a whole; the parts are drawn at random, so their means do not."""
    rng = np.random.default_rng(2)
    n_studies, covered = 500, np.zeros(2)
    for _ in range(n_studies):
        level, difficulty = rng.normal(size=(5, 1)), rng.normal(size=200)
        values = 0.2 * level + difficulty + rng.normal(size=(5, 200))
        drawn = rng.random((5, 200)) < 0.3
        part, rest = Ratio.mean(values, drawn), Ratio.mean(values, ~drawn)
        intervals = [figure.estimate() for figure in (part, part - rest)]
        covered += [interval.low <= 0.0 <= interval.high for interval in intervals]

    assert (covered / n_studies >= 0.92).all()
    assert (covered / n_studies <= 0.99).all()
