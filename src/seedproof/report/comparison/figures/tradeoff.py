"""What stability goes with: accuracy, and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.report.comparison import cautions
from seedproof.report.comparison.figures.names import MARKS, drawn_arms
from seedproof.report.comparison.figures.placing import Place, placed
from seedproof.report.comparison.groups import (
    MAX_LISTED,
    names,
    verdict_kind,
    verdict_on,
    with_verdict,
)
from seedproof.report.figures import Figure
from seedproof.report.figures.base import drawn
from seedproof.report.numbers import quantity


def stability_accuracy(comparison: Comparison) -> Figure:
    """Flip rate against the difference in accuracy, both with their intervals."""
    called = drawn_arms(comparison)
    rows = [_point(comparison.baseline, called, x=0.0, kind="base")]
    for arm in comparison.arms:
        if "accuracy" in arm.effects and "flip_rate" in arm.effects:
            effect = arm.effects["accuracy"]
            ends = {} if effect.low is None else {"x_low": effect.low, "x_high": effect.high}
            row = _point(arm, called, x=effect.value or 0.0, kind=_flip_kind(arm))
            rows.append(row | {name: 100 * (value or 0.0) for name, value in ends.items()})
    for row in rows:
        row["x"] *= 100
    placed(rows, Place())
    return Figure(
        name="stability_accuracy",
        section="Stability and accuracy",
        title="Flips and accuracy of each arm",
        takeaway=_tradeoff(comparison),
        reading=[
            Message(
                "steadier-and-more-accurate",
                "Up is steadier, right is more accurate. Lines are intervals: of the flip rate, "
                "and of the accuracy’s difference to the baseline.",
            )
        ],
        rows=rows,
        facts={
            "x": f"accuracy against {called[comparison.baseline.name]}, points",
            "y": "flip rate, % (up is steadier)",
            "nothing": 0.0,
            "log": False,
        },
        legend=[("square", "ink", "baseline"), *MARKS],
        header=("arm", "accuracy, points", "flip rate, %"),
        numbers=[(r["arm"], f"{r['x']:+.2f}", f"{r['flips']:.2f}") for r in rows],
        kind="tradeoff",
    )


def _flip_kind(arm: ComparedArm) -> str:
    return verdict_kind(verdict_on(arm, "flip_rate"))


def _point(arm: ComparedArm, called: Mapping[str, str], *, x: float, kind: str) -> dict[str, Any]:
    flips = arm.measurement.metrics["flip_rate"]
    row: dict[str, Any] = {
        "arm": called[arm.name],
        "x": x,
        "flips": 100 * flips.value,
        "kind": kind,
    }
    if flips.low is not None and flips.high is not None:
        row |= {"y_low": 100 * flips.low, "y_high": 100 * flips.high}
    return row


def _tradeoff(comparison: Comparison) -> Message:
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    worse = [arm for arm in steadier if verdict_on(arm, "accuracy") == "worse"]
    if not steadier:
        shaken = with_verdict(comparison, "flip_rate", "less steady")
        if shaken:
            words = f"{{arms}} {'is' if len(shaken) == 1 else 'are'} less steady."
            return Message("less-steady", words, arms=names(shaken))
        return Message("none-steadier", "No arm is shown to be steadier.")
    start = f"{{arms}} {'is' if len(steadier) == 1 else 'are'} steadier"
    if worse:
        return Message(
            "steadier-and-worse",
            f"{start}; {{worse}} {'loses' if len(worse) == 1 else 'lose'} accuracy.",
            arms=names(steadier),
            worse=names(worse),
        )
    verdicts = {verdict_on(arm, "accuracy") for arm in steadier}
    if verdicts <= {"better", "no difference shown"}:
        return Message(
            "steadier-and-no-loss-shown",
            f"{start}, and no loss of accuracy is shown.",
            arms=names(steadier),
        )
    return Message("steadier", f"{start}.", arms=names(steadier))


def cost_names(comparison: Comparison) -> list[str]:
    """Costs that the baseline and some arm have, and that differ at all."""
    every = (comparison.baseline, *comparison.arms)
    return [
        name
        for name in comparison.baseline.costs
        if len({arm.costs[name] for arm in every if name in arm.costs}) > 1
    ]


def stability_cost(comparison: Comparison, name: str) -> Figure:
    """Flip rate against one cost, with the arms that no other beats on both."""
    called = drawn_arms(comparison)
    rows = []
    for arm in (comparison.baseline, *comparison.arms):
        if name in arm.costs:
            kind = "base" if arm is comparison.baseline else _flip_kind(arm)
            rows.append(_point(arm, called, x=arm.costs[name], kind=kind))
    best = _undominated(rows)
    for row in rows:
        row["best"] = row["arm"] in best
    costs = [row["x"] for row in rows]
    is_log = min(costs) > 0 and max(costs) / min(costs) > 4
    placed(rows, Place(is_log=is_log))
    title = cautions.cost_title(name)
    return Figure(
        name="stability_cost_" + "".join(s if s.isalnum() else "_" for s in name),
        section="Stability and cost",
        title=f"Flips and {title}",
        takeaway=Message(
            "undominated-arms",
            "By their estimates, no other arm is both cheaper and steadier than {listed}.",
            listed=_list(best),
            arms=tuple(best),
        ),
        reading=_cost_reading(is_log=is_log),
        rows=rows,
        facts={
            "x": f"{drawn(title)} (median over runs)".replace("\\", "\\\\"),
            "y": "flip rate, % (up is steadier)",
            "nothing": None,
            "log": is_log,
        },
        legend=[("square", "ink", "baseline"), *MARKS, ("dash", "ink-3", "not beaten on both")],
        header=("arm", title, "flip rate, %"),
        numbers=[(r["arm"], quantity(r["x"]), f"{r['flips']:.2f}") for r in rows],
        kind="tradeoff",
    )


def _cost_reading(*, is_log: bool) -> list[Message]:
    reading = [
        Message(
            "steadier-and-cheaper",
            "Up is steadier, left is cheaper. The line joins those arms. Vertical lines are "
            "intervals of the flip rate.",
        )
    ]
    if is_log:
        reading.append(Message("logarithmic-costs", "The axis of costs is logarithmic."))
    return reading


def _undominated(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Arms that no other beats in both; one that ties in one and wins in the other beats."""
    return [
        one["arm"]
        for one in rows
        if not any(
            other["x"] <= one["x"]
            and other["flips"] <= one["flips"]
            and (other["x"] < one["x"] or other["flips"] < one["flips"])
            for other in rows
        )
    ]


def _list(listed: Sequence[str]) -> str:
    if len(listed) > MAX_LISTED:
        return f"the {len(listed)} on the line"
    return " or ".join(part for part in (", ".join(listed[:-1]), listed[-1]) if part)
