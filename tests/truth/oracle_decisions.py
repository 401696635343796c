"""Gates and decisions by the formulas: the intervals that decide, and what follows."""

import math
from dataclasses import replace
from typing import Any

from truth.inputs import LIMITS, NO_WORSE, Case
from truth.oracle_compare import AT_LOOK, BETTER_HIGHER, LOOKS, Contrast
from truth.oracle_contrasts import difference, fieller, log_ratio
from truth.oracle_means import Level, Mean, interval
from truth.oracle_measure import means_of

Figures = dict[str, dict[str, Any]]

# Trials may be looked at after each of up to twenty: docs/how-to/evaluation-logs.md.
AT_TRIAL_LOOK = Level(0.0025, 0.015)
HOW: dict[str, Contrast] = {
    "accuracy": difference,
    "mean": difference,
    "ndcg@5": difference,
    "mae": fieller,
    "first_item_flips": fieller,
    "set_flips": fieller,
}
DECIDED_BY = {
    "labels": "accuracy",
    "probs": "accuracy",
    "numbers": "mae",
    "scores": "mean",
    "passes": "mean",
    "rankings": "ndcg@5",
    "texts": "accuracy",
}


def _is_open(case: Case) -> bool:
    """Return whether verbs disagree about the case, so that its figures are only frozen."""
    of_texts = case.kind == "texts" and len(case.levels) > 1
    of_lists = case.kind in {"rankings", "sets"} and case.shapes["old"].runs == 1
    of_clusters = case.shapes["old"].runs == 1 and "cluster" in case.roles
    return of_texts or of_lists or of_clusters


# ------------------------------------------------------------------------------ gates


def gated(case: Case) -> Figures:
    """Judge the limits of the old arm, and the new arm against it."""
    if _is_open(case):
        return {}
    limits = _of_limits(case)
    return limits | _of_baseline(case)


def _stage(case: Case) -> tuple[int | None, Level | None, bool]:
    """Return the runs that are judged, their level, and whether pairs of runs need more width."""
    shape = case.shapes["old"]
    n = min(x.runs for x in case.shapes.values()) if case.shapes["new"] else shape.runs
    if shape.runs == 1 and case.levels[0] != "run":
        return None, AT_TRIAL_LOOK, False
    if "declared" in case.settings:
        return n, Level(), False
    reached = [look for look in LOOKS if look <= n]
    return (reached[-1], Level(AT_LOOK, 0.025), True) if reached else (n, None, False)


def _divided(level: Level, n_rules: int) -> Level:
    return replace(level, runs=level.runs / n_rules, examples=level.examples / n_rules)


def _of_limits(case: Case) -> Figures:
    rules = [
        (kind, metric, limit)
        for kind, limits in LIMITS[case.kind].items()
        for metric, limit in limits.items()
    ]
    n_runs, level, is_of_pairs = _stage(_alone(case, "old"))
    means = means_of(case, "old", n_runs)
    figures: Figures = {}
    for kind, metric, limit in rules:
        name, mean = f"limit.{kind} {metric}", means.get(metric)
        if mean is None or (case.kind == "passes" and metric == "flip_rate"):
            continue
        plain = interval(mean)
        if plain is None:
            continue
        figures[f"{name} found"] = {"value": mean.value, "low": plain[0], "high": plain[1]}
        if case.variant == "alike":
            figures[name] = {"outcome": "investigate", "reason": "untrusted input"}
        elif level is None:
            figures[name] = {"outcome": "investigate", "reason": "too few runs"}
        else:
            passing = replace(level, is_of_pairs=is_of_pairs)
            ends = [interval(mean, x) for x in (passing, _divided(passing, len(rules)))]
            figures |= _judged(name, kind, ends, limit, mean.value)
    return figures


def _alone(case: Case, arm: str) -> Case:
    return replace(case, shapes=dict.fromkeys(case.shapes, case.shapes[arm]))


def _judged(name: str, kind: str, ends: list[Any], limit: float, value: float) -> Figures:
    """Return the outcome: a pass by the end of one rule, a fail by that of all together."""
    passing, failing = ends
    low, high = (failing[0], passing[1]) if kind == "max" else (passing[0], failing[1])
    ends = {"value": value, "low": low, "high": high}
    figures = {f"{name} deciding": {key: x for key, x in ends.items() if math.isfinite(x)}}
    is_low, is_high = high <= limit, low > limit
    if kind == "min":
        is_low, is_high = low >= limit, high < limit
    outcome = "pass" if is_low else "fail" if is_high else "investigate"
    figures[name] = {"outcome": outcome}
    if outcome != "investigate":
        figures[name]["reason"] = "interval"
    return figures


def _of_baseline(case: Case) -> Figures:
    rules = NO_WORSE[case.kind]
    n_runs, level, _ = _stage(case)
    base, arm = (means_of(case, name, n_runs) for name in ("old", "new"))
    figures: Figures = {}
    for metric, margin in rules.items():
        if metric not in base or case.variant == "alike":
            continue
        name, how = f"baseline.no-worse {metric}", _how(case, metric)
        value = _effect_value(base[metric], arm[metric], how)
        if level is None:
            figures[name] = {"outcome": "investigate", "reason": "too few runs"}
            continue
        is_higher = metric in BETTER_HIGHER
        limit = 1 + margin if how is not difference else -margin if is_higher else margin
        ends = [
            how(base[metric], arm[metric], is_paired=False, level=x)
            for x in (level, _divided(level, len(rules)))
        ]
        ends = [(min(low, value), max(high, value)) for low, high in ends]
        figures |= _judged(name, "min" if is_higher else "max", ends, limit, value)
    return figures


def _how(case: Case, metric: str) -> Contrast:
    return (
        log_ratio
        if case.kind in {"labels", "probs"} and metric == "flip_rate"
        else HOW.get(metric, fieller)
    )


def _effect_value(base: Mean, arm: Mean, how: Contrast) -> float:
    return arm.value - base.value if how is difference else arm.value / base.value


# -------------------------------------------------------------------------- decisions


def decided(case: Case) -> Figures:
    """Return the effect that decides: all runs of the baseline, and the latest planned ones."""
    metric = DECIDED_BY.get(case.kind)
    if metric is None or _is_open(case) or case.variant == "alike":
        return {}
    n = case.shapes["new"].runs
    steps = [step for step in (2, 5, 10, 20) if step <= n]
    n_candidate = steps[-1] if n > 1 else None
    if n > 1 and case.shapes["old"].runs < max(steps[-1], 5):
        return {"decision": {"answer": "run more", "reason": "too few runs"}}
    base, arm = means_of(case, "old"), means_of(case, "new", n_candidate)
    if metric not in base:
        return {}
    how = _how(case, metric)
    low, high = how(base[metric], arm[metric], is_paired=False, level=Level())
    value = _effect_value(base[metric], arm[metric], how)
    return {"effect": {"value": value, "low": min(low, value), "high": max(high, value)}}
