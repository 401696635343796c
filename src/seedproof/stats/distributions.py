"""Quantiles and logits without scipy, which takes longer to import than a measurement."""

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

import numpy as np

from seedproof.typing import FloatArray

# Degrees of freedom beyond which the series is exact to rounding, and logarithms of Γ cancel.
MANY = 1000
# Shares beyond this logit are 0 or 1 in all digits; and a probability that has a logarithm.
LARGEST_LOGIT, TINY = 300.0, 1e-300


def logit(share: FloatArray | float) -> FloatArray:
    """Return the logarithm of the odds; infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(share) - np.log1p(-np.asarray(share)))


def expit(value: FloatArray | float) -> FloatArray:
    """Return the share with this logit."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(value))))


def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=256)
def student_quantile(df: float, share: float) -> float:
    """Return the quantile of Student's t distribution, for a share above 0.5.

    Newton's method on the logarithm of the upper tail, which is almost linear in ln t where tails
    are heavy, and concave where they are light.
    """
    t = normal_quantile(share)
    if df > MANY:
        return _near_normal(df, t)
    for _ in range(100):
        beyond, density = _student_tail(df, t)
        step = log(beyond / (1 - share)) * beyond / (density * t)
        t *= exp(step)
        if abs(step) < 1e-14:
            break
    return t


def _near_normal(df: float, z: float) -> float:
    """The quantile from that of the normal distribution: Abramowitz & Stegun (1964), 26.7.5."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df**power for power, term in enumerate(terms, start=1))


def student_tail(df: float, t: float) -> float:
    """Return the probability that Student's variable is above t > 0."""
    return _student_tail(df, t)[0]


def _student_tail(df: float, t: float) -> tuple[float, float]:
    """Probability that Student's variable is above t > 0, and its density there."""
    a, rest = df / 2, t * t / (df + t * t)
    peak = exp(lgamma(a + 0.5) - lgamma(a)) / sqrt(pi * df)
    density = peak * exp(-(a + 0.5) * log1p(t * t / df))
    # Both continued fractions are of the incomplete beta function; each converges on its side.
    if rest > 1.5 / (a + 2.5):
        return density * t / df * _fraction(a, 0.5, 1 - rest), density
    return 0.5 - density * t * _fraction(0.5, a, rest), density


def _fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, by Lentz: Press et al. (2007), 6.4."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c = 1 + step / c or tiny
            d = 1 / (1 + step * d or tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


@lru_cache(maxsize=256)
def chi_square_quantile(df: float, share: float) -> float:
    """Return the quantile of a χ² variable.

    Newton's method on the logarithm of the smaller tail, which is almost linear in ln x or concave.
    """
    # Wilson and Hilferty (1931), PNAS 17:684, where they are close; below it, the density without
    # its exponential factor.
    a, part = df / 2, 2 / (9 * df)
    x = a * (1 - part + normal_quantile(share) * part**0.5) ** 3
    if share < 0.5:
        x = exp((log(share) + lgamma(a + 1)) / a)
    for _ in range(100):
        below, slope = _gamma_share(a, x)
        if share < 0.5:
            step = log(share / below) / slope
        else:
            step = log((1 - below) / (1 - share)) * (1 - below) / (slope * below)
        x *= exp(step)
        if abs(step) < 1e-13:
            break
    return float(2 * x)


def _gamma_share(a: float, x: float) -> tuple[float, float]:
    """Probability that a gamma variable is below x, and the slope of its logarithm in ln x."""
    # Series of the incomplete gamma function: Press et al. (2007), 6.2.
    term = total = 1 / a
    n = a
    while term > total * 1e-17:
        n += 1
        term *= x / n
        total += term
    return total * exp(a * log(x) - x - lgamma(a)), 1 / total


def gamma_quantile(shape: float, share: float) -> float:
    """Return the quantile of a gamma variable with this shape and the scale 1."""
    return chi_square_quantile(2 * shape, share) / 2


def beta_quantile(a: float, b: float, share: float) -> float:
    """Return the quantile of a beta variable, whose parameters are both above 0.

    Newton's method on the logarithm of the smaller tail, kept in a bracket, on the scale of the
    logit.
    """
    low, high = -LARGEST_LOGIT, LARGEST_LOGIT
    z = normal_quantile(share)
    at = min(max(log(a / b) + z * sqrt(1 / a + 1 / b), low), high)
    for _ in range(200):
        below, above, density = _beta_tails(a, b, at)
        if share < 0.5:
            gap, slope = log(max(below, TINY) / share), density / max(below, TINY)
        else:
            gap, slope = log((1 - share) / max(above, TINY)), density / max(above, TINY)
        low, high = (low, at) if gap > 0.0 else (at, high)
        following = at - gap / slope if slope > 0.0 else low
        if not low < following < high:
            following = (low + high) / 2
        step, at = following - at, following
        if abs(step) < 1e-13 * max(abs(at), 1.0):
            break
    return 1 / (1 + exp(-at))


def _beta_tails(a: float, b: float, at: float) -> tuple[float, float, float]:
    """Both tails of a beta variable at a logit, and the density of its logit."""
    # ln x and ln(1 − x), without losing what is close to 1.
    log_x, log_rest = -log1p(exp(-at)), -log1p(exp(at))
    x, rest = exp(log_x), exp(log_rest)
    density = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest)
    if x < (a + 1) / (a + b + 2):
        below = density / a * _fraction(a, b, x)
        return below, 1 - below, density
    above = density / b * _fraction(b, a, rest)
    return 1 - above, above, density


def upward_skewness(values: FloatArray) -> float:
    """Return the bias-corrected skewness of at least three values, or 0 if it is negative."""
    n, deviations = len(values), values - values.mean()
    spread = float(np.sqrt(np.square(deviations).mean()))
    if spread == 0.0:
        return 0.0
    skewness = float(np.power(deviations, 3).mean()) / spread**3
    return max(skewness * float(np.sqrt(n * (n - 1))) / (n - 2), 0.0)
