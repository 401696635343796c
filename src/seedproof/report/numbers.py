"""Numbers as text: one way for each unit, everywhere."""

from collections.abc import Callable
from dataclasses import dataclass

from seedproof.metrics.card import Unit
from seedproof.stats.effect import WIDEST
from seedproof.stats.intervals import Estimate

NO_BREAK = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
# In place of an interval that shows nothing.
TOO_WIDE = "[too wide to use]"
DIGITS = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}
# From here on four significant digits leave none after the decimal point.
MANY = 1000
# Sums in another order differ in their last bits, which must not decide how a tie is rounded:
# 76.05 and 76.05000000000003 are the same number and need the same text.
SAME_DECIMALS = 9


def bracketed(value: Estimate, unit: Unit) -> str:
    """Return a value with its unit and interval, such as "9.0 % [5.7, 14.0]"."""
    return number(value.value, unit) + sign(unit) + in_brackets(value, lambda x: number(x, unit))


def in_brackets(
    value: Estimate, write: Callable[[float], str], *, limit: float | None = None
) -> str:
    """Return an interval after a space, such as " [5.7, 14.0]"; "" if there is none.

    If it is too wide, that is written instead, unless it shows on which side of a limit it is.
    """
    if value.low is None or value.high is None:
        return ""
    is_open = limit is None or value.low <= limit <= value.high
    if is_open and is_too_wide(value):
        return f" {TOO_WIDE}"
    return f" [{write(value.low)}, {write(value.high)}]"


def span(low: str, high: str) -> str:
    """Return a range such as "5 to 9"; "5" if both ends are written alike."""
    return low if low == high else f"{low} to {high}"


def is_too_wide(value: Estimate) -> bool:
    """Return whether the upper end of an interval above 0 is too far from the value."""
    if value.low is None or value.high is None:
        return False
    return value.low > 0.0 and value.high > WIDEST * value.value


def number(value: float, unit: Unit) -> str:
    """Return a value in its unit, with as many digits as its size needs."""
    scaled = 100 * value if unit in {"percent", "points"} else value
    return with_minus(scaled, number_format(scaled, unit))


def number_format(scaled: float, unit: Unit) -> str:
    """Return the format of a number: fixed decimals, or one significant digit if it is tiny."""
    if unit == "value":
        return _value_format(scaled)
    digits = DIGITS[unit]
    # Below a hundredth of the last digit the exact value does not matter.
    is_tiny = 10 ** -(digits + 2) <= abs(scaled) < 10**-digits
    return ".1g" if is_tiny else f".{digits}f"


def _value_format(value: float) -> str:
    """Return the format of a number of any size: four significant digits, or three decimals."""
    size = abs(value)
    if size >= MANY:
        return ",.0f"
    if 0.0 < size < 0.001:
        return ".2g"
    return f".{3 - sum(size >= limit for limit in (10, 100))}f"


def with_minus(scaled: float, number_format: str) -> str:
    """Return a number in a format, with a typographic minus sign."""
    text = format(round(scaled, SAME_DECIMALS), number_format)
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def signless(value: float) -> str:
    """Return a share or a difference of shares in percent; what rounds to 0 has no sign."""
    text = number(value, "percent")
    return "0.0" if text == f"{MINUS}0.0" else text


def sign(unit: Unit) -> str:
    """Return what follows a number of this unit: a no-break space and a sign, or nothing."""
    return {"percent": f"{NO_BREAK}%", "points": f"{NO_BREAK}pts"}.get(unit, "")


def quantity(value: float) -> str:
    """Return a cost with four significant digits, such as "151,600", never as a power of 10."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= MANY else f"{rounded:g}"


@dataclass(frozen=True)
class WithUnit:
    """A value that prints in its unit, such as "9.0 %"; as `{value:bare}` without the sign."""

    value: float
    unit: Unit

    def __format__(self, format_spec: str) -> str:
        text = number(self.value, self.unit)
        return text if format_spec == "bare" else text + sign(self.unit)

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class WithInterval:
    """An estimate that prints in its unit, such as "9.0 % [5.7, 14.0]"."""

    estimate: Estimate
    unit: Unit

    def __str__(self) -> str:
        return bracketed(self.estimate, self.unit)
