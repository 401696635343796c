"""Charts of a comparison, as plain data."""

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from seedproof.comparison.arms.result import VOTE_SHARES, ComparedArm, Comparison
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import Better, card
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report.comparison import amounts
from seedproof.report.comparison.groups import (
    KEY_FIGURES,
    MAX_LISTED,
    all_arms,
    explained_by,
    foremost,
    names,
    of_method,
    shown_verdict,
    verdict_kind,
)
from seedproof.report.comparison.headline import on_flips
from seedproof.report.comparison.sentences import cost_title, on_spread
from seedproof.report.comparison.text import shortened
from seedproof.report.comparison.view import key_metrics
from seedproof.report.explanations.sentences import named
from seedproof.report.figures import Figure
from seedproof.report.figures.base import drawn
from seedproof.report.numbers import NO_BREAK, quantity
from seedproof.stats.effect import Effect, scale_of

ACCURACY, COST, VOTES = "Stability and accuracy", "Stability and cost", "Example by example"
MAX_NAME = 15
MARKS = [
    ("dot", "accent", "steadier or better"),
    ("diamond", "alert-mark", "less steady or worse"),
    ("dot", "ink-3", "equivalent"),
    ("ring", "ink-3", "not shown"),
]
# Ratios beyond these are drawn at the edge: a longer axis would hide all others.
LEAST_RATIO, LARGEST_RATIO = 1 / 16, 16.0
RATIO_TITLE = "times the baseline; left is steadier"
RATIO_TICKS = {
    2.0**power: text
    for power, text in enumerate(("×1/16", "×⅛", "×¼", "×½", "×1", "×2", "×4", "×8", "×16"), -4)
}
# Positions of a name next to its point: its side, and the offset of its anchor in pixels.
SPOTS = tuple(
    (side, across, down)
    for pair in ((-9, 10), (-24, 25), (-39, 40))
    for side, across in (("left", 9), ("right", -9))
    for down in pair
)[:10]
# Expected size of the area with points, of a character and of a line, in pixels.
WIDTH, HEIGHT, CHARACTER, LINE = 330.0, 240.0, 7.2, 15
MAX_VOTES = 6
VOTE_NAMES = ("all", "90", "80", "70", "60", "less")
SENTENCES = {
    "steadier-and-more-accurate": "Up is steadier, right is more accurate. Lines are intervals of "
    "the flip rate and of the difference in accuracy from the baseline.",
    "undominated-arms": "By their estimates, no other arm is both cheaper and steadier than "
    "{listed}.",
    "steadier-and-cheaper": "Up is steadier, left is cheaper. The line joins the arms that no "
    "other arm beats on both. Vertical lines are intervals of the flip rate.",
    "logarithmic-costs": "The axis of costs is logarithmic.",
    "variances-add-up": "Variances add up, so bars show the variance; the text next to each bar is "
    "the sd in points.",
    "few-runs-left-out": "Left out: {arms}; too few runs to estimate a spread.",
    "examples-settled": "{n_more:,} examples are more stable, {n_less:,} less stable.",
    "uneven-arms": "{n_base} and {n_arm} runs: fewer runs look more stable.",
}
_say = Sentences(SENTENCES)

Box = tuple[float, float, float, float]


def build_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    figures = _forest(comparison)
    if "accuracy" in comparison.baseline.measurement.metrics:
        figures += [_stability_accuracy(comparison), _spread_parts(comparison)]
    for name in comparison.baseline.costs if comparison.has_classes else ():
        if len({arm.costs[name] for arm in all_arms(comparison) if name in arm.costs}) > 1:
            figures.append(_stability_cost(comparison, name))
    voted = [arm for arm in foremost(comparison) if arm.votes is not None][:MAX_VOTES]
    votes = (_votes(comparison, arm, index) for index, arm in enumerate(voted))
    return (*(figure for figure in figures if figure.rows), *votes)


def _drawn_arms(comparison: Comparison) -> dict[str, str]:
    """Return a short, printable and unique name for each arm."""
    called: dict[str, str] = {}
    for arm in all_arms(comparison):
        name = shortened(drawn(arm.name), MAX_NAME)
        while name in called.values():
            name += "*"
        called[arm.name] = name
    return called


