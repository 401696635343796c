import pytest
from seedproof_reproductions.conll2019.page.verdicts import judge_value
from seedproof_reproductions.page.verdicts import FAILS, HOLDS, OPEN

from seedproof.measurement.intervals import Estimate


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(1.2, 0.8, 2.2), HOLDS),  # known to a factor of 1.83
        (Estimate(1.2, 0.5, 6.0), OPEN),
        (Estimate(1.2, 1.1, 1.3), OPEN),  # an sd of ten seeds may be off by as much
        (Estimate(0.5, 0.3, 0.9), OPEN),
        (Estimate(0.3, 0.25, 0.36), FAILS),
        (Estimate(3.0, 2.5, 3.6), FAILS),
        (Estimate(1.0), OPEN),
        (None, OPEN),
    ],
)
def test_a_value_of_1(estimate, verdict):
    """An interval that contains nearly everything confirms nothing."""
    assert judge_value(estimate, 1.0, is_over_runs=True) == verdict
    assert judge_value(estimate, 1.0, is_over_runs=False) == OPEN
