"""Plain data of the short answer: what the paper asks, and whether cheaper arms do better."""

from collections.abc import Callable, Sequence

from seedproof_reproductions.figures import MISSING, change, correlation, figure, multiple, share
from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page_data import (
    ENSEMBLE,
    FRESH_TEACHER,
    PLAIN_EXPONENT,
    PROTOCOLS,
    Data,
)
from seedproof_reproductions.findings2023.reading import (
    ACCURACY,
    ENTROPY,
    FLIPS,
    SettingResults,
    first_arms,
    heads,
)
from seedproof_reproductions.findings2023.selection import Candidate, candidates, closest, halves
from seedproof_reproductions.page import Table
from seedproof_reproductions.rules import has_verdict, is_below, loses, share_of_cut

MOST_NAMED = 4


def each(
    settings: Sequence[SettingResults],
    arms: Sequence[str],
    write: Callable[[SettingResults, str], str],
) -> list[Data]:
    """Return a text about the first of several arms in each setting that has one."""
    texts = ((setting, write(setting, arm)) for setting, arm in first_arms(settings, arms))
    return [
        {"on": setting.short_title, "dataset": setting.dataset, "text": text}
        for setting, text in texts
        if text != MISSING
    ]


def changes(settings: Sequence[SettingResults], arms: Sequence[str], path: str) -> list[Data]:
    """Return the change of the first of several arms in each setting that has one."""
    return each(settings, arms, lambda setting, arm: change(setting.effect(arm, path)))


def outcome(
    settings: Sequence[SettingResults], arms: Sequence[str], path: str
) -> dict[str, list[str]]:
    """Return titles of settings by the verdict on the first of several arms."""
    titles: dict[str, list[str]] = {}
    for setting, arm in first_arms(settings, arms):
        effect = setting.effect(arm, path)
        if effect is not None:
            titles.setdefault(effect.verdict, []).append(setting.short_title)
    return titles


def short_answer(settings: Sequence[SettingResults]) -> Data:
    """Return figures by question; a question that no run answers is empty."""
    exponents = FRESH_TEACHER[0], PLAIN_EXPONENT
    both = [s for s in settings if all(s.effect(arm, ENTROPY) for arm in exponents)]
    return {
        "cuts": {name: changes(settings, arms, ENTROPY) for name, arms in PROTOCOLS.items()},
        "outcomes": {name: outcome(settings, arms, ENTROPY) for name, arms in PROTOCOLS.items()},
        "ensemble": changes(settings, [ENSEMBLE], ENTROPY),
        "shares": {name: each(settings, arms, _share) for name, arms in PROTOCOLS.items()},
        "accuracy": changes(settings, FRESH_TEACHER, ACCURACY),
        "accuracy_outcome": outcome(settings, FRESH_TEACHER, ACCURACY),
        "ece": each(settings, FRESH_TEACHER, _calibration),
        "costs": each(settings, FRESH_TEACHER, lambda s, arm: multiple(s.cost(arm, "training"))),
        **{
            name: each(settings, [BASELINE], lambda s, _, name=name: _single_run(s, name))
            for name in ("pearson", "reference", "precision")
        },
        "exponent": [changes(both, [arm], ENTROPY) for arm in exponents] if both else [],
        "levers": _levers(heads(settings)),
    }


def _single_run(setting: SettingResults, name: str) -> str:
    """Return how well one run stands in for many: correlations, and a share of utterances."""
    estimate = setting.of_control(f"stand_in.{name}")
    is_share = name == "precision"
    return figure("single_run_precision", estimate) if is_share else correlation(estimate)


def _share(setting: SettingResults, arm: str) -> str:
    return share(share_of_cut(setting.effect(arm, ENTROPY), setting.effect(ENSEMBLE, ENTROPY)))


def _calibration(setting: SettingResults, arm: str) -> str:
    before, after = (setting.estimate(name, "metrics.ece") for name in (BASELINE, arm))
    return MISSING if after is None else f"{figure('ece', before)} to {figure('ece', after)}"


