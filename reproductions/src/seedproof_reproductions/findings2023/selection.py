"""Rules that select arms: the goal beyond the paper, and what to use for a given budget.

Arms are selected among many, so every rule reads intervals that are simultaneous over all arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from seedproof.stats.effect import Effect
from seedproof_reproductions.findings2023 import reading
from seedproof_reproductions.findings2023.names import BASELINE, layout
from seedproof_reproductions.findings2023.reading import SettingResults
from seedproof_reproductions.rules import MARGIN, excludes_loss

# The goal: training at most 1.5 times the control's, half of the flips, a cut of 40 % excluded.
MOST_TRAINING, AT_MOST, EXCLUDED = 1.5, 0.5, 0.6
# A loss of accuracy that some can afford.
SMALL_LOSS = 0.02
# Arms with fewer runs are not recommended; fine-tuning takes hours.
ENOUGH = {"head": 8, "finetune": 5}
DEPLOYED = "deployed-shared"


def is_cut(effect: Effect | None) -> bool:
    """Return whether a cut is shown."""
    return effect is not None and effect.verdict == "steadier"


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
        """True if a loss of more than half a point is excluded in every setting."""
        return self.loses_at_most(MARGIN)

    def loses_at_most(self, loss: float) -> bool:
        """Return whether a larger loss of accuracy is excluded in every setting."""
        return all(excludes_loss(effect, loss) for effect in self.effects(reading.ALL_ACCURACY))

    @property
    def reaches(self) -> bool:
        """True if it reaches the goal, whatever its runs share."""
        does_halve = all(map(halves, self.effects(reading.ALL_FLIPS)))
        return self.affords(MOST_TRAINING) and self.keeps_accuracy and does_halve

    @property
    def cuts(self) -> bool:
        """True if enough runs show a cut everywhere."""
        enough = (has_enough(setting, self.arm) for setting in self.settings)
        return all(map(is_cut, self.effects(reading.ALL_FLIPS))) and all(enough)

    @property
    def worst(self) -> float:
        """Largest ratio of its flip rate to the control's; infinite if one is unknown."""
        effects = self.effects(reading.ALL_FLIPS)
        values = [inf if e is None or e.value is None else e.value for e in effects]
        return max(values, default=1.0)


def candidates(
    settings: Sequence[SettingResults], retrained: Sequence[SettingResults] = ()
) -> tuple[Candidate, ...]:
    """Return every arm that was trained on each data set, except redraws; the largest cuts first.

    With results of `planned`, arms must have been trained under new seeds and under new data: an
    arm that the head settings lack has its results under new seeds there.
    """
    frozen = reading.heads(settings)
    resampled = reading.studies(retrained, "bootstrap", root=0)
    more = reading.studies(retrained, "fixed", root=0)
    names = dict.fromkeys(arm for setting in (*frozen, *more) for arm in setting.treatments)
    arms = []
    for name in names:
        own = [_first_with(name, setting.dataset, (setting, *more)) for setting in frozen]
        own += [_first_with(name, setting.dataset, (setting,)) for setting in resampled]
        known = tuple(setting for setting in own if setting is not None)
        if len(known) == len(own) and known[0].of(name, "group") != "redrawn":
            arms.append(Candidate(name, known))
    return tuple(sorted(arms, key=lambda arm: arm.worst))


def _first_with(
    arm: str, dataset: str, settings: Sequence[SettingResults]
) -> SettingResults | None:
    """Return the first setting of a data set that has an arm; None if none has."""
    able = (each for each in settings if each.dataset == dataset and arm in each.arms)
    return next(able, None)


def closest(ranked: Sequence[Candidate]) -> Candidate | None:
    """Return the largest cut of cheap arms that keep accuracy, or else of all with known costs."""
    known = [arm for arm in ranked if isfinite(arm.worst) and arm.affords(inf)]
    able = (arm for arm in known if arm.affords(MOST_TRAINING) and arm.keeps_accuracy)
    return next(able, known[0] if known else None)


def choices(
    settings: Sequence[SettingResults], retrained: Sequence[SettingResults] = ()
) -> dict[str, Candidate]:
    """Return the arm to use for each budget that has one, the cheapest first."""
    rows = by_budget(settings, retrained)
    return {budget: arm for budget, arm in rows.items() if arm is not None}


def by_budget(
    settings: Sequence[SettingResults], retrained: Sequence[SettingResults] = ()
) -> dict[str, Candidate | None]:
    """Return the arm to use for each budget, the cheapest first; None if no arm qualifies.

    A budget that repeats the arm of a cheaper one is left out, and so is a redeployment whose arm
    was not trained in each setting.
    """
    known = [arm for arm in candidates(settings, retrained) if arm.cuts]
    honest = [arm for arm in known if arm.is_honest]
    able = {
        "kept": [arm for arm in honest if arm.keeps_accuracy],
        "nearly": [arm for arm in honest if arm.loses_at_most(SMALL_LOSS)],
        "deployed": [arm for arm in known if arm.arm == DEPLOYED and arm.keeps_accuracy],
    }
    selected: dict[str, Candidate | None] = {}
    for row in layout()["budgets"]:
        arm = next((arm for arm in able[row["arms"]] if arm.affords(row["training"])), None)
        is_empty = arm is None and row["arms"] in layout()["titles"]["unfilled"]
        if is_empty or (arm is not None and arm not in selected.values()):
            selected[row["says"]] = arm
    return selected


def best_of(setting: SettingResults) -> Candidate | None:
    """Return the honest arm of one setting with the largest cut that keeps accuracy."""
    arms = (Candidate(arm, (setting,)) for arm in setting.treatments)
    kept = [arm for arm in arms if arm.is_honest and arm.keeps_accuracy and arm.cuts]
    return min(kept, key=lambda arm: arm.worst, default=None)
