"""A root between two ends, without loading `scipy.optimize`."""

from collections.abc import Callable
from math import copysign, inf

# As in `scipy.optimize.brentq`, whose steps these are: roots agree to the last bit.
TOLERANCE, RELATIVE_TOLERANCE, MOST_STEPS = 2e-12, 4 * 2.0**-52, 100


def bracketed_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a continuous function with different signs at both ends, to 2e-12.

    Brent's method (Brent 1973, chapter 4): secant and inverse quadratic steps, with a bisection
    whenever they do not shrink the bracket fast enough.
    """
    before, here = low, high
    f_before, f_here = function(before), function(here)
    if 0.0 in {f_before, f_here}:
        return before if f_before == 0.0 else here
    if copysign(1.0, f_before) == copysign(1.0, f_here):
        raise ValueError("the function has the same sign at both ends")
    across = f_across = last_step = step = 0.0
    for _ in range(MOST_STEPS):
        if f_before != 0.0 and copysign(1.0, f_before) != copysign(1.0, f_here):
            across, f_across = before, f_before
            last_step = step = here - before
        if abs(f_across) < abs(f_here):
            before, here, across = here, across, here
            f_before, f_here, f_across = f_here, f_across, f_here
        delta = (TOLERANCE + RELATIVE_TOLERANCE * abs(here)) / 2
        half = (across - here) / 2
        if f_here == 0.0 or abs(half) < delta:
            return here
        attempt = inf
        if abs(last_step) > delta and abs(f_here) < abs(f_before):
            if before == across:
                attempt = -f_here * (here - before) / (f_here - f_before)
            else:
                slope = (f_before - f_here) / (before - here)
                slope_across = (f_across - f_here) / (across - here)
                attempt = -f_here * (f_across * slope_across - f_before * slope)
                attempt /= slope_across * slope * (f_across - f_before)
        if 2 * abs(attempt) < min(abs(last_step), 3 * abs(half) - delta):
            last_step, step = step, attempt
        else:
            last_step = step = half
        before, f_before = here, f_here
        here += step if abs(step) > delta else copysign(delta, half)
        f_here = function(here)
    raise ValueError(f"no root after {MOST_STEPS} steps")
