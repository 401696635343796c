"""Plain data of the decision page: what to use, short advice, and points of the Pareto chart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.figures import MISSING, change, figure, multiple
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, title_of
from seedproof_reproductions.findings2023.page_data import Data, spanned
from seedproof_reproductions.findings2023.reading import SettingResults, heads
from seedproof_reproductions.findings2023.selection import (
    ENOUGH,
    Candidate,
    best_of,
    candidates,
    has_enough,
    is_cut,
)
from seedproof_reproductions.page import Table
from seedproof_reproductions.rules import loses

HEADS = ("heads-16", "heads-4")
FROM_THE_START = ("aswa", "naswa")
FIXED, SELDOM = "fixed-init", "tgtss-every-10"
SOFT_LABELS = ("tgtss", "label-smoothing-0.5", "label-smoothing-0.1")
# A cut is judged by the simultaneous interval, a loss by that of the arm alone: both are on the
# safe side.
CUT, LOSS, ECE = "of_all.flip_rate", "effects.accuracy", "effects.ece"
# Costs no higher than this are drawn as none.
NO_COST = 0.005


def choices_table(chosen: Mapping[str, Candidate], names: Sequence[str]) -> Table:
    """Return the choices with flips and accuracy on each data set, and costs."""
    header = (
        "you can afford", "use", *(f"flip rate, {name}" for name in names),
        *(f"accuracy, {name}" for name in names), "training (head alone)", "serving",
    )  # fmt: skip
    return Table.of(header, [_choice(budget, arm, names) for budget, arm in chosen.items()])


def _choice(budget: str, arm: Candidate, names: Sequence[str]) -> tuple[str, ...]:
    by_name = {DATASETS[setting.dataset]: setting for setting in arm.settings}

    def cells(path: str) -> list[str]:
        return [
            change(by_name[name].effect(arm.arm, path)) if name in by_name else MISSING
            for name in names
        ]

    training, head = multiple(arm.cost("training")), arm.cost("heads")
    return (
        budget,
        f"**{title_of(arm.arm)}** `{arm.arm}`",
        *cells("of_all.flip_rate"),
        *cells("of_all.accuracy"),
        training if head is None else f"{training} ({head:.2g}×)",
        multiple(arm.cost("serving")),
    )


def advice(settings: Sequence[SettingResults], chosen: Mapping[str, Candidate]) -> Data:
    """Return the figures of each piece of advice; empty if the results do not show it."""
    frozen = heads(settings)
    if not frozen or not any(setting.treatments for setting in frozen):
        return {}
    tuned = [setting for setting in settings if not setting.is_head]
    return {
        "on": [setting.short_title for setting in frozen],
        "heads": _heads(frozen),
        "linear": _linear(frozen),
        "teachers": _teachers(frozen, tuned),
        "early_averages": _early_averages(frozen),
        "fixed": _fixed(frozen),
        "calibration": _calibration(frozen, chosen),
        "finetuned": _finetuned(tuned),
    }


def _is_shown(
    settings: Sequence[SettingResults], arm: str, path: str, test: Callable[[Effect], bool]
) -> bool:
    """Return whether enough runs of an arm pass a test in every setting."""
    effects = [setting.effect(arm, path) for setting in settings]
    enough = all(has_enough(setting, arm) for setting in settings)
    return enough and all(effect is not None and test(effect) for effect in effects)


def _each(settings: Sequence[SettingResults], arms: Sequence[str], path: str) -> list[str]:
    """Return the span of changes over arms in each setting, such as "−75 to −71 %"."""
    texts = []
    for setting in settings:
        ends = spanned(setting.effect(arm, path) for arm in arms)
        number, _, unit = ends[0].partition(NO_BREAK)
        is_same_unit = len(ends) > 1 and ends[1].endswith(unit)
        texts.append(f"{number} to {ends[1]}" if is_same_unit else " to ".join(ends))
    return texts


def _heads(settings: tuple[SettingResults, ...]) -> Data:
    arm = next((arm for arm in HEADS if _is_shown(settings, arm, CUT, is_cut)), None)
    if arm is None or not _is_shown(settings, arm, LOSS, lambda effect: not loses(effect)):
        return {}
    candidate = Candidate(arm, settings)
    return {
        "arm": title_of(arm),
        "flips": _each(settings, [arm], CUT),
        **{kind: multiple(candidate.cost(kind)) for kind in ("training", "serving")},
        "head": candidate.cost("heads"),
    }


def _linear(settings: Sequence[SettingResults]) -> Data:
    if not _is_shown(settings, "linear", CUT, is_cut):
        return {}
    lost = [setting.short_title for setting in settings if loses(setting.effect("linear", LOSS))]
    flips, accuracy = (_each(settings, ["linear"], path) for path in (CUT, LOSS))
    return {"flips": flips, "accuracy": accuracy, "lost": lost}


def _teachers(settings: Sequence[SettingResults], tuned: Sequence[SettingResults]) -> Data:
    """Return figures of TGTSS unless a cut is shown with fresh teachers in one setting."""
    if not _is_shown(settings, "tgtss", CUT, lambda effect: not is_cut(effect)):
        return {}
    shared = [setting.effect("tgtss-shared", CUT) for setting in settings]
    has_shared = _is_shown(settings, "tgtss-shared", CUT, lambda _: True)
    return {
        "fresh": _each(settings, ["tgtss"], CUT),
        "shared": [change(effect) for effect in shared] if has_shared else [],
        "tuned": [
            {
                "on": setting.title,
                "change": change(setting.effect(SELDOM, CUT)),
                "cost": multiple(setting.cost(SELDOM, "training")),
            }
            for setting in tuned
            if has_enough(setting, SELDOM)
        ],
    }


def _early_averages(settings: Sequence[SettingResults]) -> Data:
    """Return figures of averages that flip more and lose accuracy in every setting."""
    arms = [
        arm
        for arm in FROM_THE_START
        if _is_shown(settings, arm, CUT, lambda effect: effect.verdict == "less steady")
        and _is_shown(settings, arm, LOSS, loses)
    ]
    flips, accuracy = (_each(settings, arms, path) for path in (CUT, LOSS))
    epochs = max(setting.content["setting"]["epochs"] for setting in settings)
    titles = [title_of(arm) for arm in arms]
    return {"epochs": epochs, "arms": titles, "flips": flips, "accuracy": accuracy} if arms else {}


def _fixed(settings: Sequence[SettingResults]) -> Data:
    draws = [setting.redraws.get(FIXED, (FIXED,)) for setting in settings]
    arms = list(dict.fromkeys(arm for names in draws for arm in names))
    if not all(_is_shown(settings, arm, CUT, is_cut) for arm in arms):
        return {}
    return {"flips": _each(settings, arms, CUT), "draws": len(arms)}


def _calibration(settings: Sequence[SettingResults], chosen: Mapping[str, Candidate]) -> Data:
    """Return the ECE of soft labels, and of the worst choice, if it is shown to rise."""
    others = [arm.arm for arm in chosen.values() if arm.arm not in SOFT_LABELS]
    soft, worse = (
        [arm for arm in arms if _is_shown(settings, arm, ECE, loses)]
        for arms in (SOFT_LABELS, others)
    )

    def least_calibrated_first(arm: str) -> list[float]:
        estimates = (setting.estimate(arm, "metrics.ece") for setting in settings)
        return [-estimate.value for estimate in estimates if estimate is not None]

    worst = sorted(worse, key=least_calibrated_first)[:1]
    names = {arm: title_of(arm) for arm in soft} | {arm: f"`{arm}`" for arm in worst}
    rows = [{"arm": name, "ece": levels(settings, arm, "ece")} for arm, name in names.items()]
    return {"control": levels(settings, BASELINE, "ece"), "arms": rows} if rows else {}


def _finetuned(settings: Sequence[SettingResults]) -> list[Data]:
    """Return the best arm of each fine-tuned setting that has enough runs."""
    rows: list[Data] = []
    for setting in settings:
        if any(has_enough(setting, arm) for arm in setting.treatments):
            best = best_of(setting)
            row: Data = {"on": DATASETS[setting.dataset], "seeds": setting.seeds}
            row["few"] = setting.n_runs < ENOUGH["head"]
            if best is not None:
                row["arm"] = title_of(best.arm)
                row["change"] = change(setting.effect(best.arm, CUT))
                row["cost"] = multiple(best.cost("training"))
            rows.append(row)
    return rows


def levels(settings: Sequence[SettingResults], arm: str, metric: str) -> list[str]:
    """Return a figure without its interval in each setting."""
    estimates = (setting.estimate(arm, f"metrics.{metric}") for setting in settings)
    return [
        figure(metric, None if estimate is None else Estimate(estimate.value))
        for estimate in estimates
    ]


@dataclass(frozen=True)
class Point:
    """An arm in the Pareto chart.

    Args:
        arm: Name of the arm.
        title: Its title.
        cost: Extra training as a share of the control's, on the data set where it costs most.
        change: Relative change of the flip rate, on the data set where it is cut least.
        low: Lower end of the simultaneous interval of the change.
        high: Its upper end.
        kind: `kept` if everything is trained anew and accuracy is kept, `lost` if a loss of
            accuracy is shown, `shared` if runs share a teacher or first weights.
        is_honest: Whether each run trains everything anew.
        is_published: Whether it is one of the paper's methods.
    """

    arm: str
    title: str
    cost: float
    change: float
    low: float
    high: float
    kind: str
    is_honest: bool
    is_published: bool


def pareto_points(settings: Sequence[SettingResults]) -> tuple[Point, ...]:
    """Return every arm that all head settings have and whose change and cost are known."""
    points = []
    for arm in candidates(settings):
        effects = [effect for effect in arm.effects(CUT) if effect and effect.value is not None]
        cost = arm.cost("training")
        if len(effects) == len(arm.settings) and cost is not None:
            worst = max(effects, key=lambda effect: effect.value or 0.0)
            value: Any = worst.value
            low, high = (value if end is None else end for end in (worst.low, worst.high))
            kind = "lost" if not arm.keeps_accuracy else "kept" if arm.is_honest else "shared"
            points.append(
                Point(
                    arm.arm, title_of(arm.arm), cost - 1, value - 1, low - 1, high - 1, kind,
                    arm.is_honest, arm.is_published,
                )
            )  # fmt: skip
    return tuple(points)


def pareto_front(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return honest arms that keep accuracy and that no cheaper arm beats, cheapest first."""
    front: list[Point] = []
    able = [point for point in points if point.kind == "kept"]
    for point in sorted(able, key=lambda point: (max(point.cost, NO_COST), point.change)):
        if point.change < min((other.change for other in front), default=0.0):
            front.append(point)
    return tuple(front)
