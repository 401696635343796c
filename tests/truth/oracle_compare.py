"""Effects of two arms by the formulas: those that decide a comparison, and their verdicts."""

import math
from collections.abc import Callable
from typing import Any

from truth.inputs import Case
from truth.oracle_contrasts import difference, fieller, log_ratio
from truth.oracle_means import Level, Mean
from truth.oracle_measure import means_of

Contrast = Callable[..., tuple[float, float]]

# What is compared, how, and whether it is better when higher. The first decides; a second one is
# the quality that is judged with it, each at half the level.
DECIDES: dict[str, tuple[tuple[str, Contrast], ...]] = {
    "labels": (("flip_rate", log_ratio), ("accuracy", difference)),
    "probs": (("flip_rate", log_ratio), ("accuracy", difference)),
    "numbers": (("mae", fieller),),
    "scores": (("mean", difference),),
    "passes": (("mean", difference),),
    "rankings": (("first_item_flips", fieller), ("ndcg@5", difference)),
    "sets": (("set_flips", fieller),),
    "texts": (("accuracy", difference),),
}
BETTER_HIGHER = frozenset({"accuracy", "mean", "ndcg@5"})
QUALITIES = BETTER_HIGHER | {"mae"}
# With as many runs, the level of several rows follows from their correlation over runs.
CORRELATED_FROM = 10
AT_LOOK = 0.005
LOOKS = (5, 10, 20, 40, 80)


def compared(case: Case) -> dict[str, dict[str, Any]]:
    """Compare both arms: values of all means, and intervals and verdicts of those that decide."""
    if case.kind == "texts" and len(case.levels) > 1:
        return {}
    n_runs = _n_runs(case)
    base, arm = (means_of(case, name, n_runs) for name in ("old", "new"))
    figures = {
        f"effects.{name}": {"value": _value(name, base[name], arm[name])}
        for name in base.keys() & arm.keys()
        if _value(name, base[name], arm[name]) is not None and name in _names(case)
    }
    is_paired = "paired" in case.settings
    rows = [(name, how) for name, how in DECIDES[case.kind] if name in base and name in arm]
    fewest = min(x.n_runs for x in (next(iter(base.values())), next(iter(arm.values()))))
    # Two rows that are judged together share the level; of the sets, a second one is micro F1.
    has_both = all(min(base[name].value, arm[name].value) > 0.0 for name, _ in rows)
    share = 2 if has_both and (len(rows) > 1 or case.kind == "sets") else 1
    is_known = share == 1 or fewest < CORRELATED_FROM
    tail = AT_LOOK if "sequential" in case.settings and not _are_trials(case) else 0.025
    level = Level(tail / share, 0.025 / share)
    for name, how in rows:
        first, second = base[name], arm[name]
        if min(first.value, second.value) <= 0.0 or not is_known:
            continue
        if first.quantity.is_rate and _are_trials(case) and "cluster" in case.roles:
            continue  # how much of the variance of clusters is noise of trials is open
        low, high = how(first, second, is_paired=is_paired, level=level)
        value = _value(name, first, second)
        fields = {"low": min(low, value), "high": max(high, value), "value": value}
        verdict = _verdict(name, min(low, value), max(high, value), how)
        if case.variant == "alike":
            verdict = "not tested"
        elif fewest < 5 and not _are_trials(case):
            verdict = "too few runs"
        fields = {key: x for key, x in fields.items() if math.isfinite(x)}
        figures[f"effects.{name}"] = fields | ({"verdict": verdict} if verdict else {})
    return figures


def _names(case: Case) -> set[str]:
    """Return the metrics whose effects are ratios or differences of plain means."""
    return {name for name, _ in DECIDES[case.kind]} | {"brier", "nll", "bias"}


def _n_runs(case: Case) -> int | None:
    """Return the number of runs of the latest look, if a study grows."""
    if "sequential" not in case.settings:
        return None
    n = min(shape.runs for shape in case.shapes.values())
    return max((look for look in LOOKS if look <= n), default=None)


def _are_trials(case: Case) -> bool:
    return case.shapes["old"].runs == 1 and case.kind not in {"rankings", "sets"}


def _value(name: str, base: Mean, arm: Mean) -> float | None:
    if name in BETTER_HIGHER | {"brier", "nll", "bias"}:
        return arm.value - base.value
    return arm.value / base.value if base.value > 0 else None


def _verdict(name: str, low: float, high: float, how: Contrast) -> str | None:
    """Return the verdict of an interval that excludes no change; None of others."""
    nothing = 0.0 if how is difference else 1.0
    if low <= nothing <= high:
        return None  # equivalent, or not shown: its margin has another level
    is_good = (low > nothing) == (name in BETTER_HIGHER)
    if name in QUALITIES:
        return "better" if is_good else "worse"
    return "steadier" if is_good else "less steady"
