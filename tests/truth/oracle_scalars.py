"""Single numbers per run by scipy: Student's, Welch's and paired intervals, and Bonett's."""

from typing import Any

import numpy as np
from scipy import stats

from truth.inputs import LIMITS, SCALARS, Case
from truth.oracle_compare import AT_LOOK, LOOKS
from truth.oracle_means import Array, spread

Figures = dict[str, dict[str, Any]]


def measured(case: Case) -> Figures:
    """Measure the old arm: mean and spread of each number."""
    figures: Figures = {}
    for name, values in _numbers(case, "old").items():
        figures[f"metrics.{name}"] = _mean(values, 0.025)
        sd, ends = spread(values)
        figures[f"metrics.{name}_sd"] = {"value": sd} | _ends(ends)
    return figures


def compared(case: Case) -> Figures:
    """Compare both arms: the first number decides."""
    n = _looked(case) if "sequential" in case.settings else None
    name = SCALARS[0]
    base, arm = (_numbers(case, x, n)[name] for x in ("old", "new"))
    tail = AT_LOOK if "sequential" in case.settings else 0.025
    figures = {"value": float(arm.mean() - base.mean())}
    is_paired = "paired" in case.settings
    if min(len(base), len(arm)) < 3 or np.ptp(base) + np.ptp(arm) == 0.0:
        return {f"effects.{name}": figures}
    return {f"effects.{name}": figures | _difference(base, arm, tail, is_paired=is_paired)}


def gated(case: Case) -> Figures:
    """Judge the old arm by its limits."""
    shape, limits = case.shapes["old"], LIMITS["scalars"]
    if case.variant == "alike":
        return {}
    looks = LOOKS if "declared" not in case.settings else (shape.runs,)
    reached = [look for look in looks if look <= shape.runs]
    figures: Figures = {}
    for kind, rules in limits.items():
        for name, limit in rules.items():
            if not reached:
                figures[f"limit.{kind} {name}"] = {
                    "outcome": "investigate",
                    "reason": "too few runs",
                }
                continue
            values = _numbers(case, "old", reached[-1])[name]
            figures[f"limit.{kind} {name} found"] = _mean(values, 0.025)
            tail = 0.025 if "declared" in case.settings else AT_LOOK
            passing, failing = (_mean(values, x) for x in (tail, tail / 2))
            low, high = (
                (failing["low"], passing["high"])
                if kind == "max"
                else (passing["low"], failing["high"])
            )
            is_met = high <= limit if kind == "max" else low >= limit
            is_broken = low > limit if kind == "max" else high < limit
            outcome = "pass" if is_met else "fail" if is_broken else "investigate"
            figures[f"limit.{kind} {name}"] = {"outcome": outcome}
            figures[f"limit.{kind} {name} deciding"] = {"low": low, "high": high}
    return figures


def _numbers(case: Case, arm: str, n_runs: int | None = None) -> dict[str, Array]:
    return dict(zip(SCALARS, case.values[arm][:n_runs].T, strict=True))


def _looked(case: Case) -> int | None:
    n = min(shape.runs for shape in case.shapes.values())
    return max((look for look in LOOKS if look <= n), default=None)


def _mean(values: Array, tail: float) -> dict[str, Any]:
    value = float(values.mean())
    if len(values) < 3 or np.ptp(values) == 0.0:
        return {"value": value}
    width = stats.t.ppf(1 - tail, len(values) - 1) * stats.sem(values)
    return {"value": value, "low": value - width, "high": value + width}


def _ends(ends: tuple[float, float] | None) -> dict[str, Any]:
    return {} if ends is None else {"low": ends[0], "high": ends[1]}


def _difference(base: Array, arm: Array, tail: float, *, is_paired: bool) -> dict[str, Any]:
    test = stats.ttest_rel(arm, base) if is_paired else stats.ttest_ind(arm, base, equal_var=False)
    low, high = test.confidence_interval(1 - 2 * tail)
    return {"low": low, "high": high}
