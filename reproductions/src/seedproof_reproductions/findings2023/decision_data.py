"""Plain data of the decision page: what to use, short advice, and points of the Pareto chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seedproof.report.numbers import NO_BREAK
from seedproof.stats.intervals import Estimate
from seedproof_reproductions.figures import change, figure, multiple
from seedproof_reproductions.findings2023 import reading, selection
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, layout, title_of
from seedproof_reproductions.findings2023.page_data import Data, Settings, has_plain_ece, spanned
from seedproof_reproductions.findings2023.reading import (
    ALL_ACCURACY,
    ALL_FLIPS,
    FLIPS,
    SettingResults,
)
from seedproof_reproductions.findings2023.remaining import of_replaced
from seedproof_reproductions.findings2023.selection import Candidate, has_enough
from seedproof_reproductions.page import Table
from seedproof_reproductions.rules import loses

FIXED, SHARED = "fixed-init", "tgtss-shared"
# TGTSS of fine-tuned encoders, by the kind of teacher.
SELDOM = {"fresh": "tgtss-every-10", "shared": "tgtss-every-10-shared"}
# Costs no higher than this are drawn as none.
NO_COST = 0.005


def choices_table(budgets: Mapping[str, Candidate | None]) -> Table:
    """Return the arm of each budget with its flips in each setting, lowest accuracy and costs.

    An arm is None if none qualifies; at least one budget has an arm.
    """
    kinds = {row["says"]: row["arms"] for row in layout()["budgets"]}
    titles = next([each.study_title for each in arm.settings] for arm in budgets.values() if arm)
    header = (
        "you can afford",
        "use",
        *(f"flips, {title}" for title in titles),
        f"accuracy (lowest of {len(titles)})",
        "training (head alone)",
        "serving",
    )
    rows = []
    for budget, arm in budgets.items():
        if arm is None:
            reason = layout()["titles"]["unfilled"][kinds[budget]]
            rows.append((budget, reason, *[""] * (len(header) - 2)))
            continue
        training, head = multiple(arm.cost("training")), arm.cost("heads")
        cost = training if head is None else f"{training} ({head:.2g}×)"
        known = [effect for effect in arm.effects(ALL_ACCURACY) if effect is not None]
        accuracy = change(min(known, key=lambda effect: effect.value or 0.0, default=None))
        title, flips = f"**{title_of(arm.arm)}** `{arm.arm}`", map(change, arm.effects(ALL_FLIPS))
        rows.append((budget, title, *flips, accuracy, cost, multiple(arm.cost("serving"))))
    return Table.of(header, rows)


def advice(
    settings: Settings,
    chosen: Mapping[str, Candidate],
    resampled: Settings = (),
    replaced: Settings = (),
) -> Data:
    """Return the figures of each piece of advice; empty if the results do not show it.

    Args:
        settings: Results of the paper's study.
        chosen: The arm to use for each budget.
        resampled: Results on new data, if there are any.
        replaced: Earlier results of fine-tuned encoders, if there are any.

    Returns:
        Figures by the name of the advice.
    """
    frozen = reading.heads(settings)
    if not frozen or not any(setting.treatments for setting in frozen):
        return {}
    tuned = [setting for setting in settings if setting.track != "head"]
    data: Data = {"on": [setting.short_title for setting in frozen]}
    rules = layout()["advice"]
    for name, rule in rules.items():
        shown = [arm for arm in rule["arms"] if is_so(frozen, arm, rule["verdicts"])]
        arms = shown[:1] if rule.get("is_first_enough") else shown
        data[name] = _figures(frozen, arms, resampled)
    heads = data["heads"].get("arms", [])
    if not all(Candidate(arm, tuple(frozen)).keeps_accuracy for arm in heads):
        data["heads"] = {}
    has_shared = all(has_enough(setting, SHARED) for setting in frozen)
    data["shared"] = [change(s.effect(SHARED, ALL_FLIPS)) for s in frozen] if has_shared else []
    data["seldom"] = [
        {
            "on": DATASETS[setting.dataset],
            "teacher": teacher,
            "seeds": setting.of(arm, "n_runs"),
            "verdict": getattr(setting.effect(arm, ALL_FLIPS), "verdict", ""),
            "alone": change(setting.effect(arm, FLIPS)),
            "accuracy": change(setting.effect(arm, ALL_ACCURACY)),
            "ece": [x for name in (BASELINE, arm) for x in calibration_errors([setting], name)],
            "plain_ece": has_plain_ece(setting),
            **_best(setting, Candidate(arm, (setting,))),
        }
        for setting in tuned
        for teacher, arm in SELDOM.items()
        if has_enough(setting, arm)
    ]
    data["earlier"] = of_replaced(replaced, (SELDOM["fresh"],), "flip_rate")
    draws = dict.fromkeys(arm for s in frozen for arm in s.redraws.get(FIXED, (FIXED,)))
    are_cut = all(is_so(frozen, arm, {ALL_FLIPS: ["steadier"]}) for arm in draws)
    data["fixed"] = _figures(frozen, list(draws)) if are_cut else {}
    recommended = dict.fromkeys((*(arm.arm for arm in chosen.values()), *heads))
    data["worse_ece"] = [
        {"arm": arm, "ece": calibration_errors(frozen, arm), "on": on}
        for arm in recommended
        if arm not in rules["soft_labels"]["arms"] and (on := _worse_calibrated(frozen, arm))
    ]
    data["control_ece"] = calibration_errors(frozen, BASELINE)
    data["plain_ece"] = any(map(has_plain_ece, frozen))
    data["finetuned"] = [
        {
            "on": DATASETS[setting.dataset],
            "seeds": setting.seeds,
            "n_arms": sum(Candidate(arm, (setting,)).is_honest for arm in setting.treatments),
            "few": setting.n_runs < selection.ENOUGH["head"],
            "earlier": of_replaced(replaced, (best.arm,), "flip_rate") if best else [],
            **_best(setting, best),
        }
        for setting in tuned
        if any(has_enough(setting, arm) for arm in setting.treatments)
        for best in (selection.best_of(setting),)
    ]
    return data


def _worse_calibrated(settings: Settings, arm: str) -> list[str]:
    """Return the data sets on which a worse calibration of an arm is shown."""
    return [s.short_title for s in settings if is_so([s], arm, {"effects.{ece}": ["worse"]})]


def is_so(settings: Settings, arm: str, verdicts: Mapping[str, Sequence[str]]) -> bool:
    """Return whether enough runs of an arm have one of the verdicts in every setting.

    In a path, `{ece}` is the calibration error that a setting has.
    """
    return all(
        has_enough(setting, arm)
        and (effect := setting.effect(arm, path.format(ece=setting.ece))) is not None
        and effect.verdict in allowed
        for setting in settings
        for path, allowed in verdicts.items()
    )  # fmt: skip


def _figures(settings: Settings, arms: Sequence[str], resampled: Settings = ()) -> Data:
    """Return spans of changes over arms, and costs and losses of the first; empty without arms.

    Changes under new data are empty unless all arms were trained there.
    """
    if not arms:
        return {}
    has_new_data = all(arm in setting.arms for setting in resampled for arm in arms)
    first = Candidate(arms[0], tuple(settings))
    return {
        "arms": arms,
        "flips": _spans(settings, arms, ALL_FLIPS),
        "new_data": _spans(resampled, arms, ALL_FLIPS) if has_new_data else [],
        "accuracy": _spans(settings, arms, ALL_ACCURACY),
        "lost": [s.short_title for s in settings if loses(s.effect(arms[0], ALL_ACCURACY))],
        "ece": [calibration_errors(settings, arm) for arm in arms],
        "epochs": max(setting.content["setting"]["epochs"] for setting in settings),
        **{kind: multiple(first.cost(kind)) for kind in ("training", "serving")},
        "head": first.cost("heads"),
    }


def _best(setting: SettingResults, best: Candidate | None) -> Data:
    if best is None:
        return {"arm": ""}
    text = change(setting.effect(best.arm, ALL_FLIPS))
    return {"arm": best.arm, "change": text, "cost": multiple(best.cost("training"))}


def _spans(settings: Settings, arms: Sequence[str], path: str) -> list[str]:
    """Return the span of changes over arms in each setting, such as "−75 to −71 %"."""
    texts = []
    for setting in settings:
        first, *last = dict.fromkeys(spanned(setting.effect(arm, path) for arm in arms))
        number, _, unit = first.partition(NO_BREAK)
        texts.append(" to ".join((number if last and last[0].endswith(unit) else first, *last)))
    return texts


def levels(settings: Settings, arm: str, metric: str) -> list[str]:
    """Return a figure without its interval in each setting."""
    estimates = (setting.estimate(arm, f"metrics.{metric}") for setting in settings)
    return [figure(metric, value and Estimate(value.value)) for value in estimates]


def calibration_errors(settings: Settings, arm: str) -> list[str]:
    """Return the calibration error that each setting has, without its interval."""
    return [text for setting in settings for text in levels([setting], arm, setting.ece)]


@dataclass(frozen=True)
class Point:
    """An arm in the Pareto chart: extra cost where it costs most, change where it cuts least."""

    arm: Candidate
    cost: float
    change: float
    low: float
    high: float

    @property
    def kind(self) -> str:
        """`lost` if accuracy is, else `kept`, or `shared` if runs share something."""
        return "lost" if not self.arm.keeps_accuracy else "kept" if self.arm.is_honest else "shared"


def pareto_points(settings: Settings) -> tuple[Point, ...]:
    """Return every arm that all head settings have and whose change and cost are known."""
    points = []
    for arm in selection.candidates(settings):
        cost, effects = arm.cost("training"), arm.effects(ALL_FLIPS)
        known = [e for e in effects if e is not None and e.value is not None]
        if len(known) == len(effects) and cost is not None:
            worst = max(known, key=lambda effect: effect.value or 0.0)
            ends = [worst.value if end is None else end for end in (worst.low, worst.high)]
            points.append(Point(arm, cost - 1, *((end or 0.0) - 1 for end in (worst.value, *ends))))
    return tuple(points)


def pareto_front(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return honest arms that keep accuracy and that no cheaper arm beats, cheapest first."""
    front: list[Point] = []
    able = [point for point in points if point.kind == "kept"]
    for point in sorted(able, key=lambda point: (max(point.cost, NO_COST), point.change)):
        if point.change < min((other.change for other in front), default=0.0):
            front.append(point)
    return tuple(front)
