"""Stored results, as a page asks for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.arms import GROUPS
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, TRACKS

ENTROPY, WAVERING = "label_entropy", "single_run_entropy"


@dataclass(frozen=True, eq=False)
class SettingResults:
    """What came out of one setting.

    Args:
        own: What `collect` gave.
    """

    own: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """Name of the data set in code."""
        return str(self.own["setting"]["dataset"])

    @property
    def track(self) -> str:
        """`head` or `finetune`."""
        return str(self.own["setting"]["track"])

    @property
    def is_head(self) -> bool:
        """Whether a head was trained on frozen features."""
        return self.track == "head"

    @property
    def title(self) -> str:
        """Data set and track, for people."""
        return f"{DATASETS[self.dataset]} ({TRACKS[self.track]})"

    @property
    def short_title(self) -> str:
        """The data set, where the track goes without saying."""
        return DATASETS[self.dataset] if self.is_head else self.title

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, the control first."""
        names = tuple(self.own["arms"])
        return tuple(sorted(names, key=lambda name: name != BASELINE))

    @property
    def others(self) -> tuple[str, ...]:
        """All arms but the control."""
        return tuple(arm for arm in self.arms if arm != BASELINE)

    @property
    def has_control(self) -> bool:
        """Whether there is something to compare with."""
        return BASELINE in self.own["arms"]

    @property
    def by_group(self) -> dict[str, tuple[str, ...]]:
        """Arms in groups, the control in the first of them."""
        return {
            group: arms
            for group in GROUPS
            if (arms := tuple(arm for arm in self.arms if self.of(arm)["group"] == group))
        }

    @property
    def n_runs(self) -> int:
        """Runs of the largest arm."""
        return max((int(arm["n_runs"]) for arm in self.own["arms"].values()), default=0)

    @property
    def seeds(self) -> str:
        """How many seeds an arm has, such as "50", or "25 to 50" where arms differ."""
        least = min((arm["n_runs"] for arm in self.own["arms"].values()), default=0)
        return f"{self.n_runs}" if least == self.n_runs else f"{least} to {self.n_runs}"

    def of(self, arm: str) -> Mapping[str, Any]:
        """What was found of an arm; empty if nothing was."""
        found: Mapping[str, Any] = self.own["arms"].get(arm, {})
        return found

    def first_of(self, arms: Sequence[str]) -> str | None:
        """The first of some arms that was trained; None if none of them was."""
        return next((arm for arm in arms if arm in self.own["arms"]), None)

    def shares(self, arm: str) -> str | None:
        """What all runs of an arm have in common; None under the honest protocol."""
        return self.of(arm).get("shares")

    def estimate(self, arm: str, metric: str) -> Estimate | None:
        """A figure with its interval; None if it was not measured."""
        return _estimate((self.of(arm).get("metrics") or {}).get(metric))

    def effect(self, arm: str, metric: str) -> Effect | None:
        """What an arm changes against the control, asked alone; None if that is not known."""
        return _effect(metric, (self.of(arm).get("effects") or {}).get(metric))

    def effect_of_all(self, arm: str, metric: str) -> Effect | None:
        """The same with an interval that holds together with those of all arms."""
        return _effect(metric, (self.of(arm).get("of_all") or {}).get(metric))

    def high(self, arm: str) -> Effect | None:
        """What an arm changes in LE_m where other runs of the control have much of it."""
        return _effect(ENTROPY, (self.of(arm).get("high") or {}).get("cross_fitted"))

    def high_by_arm(self, arm: str) -> Effect | None:
        """The same where other runs of the arm itself have much of it."""
        return _effect(ENTROPY, (self.of(arm).get("high") or {}).get("by_arm"))

    def high_as_published(self, arm: str) -> float | None:
        """The ratio where the same runs of the control have much of it; None without one."""
        found: float | None = (self.of(arm).get("high") or {}).get("naive")
        return found

    def wavering(self, arm: str) -> Estimate | None:
        """LE_s: the label entropy within a run; None if no run of the arm was traced."""
        return _estimate(self.of(arm).get("single_run"))

    def wavering_effect(self, arm: str, which: str = "all") -> Effect | None:
        """What an arm changes in LE_s: of `all` utterances, or where LE_m is `high`."""
        return _effect(WAVERING, (self.of(arm).get("single_run_effects") or {}).get(which))

    def cost(self, arm: str, what: str) -> float | None:
        """What an arm costs, as a multiple of the control: `training` or `serving`."""
        found: float | None = (self.of(arm).get("costs") or {}).get(what)
        return found

    def stand_in(self, name: str) -> Estimate | None:
        """How well one run of the control stands in for the others."""
        return _estimate((self._control.get("stand_in") or {}).get(name))

    def sigma(self) -> Estimate | None:
        """How LE_m and the sd of the gold probability correlate in the control."""
        return _estimate((self._control.get("sigma") or {}).get("pearson"))

    def picture(self, name: str) -> Mapping[str, Any] | None:
        """Counts in cells; None if they were not kept."""
        found: Mapping[str, Any] | None = (self._control.get("pictures") or {}).get(name)
        return found

    def n_traced(self, arm: str = BASELINE) -> int:
        """How many runs of an arm told what they predict while they train."""
        return int(self.of(arm).get("n_traced") or 0)

    @property
    def _control(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.own.get("control") or {}
        return found


def _estimate(found: Sequence[float] | None) -> Estimate | None:
    if found is None or found[0] is None:
        return None
    low, high = (found[1], found[2]) if len(found) > 1 else (None, None)
    return Estimate(found[0], low, high)


def _effect(metric: str, found: Mapping[str, Any] | None) -> Effect | None:
    return None if found is None else Effect(metric, **found)


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Results by setting.

    Args:
        results: What `collect` gave, of all stores.

    Returns:
        Heads first, then what was fine-tuned; in the order of `DATASETS`.
    """
    order = list(TRACKS), list(DATASETS)
    return tuple(
        sorted(
            map(SettingResults, results),
            key=lambda one: (
                order[0].index(one.track),
                order[1].index(one.dataset),
                one.own["name"],
            ),
        )
    )


def heads(settings: Sequence[SettingResults]) -> tuple[SettingResults, ...]:
    """The settings in which a head was trained."""
    return tuple(one for one in settings if one.is_head)


def in_every(settings: Sequence[SettingResults]) -> tuple[str, ...]:
    """Arms, but for the control, that every setting has; in the order of the first."""
    if not settings:
        return ()
    return tuple(
        arm for arm in settings[0].others if all(arm in one.own["arms"] for one in settings)
    )
