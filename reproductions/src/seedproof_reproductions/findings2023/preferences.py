"""Advice that departs from the planned choice, because the confirmation shows no reason for it.

The planned rule selects the arm with the largest reduction, however small its lead. If it selects
bagged heads, the same heads without bagging are simpler. They replace it if they were confirmed as
earlier advice, cost no more, and no study that has both shows fewer flips with the bagged heads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seedproof.stats.effect import Effect
from seedproof_reproductions.figures import change
from seedproof_reproductions.findings2023 import reading
from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.page_data import Data, Settings
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.reading import ALL_FLIPS, SettingResults
from seedproof_reproductions.findings2023.selection import Candidate
from seedproof_reproductions.findings2023.settings import TRAIN_DATA
from seedproof_reproductions.rules import is_below


@dataclass(frozen=True)
class Preference:
    """An arm to use in place of one that the planned rule selects."""

    planned: Candidate
    instead: Candidate
    confirmation: tuple[SettingResults, ...]  # studies with both arms

    @property
    def is_worse(self) -> bool:
        """True if a study that has both arms shows fewer flips with the planned one."""
        studies = (*self.instead.settings, *self.confirmation)
        return any(is_below(_flips(s, self.planned), _flips(s, self.instead)) for s in studies)

    @property
    def data(self) -> Data:
        """Both arms with their smallest reduction in the choice and in the confirmation."""
        return {
            "planned": self.planned.arm,
            "instead": self.instead.arm,
            "choice": [_smallest_cut(each) for each in (self.planned, self.instead)],
            "confirmed": [
                _smallest_cut(Candidate(each.arm, self.confirmation))
                for each in (self.planned, self.instead)
            ],
        }


def _flips(setting: SettingResults, arm: Candidate) -> Effect | None:
    return setting.effect(arm.arm, ALL_FLIPS) if arm.arm in setting.arms else None


def _smallest_cut(arm: Candidate) -> str:
    """Return the smallest reduction over studies, without its interval."""
    return change(Effect("flip_rate", "ratio", arm.worst))


def preferences(
    chosen: Mapping[str, Candidate | None], arms: tuple[Candidate, ...], retrained: Settings
) -> tuple[Preference, ...]:
    """Return the arms to use in place of planned choices.

    Args:
        chosen: The planned choices, by budget; None if no arm qualifies.
        arms: All candidates.
        retrained: All studies of the plan.

    Returns:
        At most one per choice; empty without a confirmation.
    """
    part, by_name = plan()["confirmation"], {arm.arm: arm for arm in arms}
    rivals = [by_name[name] for name in part["also"] if name in by_name]
    studies = [
        study
        for kind in TRAIN_DATA
        for study in reading.studies(retrained, kind, root=part["root"])
    ]
    preferred = {}
    for planned in filter(None, chosen.values()):
        for rival in rivals:
            both = tuple(s for s in studies if {planned.arm, rival.arm} <= set(s.arms))
            preference = Preference(planned, rival, both)
            if (
                _is_simpler(rival, planned)
                and len(both) == len(planned.settings)
                and _is_confirmed(rival, both)
                and _costs_no_more(rival, planned)
                and not preference.is_worse
            ):
                preferred[planned.arm] = preference
    return tuple(preferred.values())


def _is_simpler(arm: Candidate, other: Candidate) -> bool:
    """Return whether an arm is another one without bagging."""
    bagged = ARMS[other.arm]
    return bagged.bagged and ARMS[arm.arm] == replace(bagged, bagged=False)


def _is_confirmed(arm: Candidate, studies: tuple[SettingResults, ...]) -> bool:
    """Return whether all studies show fewer flips, and keep accuracy."""
    own = Candidate(arm.arm, studies)
    return own.cuts and own.keeps_accuracy and arm.cuts and arm.keeps_accuracy


def _costs_no_more(arm: Candidate, other: Candidate) -> bool:
    cost = other.cost("training")
    return cost is not None and arm.affords(cost)


def with_preferences(
    budgets: Mapping[str, Candidate | None], preferred: tuple[Preference, ...]
) -> dict[str, Candidate | None]:
    """Return the arm to use for each budget, after the confirmation."""
    instead = {each.planned.arm: each.instead for each in preferred}
    return {budget: arm and instead.get(arm.arm, arm) for budget, arm in budgets.items()}