def _levers(settings: Sequence[SettingResults]) -> Data:
    """Return the cheap honest arms that cut LE_m by more than each published one.

    Winners are picked out of many, so their intervals are simultaneous over all arms.
    """
    cheap = [arm for arm in candidates(settings) if arm.is_honest and arm.is_cheap]
    paper = [arm.arm for arm in cheap if arm.is_published]
    ours = [arm.arm for arm in cheap if not arm.is_published and arm.keeps_accuracy]
    if not ours or not paper:
        return {}

    def beats(arm: str, others: Sequence[str]) -> bool:
        path = "of_all.label_entropy"
        return all(
            is_below(setting.effect(arm, path), setting.effect(other, path))
            for setting in settings
            for other in others
        )

    def least_cut(arm: str) -> float:
        effects = (setting.effect(arm, ENTROPY) for setting in settings)
        return max(effect.value for effect in effects if effect and effect.value is not None)

    winners = sorted((arm for arm in ours if beats(arm, paper)), key=least_cut)
    has_ensemble = all(setting.of(ENSEMBLE) for setting in settings)
    return {
        "published": [title_of(arm) for arm in paper],
        "winners": len(winners),
        "of": len(ours),
        "largest": [
            {"arm": title_of(arm), "changes": changes(settings, [arm], ENTROPY)}
            for arm in winners[:MOST_NAMED]
        ],
        "beat_ensemble": sum(beats(arm, [ENSEMBLE]) for arm in winners) if has_ensemble else None,
    }


def goal(settings: Sequence[SettingResults]) -> Data | None:
    """Arms that reach the goal under each protocol; None without head settings."""
    ranked = candidates(settings)
    if not ranked:
        return None
    paper = [arm for arm in ranked if arm.is_published]
    return {
        "on": [setting.short_title for setting in ranked[0].settings],
        "honest": _reached([arm for arm in ranked if arm.is_honest]),
        "shared": _reached([arm for arm in ranked if not arm.is_honest]),
        "published": goal_table(paper) if paper else None,
    }


def _reached(ranked: Sequence[Candidate]) -> Data:
    reached = [arm for arm in ranked if arm.reaches]
    near = None if reached else closest(ranked)
    return {
        "arms": [title_of(arm.arm) for arm in reached],
        "of": len(ranked),
        "together": sum(arm.halves_together for arm in reached),
        "table": goal_table(reached) if reached else None,
        "closest": near and {"arm": title_of(near.arm), "shortfalls": shortfalls(near)},
        "best": reached and {
            "arm": title_of(reached[0].arm),
            "flips": changes(reached[0].settings, [reached[0].arm], FLIPS),
            "accuracy": changes(reached[0].settings, [reached[0].arm], ACCURACY),
        },
    }  # fmt: skip


def goal_table(arms: Sequence[Candidate]) -> Table:
    """Flips, accuracy and costs of arms, and whether they pass the stricter tests."""
    names = [setting.short_title for setting in arms[0].settings]
    header = (
        "", *(f"flip rate, {name}" for name in names), *(f"accuracy, {name}" for name in names),
        "training", "serving", "within 0.5 pts", "together",
    )  # fmt: skip
    return Table.of(header, [_goal_row(arm) for arm in arms])


def _goal_row(arm: Candidate) -> tuple[str, ...]:
    costs = []
    for kind in ("training", "serving"):
        texts = (multiple(setting.cost(arm.arm, kind)) for setting in arm.settings)
        costs.append(list(texts))
    tests = (arm.is_no_worse, arm.halves_together)
    return (
        title_of(arm.arm),
        *map(change, arm.effects(FLIPS)),
        *map(change, arm.effects(ACCURACY)),
        *(texts[0] if len(set(texts)) == 1 else " / ".join(texts) for texts in costs),
        *("yes" if is_passed else "not shown" for is_passed in tests),
    )


def shortfalls(arm: Candidate) -> list[Data]:
    """What keeps an arm from the goal, one entry per reason and setting."""
    reasons: list[Data] = [] if arm.is_cheap else [{"reason": "cost"}]
    for setting in arm.settings:
        flips, accuracy = (setting.effect(arm.arm, path) for path in (FLIPS, ACCURACY))
        on = setting.short_title
        if not has_verdict(flips):
            reasons.append({"reason": "runs", "on": on})
            continue
        if not halves(flips):
            reasons.append({"reason": "flip rate", "on": on, "change": change(flips)})
        if loses(accuracy):
            reasons.append({"reason": "accuracy", "on": on, "change": change(accuracy)})
    return reasons
