"""Read stored results: figures and effects by arm, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.arms import DRAW
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, TRACKS

# Paths of effects with the interval of an arm alone, and with simultaneous intervals of all arms.
FLIPS, ACCURACY, ENTROPY = "effects.flip_rate", "effects.accuracy", "effects.label_entropy"
ALL_FLIPS, ALL_ACCURACY = "of_all.flip_rate", "of_all.accuracy"
# Metric of effects whose path does not end with its name.
METRIC_OF = {"high": "label_entropy", "single_run_effects": "single_run_entropy"}


@dataclass(frozen=True, eq=False)
class SettingResults:
    """Results of one setting, from the content of a stored file."""

    content: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """Name of the data set in code."""
        return str(self.content["setting"]["dataset"])

    @property
    def track(self) -> str:
        """`head` or `finetune`."""
        return str(self.content["setting"]["track"])

    @property
    def title(self) -> str:
        """Data set and track, for readers."""
        return f"{DATASETS[self.dataset]} ({TRACKS[self.track]})"

    @property
    def short_title(self) -> str:
        """Data set; the track only if it is not `head`."""
        return DATASETS[self.dataset] if self.track == "head" else self.title

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, the control first."""
        return tuple(sorted(self.content["arms"], key=lambda name: name != BASELINE))

    @property
    def treatments(self) -> tuple[str, ...]:
        """All arms except the control."""
        return tuple(arm for arm in self.arms if arm != BASELINE)

    @property
    def redraws(self) -> dict[str, tuple[str, ...]]:
        """Arms whose shared part was drawn more than once, with all of their draws."""
        draws: dict[str, tuple[str, ...]] = {}
        for arm in self.arms:
            first, mark, _ = arm.partition(DRAW)
            if mark and self.of(first):
                draws[first] = (*draws.get(first, (first,)), arm)
        return draws

    @property
    def n_runs(self) -> int:
        """Number of runs of the largest arm."""
        return max((int(arm["n_runs"]) for arm in self.content["arms"].values()), default=0)

    @property
    def seeds(self) -> str:
        """Number of seeds per arm, such as "50", or "25 to 50" if arms differ."""
        least = min((arm["n_runs"] for arm in self.content["arms"].values()), default=0)
        return f"{self.n_runs}" if least == self.n_runs else f"{least} to {self.n_runs}"

    def of(self, arm: str) -> Mapping[str, Any]:
        """Return the stored content of an arm; empty if it was not trained."""
        content: Mapping[str, Any] = self.content["arms"].get(arm, {})
        return content

    def first_of(self, arms: Sequence[str]) -> str | None:
        """Return the first of several arms that was trained; None if none was."""
        return next((arm for arm in arms if self.of(arm)), None)

    def estimate(self, arm: str, path: str) -> Estimate | None:
        """Return a figure of an arm, such as `metrics.ece`; None if it was not measured."""
        return _estimate(lookup(self.of(arm), path))

    def effect(self, arm: str, path: str) -> Effect | None:
        """Return the effect at a path, such as `of_all.flip_rate`; None if it is not stored."""
        stored = lookup(self.of(arm), path)
        group, _, metric = path.partition(".")
        metric = METRIC_OF.get(group, metric)
        if isinstance(stored, int | float):
            return Effect(metric, "ratio", stored)  # without an interval
        return None if stored is None else Effect(metric, **stored)

    def cost(self, arm: str, kind: str) -> float | None:
        """Return `training`, `serving` or `heads` costs as a multiple of the control's."""
        cost: float | None = lookup(self.of(arm), f"costs.{kind}")
        return cost

    def of_control(self, path: str) -> Estimate | None:
        """Return a figure of the control alone, such as `stand_in.pearson`."""
        return _estimate(lookup(self.content, f"control.{path}"))


def lookup(content: Any, path: str) -> Any:  # noqa: ANN401 - nested plain data
    """Return the value at a path of keys, such as `costs.training`; None if a part is missing."""
    for key in path.split("."):
        content = (content or {}).get(key)
    return content


def _estimate(stored: Sequence[float] | None) -> Estimate | None:
    if stored is None or stored[0] is None:
        return None
    low, high = (stored[1], stored[2]) if len(stored) > 1 else (None, None)
    return Estimate(stored[0], low, high)


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Return stored results in one order: heads first, then by data set."""

    def place(setting: SettingResults) -> tuple[int, int, str]:
        order = list(TRACKS).index(setting.track), list(DATASETS).index(setting.dataset)
        return *order, setting.content["name"]

    return tuple(sorted(map(SettingResults, results), key=place))


def heads(settings: Sequence[SettingResults]) -> tuple[SettingResults, ...]:
    """Return the settings in which a head was trained."""
    return tuple(setting for setting in settings if setting.track == "head")
