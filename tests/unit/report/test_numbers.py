"""Numbers are written as people read them."""

import pytest

from seedproof.report.gate import NearLimit
from seedproof.report.numbers import number, quantity
from seedproof.stats.intervals import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (151_580.0, "151,600"),
        (2_000_000_000.0, "2,000,000,000"),
        (1234.5, "1,234"),
        (999.96, "1,000"),
        (60.0, "60"),
        (0.12345, "0.1235"),
        (0.0, "0"),
    ],
)
def test_a_cost_has_four_digits_that_count_and_no_power_of_ten(value, text):
    """1.516e+05 forward passes are for machines."""
    assert quantity(value) == text


@pytest.mark.parametrize("other", [0.7535000000000001, 0.7535 - 1e-15])
def test_sums_in_another_order_have_the_same_text(other):
    """Half a digit more or less by rounding errors: each verb writes the same figure."""
    assert number(other, "percent") == number(0.7535, "percent")
    texts = {str(NearLimit(Estimate(value), "percent", 0.5)) for value in (0.7535, other)}
    assert len(texts) == 1
