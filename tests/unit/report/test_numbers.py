"""Numbers as text."""

import pytest

from seedproof.report.gate import NearLimit
from seedproof.report.numbers import TOO_WIDE, bracketed, number, quantity, span
from seedproof.stats.intervals import Estimate


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0895, "percent", "8.9"),
        (0.01536, "points", "1.54"),
        (0.0002, "percent", "0.02"),
        (0.0, "percent", "0.0"),
        (0.12345, "nats", "0.123"),
        (-0.5, "nats", "\N{MINUS SIGN}0.500"),
        (0.00004, "probability", "4e-05"),
    ],
)
def test_number_has_the_digits_of_its_unit(value, unit, text):
    """Rates have one decimal, points two, the rest three; tiny values keep one digit."""
    assert number(value, unit) == text


def test_equal_ends_of_a_range_are_written_once():
    assert (span("5", "9"), span("5", "5")) == ("5 to 9", "5")


def test_brackets_are_printed_only_with_an_interval():
    """An estimate without an interval has none."""
    assert bracketed(Estimate(0.5), "percent") == "50.0\N{NO-BREAK SPACE}%"
    assert bracketed(Estimate(0.5, 0.4, 0.6, "runs"), "percent").endswith("% [40.0, 60.0]")


@pytest.mark.parametrize(
    ("ends", "is_too_wide"),
    [
        ((0.3, 0.001, 40.0), True),
        ((0.3, 0.02, 20.0), False),
        ((0.0001, 0.0, 0.02), False),  # 0 is its lowest value: the upper end is of use
        ((0.0001, -0.04, 0.04), False),  # a difference
    ],
)
def test_interval_far_above_its_value_is_not_printed(ends, is_too_wide):
    """More than a hundred times; the reason is printed instead."""
    assert bracketed(Estimate(*ends, "runs"), "nats").endswith(TOO_WIDE) == is_too_wide


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
def test_cost_has_four_significant_digits_and_no_power_of_ten(value, text):
    """1.516e+05 forward passes are hard to read."""
    assert quantity(value) == text


@pytest.mark.parametrize("other", [0.7535000000000001, 0.7535 - 1e-15])
def test_sums_in_another_order_have_the_same_text(other):
    """Rounding errors of sums do not decide how a tie is rounded, in any verb."""
    assert number(other, "percent") == number(0.7535, "percent")
    texts = {str(NearLimit(Estimate(value), "percent", 0.5)) for value in (0.7535, other)}
    assert len(texts) == 1
