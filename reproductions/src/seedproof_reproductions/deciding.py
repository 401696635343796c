"""The number of runs that would decide an open claim."""

import math

from seedproof_reproductions.rules import (
    KNOWN_WITHIN,
    MARGIN,
    SD_OF_TEN_SEEDS,
    Evidence,
    interval_of,
)

# A noise ceiling needs at least so many runs.
CEILING_RUNS = 8
# A number of runs beyond this is not stated.
MOST_RUNS = 10_000
# Floating point errors do not raise a number of runs.
ROUNDING = 1e-9


def runs_to_decide(rule: str, evidence: Evidence) -> float | None:
    """Return about how many runs per arm would decide an open claim, if our figure is the truth.

    Widths of intervals fall with the square root of the number of runs. The number has two digits,
    and is infinite beyond `MOST_RUNS`. None if the rule has no such number, or if no number would
    do, see `is_imprecise`.
    """
    if rule == "correlation" and evidence.ceiling is None and evidence.n_runs is not None:
        return CEILING_RUNS if evidence.n_runs < CEILING_RUNS else None
    match rule:
        case "share":
            steps = _steps_of_share(evidence)
        case "better":
            steps = _steps_apart(evidence)
        case _:
            steps = _steps(rule, evidence)
    if evidence.n_runs is None or not steps or is_imprecise(rule, evidence):
        return None
    most = max((width / left) ** 2 if left > 0 else math.inf for width, left in steps)
    needed = evidence.n_runs * most
    # What as many runs did not decide is open for another reason.
    if needed <= evidence.n_runs:
        return None
    if needed > MOST_RUNS:
        return math.inf
    unit = int(10 ** max(math.floor(math.log10(needed)) - 1, 0))
    return unit * math.ceil(needed / unit - ROUNDING)


def is_imprecise(rule: str, evidence: Evidence) -> bool:
    """Return True if a published figure differs from ours by less than its own sampling error.

    Then none of our runs can refute it.
    """
    interval = evidence.interval if rule == "value" else interval_of(evidence.effect)
    error = SD_OF_TEN_SEEDS if rule == "value" else evidence.published_error
    if rule not in {"value", "cut"} or interval is None or min(interval) <= 0:
        return False
    if error is None or evidence.published is None:
        return False
    published = evidence.published if rule == "value" else 1 - evidence.published / 100
    if published <= 0 or interval[1] <= published <= interval[2]:
        return False
    distance = math.log(interval[0] / published)
    return 0 < (abs(distance) if rule == "value" else distance) <= error


def _steps(rule: str, evidence: Evidence) -> list[tuple[float, float]]:
    """Return the width of an interval towards each bound that matters, and the way to it."""
    is_estimate = rule in {"value", "range", "positive"}
    interval = evidence.interval if is_estimate else interval_of(evidence.effect)
    is_ratio = rule == "value" or (evidence.effect is not None and evidence.effect.scale == "ratio")
    if interval is None or (is_ratio and min(interval) <= 0):
        return []
    value, low, high = (math.log(x) for x in interval) if is_ratio else interval
    below, above = value - low, high - value
    from_none = (below, value) if value > 0 else (above, -value)
    known = (max(below, above), math.log(KNOWN_WITHIN))
    steps = []
    match rule:
        case "direction" | "positive":
            steps = [from_none]
        case "cut" if evidence.published is not None:
            missed, error = value - math.log(1 - evidence.published / 100), evidence.published_error
            if missed <= below:
                steps = [from_none, known]
            elif error is None:  # it shrinks as ours does
                steps = [(math.sqrt(2) * below, missed)]
            else:  # more of our runs do not change it
                steps = [(below, math.sqrt(max(missed**2 - error**2, 0.0)))]
        case "loss" | "accuracy":
            left = value + MARGIN
            steps = [(below, left) if left > 0 else (above, -left)]
        case "value" if evidence.published is not None:
            steps = [known] if interval[1] <= evidence.published <= interval[2] else []
        case "range" if evidence.between is not None:
            least, most = evidence.between
            if least <= value <= most:
                steps = [(below, value - least), (above, most - value)]
            else:
                steps = [(below, value - most) if value > most else (above, least - value)]
    return steps


def _steps_of_share(evidence: Evidence) -> list[tuple[float, float]]:
    """Return the steps until both ends are within a factor of two of the value."""
    interval = evidence.interval
    if interval is None or interval[0] <= 0:
        return []
    value, low, high = interval
    return [
        (value - low, value * (1 - 1 / KNOWN_WITHIN)),
        (high - value, value * (KNOWN_WITHIN - 1)),
    ]


def _steps_apart(evidence: Evidence) -> list[tuple[float, float]]:
    """Return the widths of two intervals that have to be apart, and the way between their values.

    One better arm refutes that an arm is the best; to show it, all others have to be apart.
    """
    own, others = interval_of(evidence.effect), map(interval_of, evidence.others.values())
    known = [other for other in others if other is not None and min(other) > 0]
    if own is None or min(own) <= 0:
        return []
    value, low, high = map(math.log, own)
    better, worse = [], []
    for other, other_low, other_high in (tuple(map(math.log, x)) for x in known):
        if other < value:
            better.append((value - low + other_high - other, value - other))
        else:
            worse.append((high - value + other - other_low, other - value))
    return [min(better, key=lambda step: step[0] / step[1])] if better else worse
