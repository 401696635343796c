"""What each arm changes: one chart a metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seedproof.comparison.arms.result import Comparison
from seedproof.metrics.card import card
from seedproof.report.comparison import amounts
from seedproof.report.comparison.figures.names import MARKS, drawn_arms
from seedproof.report.comparison.groups import verdict_kind
from seedproof.report.comparison.reasons import KEY_FIGURES, explained_by, of_method
from seedproof.report.comparison.view import KEY_METRICS, is_ratio
from seedproof.report.figures import Figure
from seedproof.report.reasons.words import named
from seedproof.stats.effect import Effect

# Ratios beyond these are drawn at the edge: an axis that reaches further shows nothing else.
LEAST_RATIO, LARGEST_RATIO = 1 / 16, 16.0
RATIO_TITLE = "times the baseline; left is steadier"
RATIO_TICKS = {
    0.0625: "×1/16",
    0.125: "×⅛",
    0.25: "×¼",
    0.5: "×½",
    1.0: "×1",
    2.0: "×2",
    4.0: "×4",
    8.0: "×8",
    16.0: "×16",
}


def forest(comparison: Comparison) -> tuple[Figure, ...]:
    """One chart a metric: ratios on a common logarithmic axis, differences each on its own."""
    parts = [(name, "", comparison) for name in KEY_METRICS]
    parts += [
        (name, method, of_method(comparison, method))
        for method in explained_by(comparison)
        for name in KEY_FIGURES
    ]
    drawn = [one for one in parts if any(one[0] in arm.effects for arm in one[2].arms)]
    ratios = [one for one in drawn if is_ratio(one[0])]
    domain = _ratio_domain(
        [arm.effects[name] for name, _, of in ratios for arm in of.arms if name in arm.effects]
    )
    found = []
    for name, method, of in (*ratios, *(one for one in drawn if not is_ratio(one[0]))):
        is_last = (name, method) == ratios[-1][:2]
        facts = _ratio_axis(domain, is_last=is_last) if is_ratio(name) else None
        found.append(_forest_block(of, name, method, facts))
    return tuple(found)


def _forest_block(
    comparison: Comparison, metric: str, method: str, ratio_axis: Mapping[str, Any] | None
) -> Figure:
    called = drawn_arms(comparison)
    arms = [arm for arm in comparison.arms if metric in arm.effects]
    effects = [arm.effects[metric] for arm in arms]
    facts = dict(ratio_axis or _difference_axis(comparison, metric, effects))
    low, high = facts["domain"]
    scale = 1.0 if ratio_axis or not amounts.unit(effects[0]) else 100.0
    rows: list[dict[str, Any]] = [
        {
            "arm": called[arm.name],
            "value": _within(effect.value, scale, low, high),
            "low": _within(effect.low, scale, low, high),
            "high": high if _is_endless(effect) else _within(effect.high, scale, low, high),
            "kind": verdict_kind(effect.verdict),
            "change": f"{amounts.change(effect)} {amounts.ends(effect)}".strip(),
            "verdict": effect.verdict,
        }
        for arm, effect in zip(arms, effects, strict=True)
    ]
    facts = {**facts, "arms": [row["arm"] for row in rows]}
    title, by_method = card(metric).title, f" by {named(method)}" if method else ""
    return Figure(
        name=f"forest_{metric}_{method}" if method else f"forest_{metric}",
        section="Effects",
        title=title,
        takeaway=None,
        reading=(),
        rows=rows,
        facts=facts,
        header=("arm", "change", "verdict"),
        numbers=[(row["arm"], row["change"], row["verdict"]) for row in rows],
        kind="forest",
        alone={
            "title": f"{title}{by_method}, change against {comparison.baseline.name}",
            "legend": MARKS,
            "facts": facts | {"labeled": True} | ({"axis": RATIO_TITLE} if ratio_axis else {}),
        },
    )


def _is_endless(effect: Effect) -> bool:
    """Whether its interval has a lower end alone, as a ratio to a baseline of 0 has."""
    return effect.low is not None and effect.high is None


def _within(value: float | None, scale: float, low: float, high: float) -> float | None:
    return None if value is None else float(np.clip(scale * value, low, high))


def _ratio_domain(effects: Sequence[Effect]) -> tuple[float, float]:
    """From the lowest end to the highest, with some room; it always has 1 in it."""
    values = [x for e in effects for x in (e.low, e.value, e.high) if x is not None]
    low = np.clip(min([*values, 0.7]), LEAST_RATIO, 1.0)
    high = np.clip(max([*values, 1.4]), 1.0, LARGEST_RATIO)
    return float(low / 1.08), float(high * 1.08)


def _ratio_axis(domain: tuple[float, float], *, is_last: bool) -> dict[str, Any]:
    ticks = {at: text for at, text in RATIO_TICKS.items() if domain[0] <= at <= domain[1]}
    return {
        "scale": "log",
        "domain": domain,
        "nothing": 1.0,
        "ticks": list(ticks),
        "texts": list(ticks.values()),
        "labeled": is_last,
        "axis": RATIO_TITLE if is_last else None,
    }


def _difference_axis(
    comparison: Comparison, metric: str, effects: Sequence[Effect]
) -> dict[str, Any]:
    in_points = bool(amounts.unit(effects[0]))
    scale = 100.0 if in_points else 1.0
    values = [scale * x for e in effects for x in (e.low, e.value, e.high) if x is not None]
    reach = 1.08 * max([abs(x) for x in values if np.isfinite(x)], default=0.0) or 1.0
    side = "right" if card(metric).better == "higher" else "left"
    what = "points" if in_points else "difference"
    del comparison
    return {
        "scale": "linear",
        "domain": (-reach, reach),
        "nothing": 0.0,
        "ticks": None,
        "texts": None,
        "labeled": True,
        "axis": f"{what} against the baseline; {side} is better",
    }