def _forest(comparison: Comparison) -> list[Figure]:
    """Return a chart per metric: ratios on one logarithmic axis, differences on their own axes."""
    parts = [(name, "", comparison) for name in key_metrics(comparison)]
    for method in explained_by(comparison):
        parts += [(name, method, of_method(comparison, method)) for name in KEY_FIGURES]
    parts = [part for part in parts if any(part[0] in arm.effects for arm in part[2].arms)]
    ratios = [part for part in parts if scale_of(part[0]) == "ratio"]
    effects = [e for name, _, of in ratios for arm in of.arms if (e := arm.effects.get(name))]
    axis = _ratio_axis(effects)
    # Only the last of the charts that share an axis has its labels.
    unlabeled = axis | {"labeled": False, "axis": None}
    figures = [_forest_block(*part, unlabeled) for part in ratios[:-1]]
    figures += [_forest_block(*part, axis) for part in ratios[-1:]]
    return figures + [_forest_block(*part, None) for part in parts if part not in ratios]


def _forest_block(
    metric: str, method: str, comparison: Comparison, ratio_axis: Mapping[str, Any] | None
) -> Figure:
    called = _drawn_arms(comparison)
    arms = [arm for arm in comparison.arms if metric in arm.effects]
    effects = {called[arm.name]: arm.effects[metric] for arm in arms}
    verdicts = {called[arm.name]: shown_verdict(comparison, arm.effects, metric) for arm in arms}
    better = comparison.better if metric == "mean" else card(metric).better
    facts = dict(ratio_axis or _difference_axis(better, list(effects.values())))
    facts["arms"] = list(effects)
    low, high = facts["domain"]
    factor = 100.0 if ratio_axis is None and amounts.unit(next(iter(effects.values()))) else 1.0

    def within(value: float | None) -> float | None:
        return None if value is None else float(np.clip(factor * value, low, high))

    rows: list[dict[str, Any]] = [
        {
            "arm": arm,
            "value": within(effect.value),
            "low": within(effect.low),
            # A ratio to a baseline of 0 has no upper end.
            "high": high if effect.low is not None and effect.high is None else within(effect.high),
            "kind": verdict_kind(verdicts[arm]),
            "change": amounts.change_with_ends(effect),
            "verdict": verdicts[arm],
        }
        for arm, effect in effects.items()
    ]
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


def _ratio_axis(effects: Sequence[Effect]) -> dict[str, Any]:
    """Return an axis over all intervals, with some room; it always includes 1."""
    values = [x for e in effects for x in (e.low, e.value, e.high) if x is not None]
    low = float(np.clip(min([*values, 0.7]), LEAST_RATIO, 1.0) / 1.08)
    high = float(np.clip(max([*values, 1.4]), 1.0, LARGEST_RATIO) * 1.08)
    ticks = {at: text for at, text in RATIO_TICKS.items() if low <= at <= high}
    return _axis("log", (low, high), 1.0, RATIO_TITLE) | {
        "ticks": list(ticks),
        "texts": list(ticks.values()),
    }


def _difference_axis(better: Better, effects: Sequence[Effect]) -> dict[str, Any]:
    scale, unit = (100.0, "points") if amounts.unit(effects[0]) else (1.0, "difference")
    values = [scale * x for e in effects for x in (e.low, e.value, e.high) if x is not None]
    reach = 1.08 * max([abs(x) for x in values if np.isfinite(x)], default=0.0) or 1.0
    side = {"higher": "; right is better", "lower": "; left is better"}.get(better, "")
    return _axis("linear", (-reach, reach), 0.0, f"{unit} against the baseline{side}")


def _axis(scale: str, domain: tuple[float, float], nothing: float, title: str) -> dict[str, Any]:
    return {
        "scale": scale,
        "domain": domain,
        "nothing": nothing,
        "ticks": None,
        "texts": None,
        "labeled": True,
        "axis": title,
    }


