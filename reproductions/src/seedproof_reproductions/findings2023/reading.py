"""Read stored results: figures and effects by arm, with their intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.findings2023.arms import DRAW, GROUPS
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, TRACKS

# Paths of figures in the stored content of an arm.
FLIPS, ACCURACY, ENTROPY = "effects.flip_rate", "effects.accuracy", "effects.label_entropy"
# Metric of effects whose path does not end with its name.
METRIC_OF = {"high": "label_entropy", "single_run_effects": "single_run_entropy"}


@dataclass(frozen=True, eq=False)
class SettingResults:
    """Results of one setting.

    Args:
        content: One stored file: settings, sizes, arms, and figures of the control.
    """

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
    def is_head(self) -> bool:
        """Return whether a head was trained on frozen features."""
        return self.track == "head"

    @property
    def title(self) -> str:
        """Data set and track, for readers."""
        return f"{DATASETS[self.dataset]} ({TRACKS[self.track]})"

    @property
    def short_title(self) -> str:
        """Data set; the track only if it is not `head`."""
        return DATASETS[self.dataset] if self.is_head else self.title

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, the control first."""
        return tuple(sorted(self.content["arms"], key=lambda name: name != BASELINE))

    @property
    def treatments(self) -> tuple[str, ...]:
        """All arms except the control."""
        return tuple(arm for arm in self.arms if arm != BASELINE)

    @property
    def has_control(self) -> bool:
        """Return whether the control was trained, so that arms can be compared."""
        return BASELINE in self.content["arms"]

    @property
    def by_group(self) -> dict[str, tuple[str, ...]]:
        """Arms by group, without empty groups."""
        groups = {
            group: tuple(arm for arm in self.arms if self.of(arm)["group"] == group)
            for group in GROUPS
        }
        return {group: arms for group, arms in groups.items() if arms}

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
        return next((arm for arm in arms if arm in self.content["arms"]), None)

    def shares(self, arm: str) -> str | None:
        """Return what all runs of an arm share; None if each run trains everything anew."""
        return self.of(arm).get("shares")

    def estimate(self, arm: str, path: str) -> Estimate | None:
        """Return a figure of an arm, such as `metrics.ece`; None if it was not measured."""
        return _estimate(_lookup(self.of(arm), path))

    def effect(self, arm: str, path: str) -> Effect | None:
        """Return the effect of an arm against the control.

        Args:
            arm: Name of the arm.
            path: `effects.METRIC` with the interval of the arm alone, `of_all.METRIC` with an
                interval simultaneous over all arms, `high.cross_fitted`, `high.by_arm`,
                `high.naive`, or `single_run_effects.all`.

        Returns:
            An effect without an interval if only a number is stored; None if nothing is.
        """
        stored = _lookup(self.of(arm), path)
        group, _, metric = path.partition(".")
        metric = METRIC_OF.get(group, metric)
        if stored is None or isinstance(stored, int | float):
            return None if stored is None else Effect(metric, "ratio", stored)
        return Effect(metric, **stored)

    def cost(self, arm: str, kind: str) -> float | None:
        """Return `training`, `serving` or `heads` costs as a multiple of the control's."""
        cost: float | None = _lookup(self.of(arm), f"costs.{kind}")
        return cost

    def of_control(self, path: str) -> Estimate | None:
        """Return a figure of the control alone, such as `stand_in.pearson`."""
        return _estimate(_lookup(self.content.get("control") or {}, path))

    def cells(self, name: str) -> Mapping[str, Any] | None:
        """Return the counts behind a figure of the control; None if they were not kept."""
        cells: Mapping[str, Any] | None = _lookup(
            self.content.get("control") or {}, f"pictures.{name}"
        )
        return cells

    def n_traced(self, arm: str = BASELINE) -> int:
        """Return how many runs of an arm recorded their predictions during training."""
        return int(self.of(arm).get("n_traced") or 0)


def _lookup(content: Any, path: str) -> Any:  # noqa: ANN401 - nested plain data
    for key in path.split("."):
        content = (content or {}).get(key)
    return content


def _estimate(stored: Sequence[float] | None) -> Estimate | None:
    if stored is None or stored[0] is None:
        return None
    return Estimate(*stored[:3]) if len(stored) > 1 else Estimate(stored[0])


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Return stored results in one order: heads first, then by data set."""

    def place(setting: SettingResults) -> tuple[int, int, str]:
        order = list(TRACKS).index(setting.track), list(DATASETS).index(setting.dataset)
        return *order, setting.content["name"]

    return tuple(sorted(map(SettingResults, results), key=place))


def heads(settings: Sequence[SettingResults]) -> tuple[SettingResults, ...]:
    """Return the settings in which a head was trained."""
    return tuple(setting for setting in settings if setting.is_head)


def in_every(settings: Sequence[SettingResults]) -> tuple[str, ...]:
    """Return the arms that every setting has, except the control, in the order of the first."""
    if not settings:
        return ()
    return tuple(
        arm
        for arm in settings[0].treatments
        if all(arm in setting.content["arms"] for setting in settings)
    )


def first_arms(
    settings: Sequence[SettingResults], arms: Sequence[str]
) -> Iterator[tuple[SettingResults, str]]:
    """Yield each setting that has one of the arms, with the first of them."""
    for setting in settings:
        arm = setting.first_of(arms)
        if arm is not None:
            yield setting, arm
