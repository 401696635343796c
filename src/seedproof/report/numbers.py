"""How numbers are written: one way for each unit, everywhere."""

from seedproof.measurement.intervals import Estimate
from seedproof.metrics.card import Unit

NO_BREAK = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
# From here on a number with four digits that count has none behind the point.
MANY = 1000


def bracketed(value: Estimate, unit: Unit) -> str:
    """A value with its unit and interval, such as "9.0 % [5.7, 14.0]"."""
    text = number(value.value, unit) + sign(unit)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{number(value.low, unit)}, {number(value.high, unit)}]"


def number(value: float, unit: Unit) -> str:
    """A value in its unit, with as many digits as its size needs."""
    scaled = 100 * value if unit in {"percent", "points"} else value
    digits = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}[unit]
    # Below a hundredth of the last digit nobody cares for the value.
    is_tiny = 10 ** -(digits + 2) <= abs(scaled) < 10**-digits
    text = f"{scaled:.1g}" if is_tiny else f"{scaled:.{digits}f}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


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
