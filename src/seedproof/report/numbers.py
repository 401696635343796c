"""How numbers are written: one way for each unit, everywhere."""

from collections.abc import Callable
from dataclasses import dataclass

from seedproof.metrics.card import Unit
from seedproof.stats.intervals import Estimate

NO_BREAK = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
# From here on a number with four digits that count has none behind the point.
MANY = 1000
# Sums in another order differ in their last bits, which must not decide how a tie is rounded:
# 76.05 and 76.05000000000003 are one figure and have one text.
SAME_DECIMALS = 9


def bracketed(value: Estimate, unit: Unit) -> str:
    """A value with its unit and interval, such as "9.0 % [5.7, 14.0]"."""
    return number(value.value, unit) + sign(unit) + in_brackets(value, lambda x: number(x, unit))


def in_brackets(value: Estimate, write: Callable[[float], str]) -> str:
    """An interval after a space, such as " [5.7, 14.0]"; nothing without one."""
    if value.low is None or value.high is None:
        return ""
    return f" [{write(value.low)}, {write(value.high)}]"


def number(value: float, unit: Unit) -> str:
    """A value in its unit, with as many digits as its size needs."""
    scaled = 100 * value if unit in {"percent", "points"} else value
    return with_minus(scaled, number_format(scaled, unit))


def number_format(scaled: float, unit: Unit) -> str:
    """The format of a number in its unit: fixed digits, or one that counts if it is tiny."""
    digits = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}[unit]
    # Below a hundredth of the last digit nobody cares for the value.
    is_tiny = 10 ** -(digits + 2) <= abs(scaled) < 10**-digits
    return ".1g" if is_tiny else f".{digits}f"


def with_minus(scaled: float, number_format: str) -> str:
    """Return a number in a format, with a true minus sign before it."""
    text = format(round(scaled, SAME_DECIMALS), number_format)
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def signless(value: float) -> str:
    """Return a share or a difference of shares in percent; what rounds to 0 has no sign."""
    text = number(value, "percent")
    return "0.0" if text == f"{MINUS}0.0" else text


def sign(unit: Unit) -> str:
    """What follows a number of this unit: a sign, or nothing."""
    return {"percent": f"{NO_BREAK}%", "points": f"{NO_BREAK}pts"}.get(unit, "")


def quantity(value: float) -> str:
    """What something costs, with four digits that count, such as "151,600"; never a power of 10."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if abs(rounded) >= MANY else f"{rounded:g}"


def short(share: float) -> str:
    """A share as people write it in passing, such as ".62"."""
    return f"{share:.2f}".removeprefix("0")


@dataclass(frozen=True)
class WithUnit:
    """A value that is written in its unit, such as "9.0 %"; as `{value:bare}`, without its sign.

    Args:
        value: The value.
        unit: Its unit.
    """

    value: float
    unit: Unit

    def __format__(self, format_spec: str) -> str:
        text = number(self.value, self.unit)
        return text if format_spec == "bare" else text + sign(self.unit)

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class WithInterval:
    """An estimate that is written in its unit, such as "9.0 % [5.7, 14.0]".

    Args:
        estimate: The value and its interval.
        unit: Their unit.
    """

    estimate: Estimate
    unit: Unit

    def __str__(self) -> str:
        return bracketed(self.estimate, self.unit)


@dataclass(frozen=True)
class PercentText:
    """A share that is written in passing, such as ".62".

    Args:
        value: The share.
    """

    value: float

    def __str__(self) -> str:
        return short(self.value)


@dataclass(frozen=True)
class Correlation:
    """A correlation that is written with two digits, and its interval if it has one.

    Args:
        estimate: The value and its interval.
    """

    estimate: Estimate

    def __str__(self) -> str:
        value, low, high = self.estimate.value, self.estimate.low, self.estimate.high
        if low is None or high is None:
            return _two_digits(value)
        return f"{_two_digits(value)} [{_two_digits(low)}, {_two_digits(high)}]"


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