def _stability_accuracy(comparison: Comparison) -> Figure:
    called = _drawn_arms(comparison)
    rows = [_point(comparison, comparison.baseline, called, x=0.0)]
    for arm in comparison.arms:
        if "accuracy" in arm.effects and "flip_rate" in arm.effects:
            effect = arm.effects["accuracy"]
            row = _point(comparison, arm, called, x=100 * (effect.value or 0.0))
            if effect.low is not None:
                row |= {"x_low": 100 * effect.low, "x_high": 100 * (effect.high or 0.0)}
            rows.append(row)
    place_names(rows)
    return Figure(
        name="stability_accuracy",
        section=ACCURACY,
        title="Flips and accuracy of each arm",
        takeaway=on_flips(comparison),
        reading=[_say("steadier-and-more-accurate")],
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


def _point(
    comparison: Comparison, arm: ComparedArm, called: Mapping[str, str], *, x: float
) -> dict[str, Any]:
    verdict = shown_verdict(comparison, arm.effects, "flip_rate")
    flips = arm.measurement.metrics["flip_rate"]
    row: dict[str, Any] = {
        "arm": called[arm.name],
        "x": x,
        "flips": 100 * flips.value,
        "kind": "base" if arm is comparison.baseline else verdict_kind(verdict),
    }
    if flips.low is not None and flips.high is not None:
        row |= {"y_low": 100 * flips.low, "y_high": 100 * flips.high}
    return row


def _stability_cost(comparison: Comparison, name: str) -> Figure:
    called = _drawn_arms(comparison)
    rows = [
        _point(comparison, arm, called, x=arm.costs[name])
        for arm in all_arms(comparison)
        if name in arm.costs
    ]
    best = _undominated(rows)
    for row in rows:
        row["best"] = row["arm"] in best
    costs = [row["x"] for row in rows]
    is_log = min(costs) > 0 and max(costs) / min(costs) > 4
    place_names(rows, is_log=is_log)
    title = cost_title(name)
    listed = f"the {len(best)} on the line"
    if len(best) <= MAX_LISTED:
        listed = " or ".join(part for part in (", ".join(best[:-1]), best[-1]) if part)
    return Figure(
        name="stability_cost_" + "".join(s if s.isalnum() else "_" for s in name),
        section=COST,
        title=f"Flips and {title}",
        takeaway=_say("undominated-arms", listed=listed, arms=tuple(best)),
        reading=[_say("steadier-and-cheaper"), *([_say("logarithmic-costs")] if is_log else [])],
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


def _undominated(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the arms that no other arm beats on one axis without losing on the other."""
    places = [(row["x"], row["flips"]) for row in rows]
    return [
        row["arm"]
        for row, (x, flips) in zip(rows, places, strict=True)
        if not any(a <= x and b <= flips and (a, b) != (x, flips) for a, b in places)
    ]


def place_names(rows: Sequence[MutableMapping[str, Any]], *, is_log: bool = False) -> list[Box]:
    """Give each row the `spot` of its name that covers least; return the boxes of the names.

    Vega-Lite does not place labels, and overlapping names cannot be read.
    """
    lefts = _pixels(rows, ("x", "x_low", "x_high"), WIDTH, is_log=is_log)
    tops = _pixels(rows, ("flips", "y_low", "y_high"), HEIGHT)
    points = list(zip(lefts, tops, strict=True))
    boxes: list[Box] = []
    for row, (x, y) in zip(rows, points, strict=True):
        width = CHARACTER * len(row["arm"])
        options = []
        for side, across, down in SPOTS:
            start, top = x + across - (width if side == "right" else 0), y + down
            options.append((start, top - LINE / 2, start + width, top + LINE / 2))
        boxes.append(min(options, key=lambda box: _covered(box, boxes, points)))
        row["spot"] = list(SPOTS[options.index(boxes[-1])])
    return boxes


def _pixels(
    rows: Sequence[Mapping[str, Any]], ends: Sequence[str], size: float, *, is_log: bool = False
) -> list[float]:
    """Return the position of each row on an axis from the lowest to the highest end."""
    every = [[row[name] for name in ends if name in row] for row in rows]
    scaled = [[log(x) if is_log else x for x in values] for values in every]
    low = min(map(min, scaled))
    reach = max(map(max, scaled)) - low or 1.0
    return [size * (values[0] - low) / reach for values in scaled]


def _covered(box: Box, boxes: Sequence[Box], points: Sequence[tuple[float, float]]) -> float:
    left, top, right, bottom = box
    over = sum(
        max(0.0, min(right, other[2]) - max(left, other[0]))
        * max(0.0, min(bottom, other[3]) - max(top, other[1]))
        for other in boxes
    )
    hit = sum(60.0 for x, y in points if left - 6 < x < right + 6 and top - 6 < y < bottom + 6)
    return over + hit + 20 * (max(0.0, -left) + max(0.0, right - WIDTH))


def _spread_parts(comparison: Comparison) -> Figure:
    """Split the variance of accuracy over runs into independent flips and the excess."""
    called = _drawn_arms(comparison)
    rows: list[dict[str, Any]] = []
    numbers, left_out = [], []
    for arm in all_arms(comparison):
        name, metrics = called[arm.name], arm.measurement.metrics
        if arm.measurement.n_runs < VERDICT_FROM or "accuracy_sd" not in metrics:
            left_out.append(arm)
            continue
        total = (100 * metrics["accuracy_sd"].value) ** 2
        chance = min((100 * metrics["accuracy_sd_independent"].value) ** 2, total)
        sd = f"{total**0.5:.2f}"
        numbers.append((name, f"{chance:.2f}", f"{total - chance:.2f}", sd))
        rows += [
            {"arm": name, "part": part, "from": start, "to": end, "text": f"sd {sd}"}
            for part, start, end in (("independent", 0.0, chance), ("excess", chance, total))
        ]
    reading = [_say("variances-add-up")]
    if left_out and rows:
        reading.append(_say("few-runs-left-out", arms=names(left_out)))
    return Figure(
        name="spread_parts",
        section=ACCURACY,
        title="Parts of the spread of accuracy",
        takeaway=next(reversed(on_spread(comparison)), None),
        reading=reading,
        rows=rows,
        facts={"x": "variance of accuracy over runs, points²", "arms": list(called.values())},
        legend=[
            ("band", "accent-2", "explained by independent flips"),
            ("band", "alert-mark", "excess: errors correlated within a run"),
        ],
        header=("arm", "independent, points²", "excess, points²", "sd, points"),
        numbers=numbers,
    )


def _votes(comparison: Comparison, arm: ComparedArm, index: int) -> Figure:
    """Count the examples that go from one share of votes to another."""
    called = _drawn_arms(comparison)
    counts = np.zeros((len(VOTE_SHARES),) * 2, dtype=int) if arm.votes is None else arm.votes
    limits = _count_limits(comparison)
    rows: list[dict[str, Any]] = [
        {
            "before": VOTE_NAMES[before],
            "after": VOTE_NAMES[after],
            "count": int(count),
            "text": _counted(int(count)),
            "step": int(np.searchsorted(limits, count, side="right")),
            "moved": "kept" if after == before else "yes",
        }
        for (after, before), count in np.ndenumerate(counts)
    ]
    reading = []
    effect = arm.effects.get("label_entropy")
    if effect is not None and effect.value is not None:
        word = "falls" if effect.value <= 1 else "rises"
        words = f"Label entropy {word} by {{percent:.0f}}{NO_BREAK}%."
        reading.append(Message(f"entropy-{word}", words, percent=abs(100 * (1 - effect.value))))
    n_base, n_arm = comparison.baseline.measurement.n_runs, arm.measurement.n_runs
    if n_base != n_arm:
        reading.append(_say("uneven-arms", n_base=n_base, n_arm=n_arm))
    n_more, n_less = moved_examples(arm)
    return Figure(
        name=f"votes_before_after_{index}",
        section=VOTES,
        title=arm.name,
        takeaway=_say("examples-settled", n_more=n_more, n_less=n_less),
        reading=reading,
        rows=rows,
        facts={
            "names": list(VOTE_NAMES),
            "x": f"% of votes with {called[comparison.baseline.name]}".replace("\\", "\\\\"),
            "y": f"% of votes with {called[arm.name]}".replace("\\", "\\\\"),
        },
        header=("before", "after", "examples"),
        numbers=[(r["before"], r["after"], f"{r['count']:,}") for r in rows if r["count"]],
        alone={
            "title": f"Examples by their share of votes: {comparison.baseline.name} → {arm.name}",
            "legend": vote_legend(comparison),
        },
    )


def moved_examples(arm: ComparedArm) -> tuple[int, int]:
    """Return how many examples reach a larger share of votes, and how many a smaller one."""
    if arm.votes is None:
        return 0, 0
    return int(np.triu(arm.votes, 1).sum()), int(np.tril(arm.votes, -1).sum())


def _count_limits(comparison: Comparison) -> list[int]:
    """Return the counts at which a cell gets one step darker."""
    n_examples = comparison.baseline.measurement.n_examples
    factor = 10 ** max(0, int(np.ceil(np.log10(n_examples / 5000))))
    return [1, *(factor * limit for limit in (5, 20, 60, 200))]


def vote_legend(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the legend of the steps."""
    limits = _count_limits(comparison)
    texts = [f"{start:,}–{after - 1:,}" for start, after in pairwise(limits)]
    texts = [f"{texts[0]} examples", *texts[1:], f"{limits[-1]:,} and more"]
    return [("band", f"r{step}", text) for step, text in enumerate(texts, start=1)]


def _counted(count: int) -> str:
    if count < 100_000:
        return f"{count:,}" if count else ""
    return f"{count / 1e6:.1f}M" if count >= 1_000_000 else f"{count // 1000}k"
