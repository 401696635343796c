"""Effects of one arm against another: the formulas of docs/explanation/comparing.md."""

import math

import numpy as np
from scipy import stats

from truth.oracle_means import Array, Level, Mean, at_least, jackknife, scaled_left_out


def difference(base: Mean, arm: Mean, *, is_paired: bool, level: Level) -> tuple[float, float]:
    """Return the interval of a difference of two means over the same examples."""
    center = arm.value - base.value
    drawn, noise = _drawn(base, arm, (1.0, 1.0), is_paired=is_paired)
    df = min(base.df, arm.df)
    if base.quantity.is_rate:
        drawn += _unseen(base, arm, drawn, noise)
        df = min(df, max(min(base.n_drawn, arm.n_drawn) - 1, 1))
    width = _width(base, arm, (drawn, noise), df, level, is_paired=is_paired, logs=False)
    if base.judges is not None and arm.judges is not None:
        # The same judges grade both arms: how strict they are cancels, but for what is left.
        of_judges = _student(level.examples, len(base.judges) - 1) ** 2
        width = math.hypot(width, math.sqrt(of_judges * jackknife(arm.judges - base.judges)))
    low, high = center - width, center + width
    if base.quantity.largest == 1.0:
        low, high = max(low, -1.0), min(high, 1.0)
    return low, high


def log_ratio(base: Mean, arm: Mean, *, is_paired: bool, level: Level) -> tuple[float, float]:
    """Return the interval of a ratio of two means, symmetric on the log scale."""
    slopes = (1 / base.value, 1 / arm.value)
    drawn, noise = _drawn(base, arm, slopes, is_paired=is_paired)
    df = min(base.df, arm.df)
    width = _width(base, arm, (drawn, noise), df, level, is_paired=is_paired, logs=True)
    ratio = arm.value / base.value
    return ratio * math.exp(-width), ratio * math.exp(width)


def fieller(base: Mean, arm: Mean, *, is_paired: bool, level: Level) -> tuple[float, float]:
    """Return all ratios r for which the mean of arm − r·base may be 0: Fieller (1954)."""
    drawn_t = _student(level.examples, min(base.df, arm.df))
    products = _cross(base, arm, is_paired=is_paired)
    parts = [(base.drawn, base.noise), (arm.drawn, arm.noise), products]
    if base.left_out is None or arm.left_out is None:
        # Trials are drawn again at each look, so that their noise has a quantile of its own.
        noise_t = _student(level.runs, min(base.df, arm.df))
        squares = [drawn_t**2 * (x - part) + noise_t**2 * part for x, part in parts]
        return _roots(base.value, arm.value, squares)
    logs = scaled_left_out(base), scaled_left_out(arm)
    df = _of_runs(*logs, is_paired=is_paired)[1]
    runs_t = _student(level.runs, df)
    own = [jackknife(x) for x in (base.left_out, arm.left_out)]
    shared = 0.0
    if is_paired:
        shared = (sum(own) - jackknife(arm.left_out - base.left_out)) / 2
    both = [
        runs_t**2 * over_runs + drawn_t**2 * (x - counted)
        for over_runs, (x, counted) in zip((*own, shared), parts, strict=True)
    ]
    wide = _roots(base.value, arm.value, both)
    alone = _roots(base.value, arm.value, [drawn_t**2 * x for x, _ in parts])
    return min(wide[0], alone[0]), max(wide[1], alone[1])


def _roots(base: float, arm: float, squares: list[float]) -> tuple[float, float]:
    a, b, c = base**2 - squares[0], base * arm - squares[2], arm**2 - squares[1]
    if a <= 0:
        return 0.0, math.inf
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return max(b - root, 0.0) / a, max(b + root, 0.0) / a


def _student(tail: float, df: float) -> float:
    return float(stats.t.ppf(1 - tail, df) if math.isfinite(df) else stats.norm.ppf(1 - tail))


