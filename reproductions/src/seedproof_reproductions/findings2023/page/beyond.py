"""The short answer to what the paper did not ask: what do cheaper ways do?"""

from collections.abc import Sequence

from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.page.goal import candidates, closest
from seedproof_reproductions.findings2023.page.methods import ENSEMBLE
from seedproof_reproductions.findings2023.page.phrases import changes, verdict
from seedproof_reproductions.findings2023.page.reading import ENTROPY, SettingResults
from seedproof_reproductions.findings2023.page.rules import is_below
from seedproof_reproductions.findings2023.page.telling import joined
from seedproof_reproductions.page.words import listed

NAMED = 4
CHEAP = (
    "All of these are trained anew in each run, for at most 1.5 times one training; the other arms "
    "are those without a shown loss of accuracy."
)
GOAL = (
    "Everything is trained anew in each run, no loss of accuracy is shown, and the interval "
    "excludes a cut of 40 % or less."
)


def levers(settings: Sequence[SettingResults]) -> str:
    """Which arms that retrain everything cut more than each of the published ones.

    Args:
        settings: Those in which heads were trained.

    Returns:
        A paragraph; nothing without published arms and others.
    """
    found = [one for one in candidates(settings) if one.is_honest and one.is_cheap]
    theirs = [one for one in found if settings[0].of(one.arm)["group"] == "paper"]
    ours = [one for one in found if one not in theirs and one.keeps_accuracy]
    if not ours or not theirs:
        return ""

    # Winners are picked out of many, so that intervals of all arms must hold together.
    def beats(arm: str, others: Sequence[str]) -> bool:
        return all(
            is_below(one.effect_of_all(arm, ENTROPY), one.effect_of_all(other, ENTROPY))
            for one in settings
            for other in others
        )

    winners = [one.arm for one in ours if beats(one.arm, [other.arm for other in theirs])]
    winners.sort(key=lambda arm: _least_cut(settings, arm))
    start = "**Do cheap levers beat the published methods?**"
    beside = (
        f"{'each of ' if len(theirs) > 1 else ''}{listed([title_of(one.arm) for one in theirs])}"
    )
    if not winners:
        return f"{start} {verdict(f'no arm cuts LE_m by more than {beside}')} {CHEAP}"
    named = [f"{title_of(arm)} ({changes(settings, (arm,), ENTROPY)})" for arm in winners[:NAMED]]
    has_ensemble = all(one.of(ENSEMBLE) for one in settings)
    better = sum(beats(arm, [ENSEMBLE]) for arm in winners) if has_ensemble else 0
    beaten = f"{better} of the {len(winners)} also cut more than learning from 200 teachers does."
    return joined(
        (
            start,
            verdict("yes, by whole intervals that hold together for all arms"),
            f"{len(winners)} of {len(ours)} other arms cut LE_m by more than {beside}.",
            CHEAP,
            f"The largest cuts, each asked alone, have {'; '.join(named)}.",
            beaten if has_ensemble else "",
        )
    )


def _least_cut(settings: Sequence[SettingResults], arm: str) -> float:
    """The ratio of its LE_m to the control's where that is largest."""
    effects = [one.effect(arm, ENTROPY) for one in settings]
    return max(one.value for one in effects if one is not None and one.value is not None)


def goal_in_short(settings: Sequence[SettingResults]) -> str:
    """Whether some arm reaches the goal beyond the paper.

    Args:
        settings: Our results.

    Returns:
        A paragraph; nothing without an arm that retrains everything.
    """
    found = [one for one in candidates(settings) if one.is_honest]
    if not found:
        return ""
    start = "**Can half of the flips be had for at most half a training more?**"
    names = listed([one.short_title for one in found[0].settings])
    reached = [one for one in found if one.reaches]
    if not reached:
        near = closest(found)
        tail = "" if near is None else f"Closest comes {title_of(near.arm)}: {near.falls_short()}."
        return joined((start, verdict(f"no arm is shown to do it on {names}"), GOAL, tail))
    best = reached[0]
    together = sum(one.halves_together for one in reached)
    return joined(
        (
            start,
            verdict(f"yes, on {names}, with {len(reached)} of {len(found)} arms"),
            GOAL,
            f"By intervals that hold together for all arms, it is so with {together} of them.",
            f"The largest cut, asked alone, has {title_of(best.arm)}:",
            f"{changes(best.settings, (best.arm,), 'flip_rate')}.",
            f"Its accuracy changes by {changes(best.settings, (best.arm,), 'accuracy')}.",
            "See [the list](#the-goal-beyond-the-paper).",
        )
    )
