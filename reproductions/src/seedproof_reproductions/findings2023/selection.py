"""Rules that select arms: the goal beyond the paper, and what to use for a given budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from seedproof.stats.effect import Effect
from seedproof_reproductions.findings2023 import reading
from seedproof_reproductions.findings2023.names import BASELINE, layout
from seedproof_reproductions.findings2023.reading import SettingResults
from seedproof_reproductions.rules import excludes_loss, has_verdict, loses

# The goal: training at most 1.5 times the control's, half of the flips, a cut of 40 % excluded.
MOST_TRAINING, AT_MOST, EXCLUDED = 1.5, 0.5, 0.6
# A loss of accuracy that some can afford.
SMALL_LOSS = 0.02
# Arms with fewer runs are not chosen: fine-tuning takes hours, and has a row of its own.
ENOUGH = {"head": 8, "finetune": 5}
DEPLOYED = "deployed-shared"
MOST_CHOICES = 7


def is_cut(effect: Effect | None) -> bool:
    """Return whether a cut is shown."""
    return effect is not None and effect.verdict == "steadier"


def keeps(accuracy: Effect | None) -> bool:
    """Return whether no loss is shown although there are enough runs for a verdict."""
    return has_verdict(accuracy) and not loses(accuracy)


def halves(flips: Effect | None) -> bool:
    """Return whether flips are cut by half or more, with an interval that excludes 40 %."""
    if flips is None or flips.value is None or flips.high is None or not is_cut(flips):
        return False
    return flips.value <= AT_MOST and flips.high < EXCLUDED


def has_enough(setting: SettingResults, arm: str) -> bool:
    """Return whether an arm and the control have enough runs for advice."""
    runs = [setting.of(name, "n_runs") or 0 for name in (arm, BASELINE)]
    return bool(min(runs) >= ENOUGH[setting.track])


@dataclass(frozen=True)
class Candidate:
    """An arm, judged on all settings that it was trained in."""

    arm: str
    settings: tuple[SettingResults, ...]

    def effects(self, path: str) -> list[Effect | None]:
        """Return its effect in each setting."""
        return [setting.effect(self.arm, path) for setting in self.settings]

    def cost(self, kind: str) -> float | None:
        """Return the highest cost over the settings; None if one of them is unknown."""
        costs = [setting.cost(self.arm, kind) for setting in self.settings]
        known = [cost for cost in costs if cost is not None]
        return max(known) if known and len(known) == len(costs) else None

    def affords(self, budget: float) -> bool:
        """Return whether training is known to cost at most this multiple of the control's."""
        cost = self.cost("training")
        return cost is not None and cost <= budget

    @property
    def is_published(self) -> bool:
        """True if it is one of the paper's methods."""
        return bool(self.settings[0].of(self.arm, "group") == "paper")

    @property
    def is_honest(self) -> bool:
        """True if each run trains everything anew."""
        return all(setting.of(self.arm, "shares") is None for setting in self.settings)

    @property
    def keeps_accuracy(self) -> bool:
        """True if no loss is shown in any setting."""
        return all(map(keeps, self.effects(reading.ACCURACY)))

    def loses_at_most(self, loss: float, path: str = reading.ACCURACY) -> bool:
        """Return whether a larger loss of accuracy is excluded in every setting."""
        return all(excludes_loss(effect, loss) for effect in self.effects(path))

    @property
    def halves_together(self) -> bool:
        """True if simultaneous intervals still show that flips are halved."""
        return all(map(halves, self.effects(reading.ALL_FLIPS)))

    @property
    def reaches(self) -> bool:
        """True if it reaches the goal, whatever its runs share."""
        does_halve = all(map(halves, self.effects(reading.FLIPS)))
        return self.affords(MOST_TRAINING) and self.keeps_accuracy and does_halve

    @property
    def cuts(self) -> bool:
        """True if enough runs show a cut everywhere by simultaneous intervals."""
        enough = (has_enough(setting, self.arm) for setting in self.settings)
        return all(map(is_cut, self.effects(reading.ALL_FLIPS))) and all(enough)

    @property
    def worst(self) -> float:
        """Largest ratio of its flip rate to the control's; infinite if one is unknown."""
        effects = self.effects(reading.FLIPS)
        values = [inf if e is None or e.value is None else e.value for e in effects]
        return max(values, default=1.0)


def candidates(settings: Sequence[SettingResults]) -> tuple[Candidate, ...]:
    """Return every arm that all head settings have, except redraws; the largest cuts first."""
    frozen = reading.heads(settings)
    arms = [
        Candidate(arm, frozen)
        for arm in (frozen[0].treatments if frozen else ())
        if all(arm in setting.arms for setting in frozen)
        and frozen[0].of(arm, "group") != "redrawn"
    ]
    return tuple(sorted(arms, key=lambda arm: arm.worst))


def closest(ranked: Sequence[Candidate]) -> Candidate | None:
    """Return the largest cut of cheap arms that keep accuracy, or else of all with known costs."""
    known = [arm for arm in ranked if isfinite(arm.worst) and arm.affords(inf)]
    able = (arm for arm in known if arm.affords(MOST_TRAINING) and arm.keeps_accuracy)
    return next(able, known[0] if known else None)


def choices(settings: Sequence[SettingResults]) -> dict[str, Candidate]:
    """Return what to use by budget, the cheapest first; none repeats the arm of a cheaper one."""
    known = [arm for arm in candidates(settings) if arm.cuts]
    honest = [arm for arm in known if arm.is_honest]
    able = {
        "kept": [arm for arm in honest if arm.keeps_accuracy],
        "nearly": [arm for arm in honest if arm.loses_at_most(SMALL_LOSS, reading.ALL_ACCURACY)],
        "deployed": [arm for arm in known if arm.arm == DEPLOYED and arm.keeps_accuracy],
    }
    rows = {
        row["says"]: next((arm for arm in able[row["arms"]] if arm.affords(row["training"])), None)
        for row in layout()["budgets"]
    }
    for setting in settings:
        if setting.track != "head":
            rows[f"{setting.short_title}, any training cost"] = best_of(setting)
    selected: dict[str, Candidate] = {}
    for budget, arm in rows.items():
        if arm is not None and arm not in selected.values():
            selected[budget] = arm
    return dict(list(selected.items())[:MOST_CHOICES])


def best_of(setting: SettingResults) -> Candidate | None:
    """Return the honest arm of one setting with the largest cut that loses no accuracy."""
    arms = (Candidate(arm, (setting,)) for arm in setting.treatments)
    kept = [arm for arm in arms if arm.is_honest and arm.keeps_accuracy and arm.cuts]
    return min(kept, key=lambda arm: arm.worst, default=None)