def _cross(base: Mean, arm: Mean, *, is_paired: bool) -> tuple[float, float]:
    """Return the covariance of two means from drawing examples, and the part that runs count."""
    n, size = base.n_drawn, base.size
    if n <= 1:
        return 0.0, 0.0
    drawn = n / (n - 1) * math.fsum(base.units * arm.units) / size**2
    noise = 0.0
    if is_paired and base.left_out_units is not None and arm.left_out_units is not None:
        total = jackknife_rows(base.left_out_units + arm.left_out_units)
        apart = jackknife_rows(base.left_out_units) + jackknife_rows(arm.left_out_units)
        noise = (total - apart) / 2 / size**2
    return drawn, noise


def jackknife_rows(units: Array) -> float:
    """Return the jackknife variances of all units, added up."""
    return math.fsum(jackknife(column) for column in units.T)


def _drawn(base: Mean, arm: Mean, slopes, *, is_paired: bool) -> tuple[float, float]:
    shared, counted = _cross(base, arm, is_paired=is_paired)
    both = 2 * slopes[0] * slopes[1]
    drawn = base.drawn * slopes[0] ** 2 + arm.drawn * slopes[1] ** 2 - both * shared
    noise = base.noise * slopes[0] ** 2 + arm.noise * slopes[1] ** 2 - both * counted
    return max(drawn, 0.0), noise


def _unseen(base: Mean, arm: Mean, drawn: float, noise: float) -> float:
    n = min(base.n_drawn, arm.n_drawn)
    step = max(x.quantity.step(x.n_runs) for x in (base, arm))
    gaps = (arm.units - base.units) / base.n_examples if base.unit == "clusters" else None
    return half_an_example((drawn, noise), n_drawn=n, step=step, clusters=gaps)


def half_an_example(
    parts: tuple[float, float], *, n_drawn: float, step: float, clusters: Array | None
) -> float:
    """Return the variance of half an example in each direction (Agresti and Min 2005).

    As far as examples differ by the noise of runs, it is one of their steps; and half a cluster
    like those that differ.
    """
    drawn, noise = parts
    share = min(max(noise, 0.0) / drawn, 1.0) if drawn > 0 else 0.0
    unseen = (1 - share + share * step**2) / n_drawn**2
    if clusters is not None and (clusters**2).sum() > 0:
        return min((clusters**4).sum() / (clusters**2).sum(), unseen)
    return unseen


def _of_runs(base: Array, arm: Array, *, is_paired: bool) -> tuple[float, float]:
    """Return the variance over runs of a difference, with Welch's degrees of freedom."""
    if is_paired:
        return jackknife(arm - base), len(base) - 1
    first, second = jackknife(base), jackknife(arm)
    if first + second == 0:
        return 0.0, min(len(base), len(arm)) - 1
    df = (first + second) ** 2 / (first**2 / (len(base) - 1) + second**2 / (len(arm) - 1))
    return first + second, df


def _width(base, arm, parts, df, level, *, is_paired: bool, logs: bool) -> float:
    drawn, noise = parts
    t = _student(level.examples, df)
    if base.left_out is None or arm.left_out is None:
        noise = min(max(noise, 0.0), drawn)
        return math.sqrt(
            at_least(_student(level.runs, df) ** 2 * noise, t**2 * drawn, t**2 * noise)
        )
    if logs:
        left = [_log_left_out(x) for x in (base, arm)]
    else:
        left = [np.asarray(x.left_out) for x in (base, arm)]
    runs, run_df = _of_runs(*left, is_paired=is_paired)
    square = at_least(_student(level.runs, run_df) ** 2 * runs, t**2 * drawn, t**2 * noise)
    return math.sqrt(square)


def _log_left_out(mean: Mean) -> Array:
    floor = 0.5 / mean.n_examples
    least = min(floor, 0.5 * mean.value) if mean.quantity.is_count else floor * mean.value
    return np.log(np.maximum(np.asarray(mean.left_out), least))
