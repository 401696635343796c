"""Stored results by data set and track, with what the paper printed."""

from collections.abc import Mapping, Sequence
from typing import Any

from seedproof.stats.intervals import Estimate
from seedproof_reproductions.findings2023.arms import DRAW
from seedproof_reproductions.findings2023.names import BASELINE, DATASETS, TRACKS, layout
from seedproof_reproductions.findings2023.settings import TRAIN_DATA
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.reading import StoredResults, as_estimate, in_order, lookup

# Paths of effects with the interval of an arm alone, and with simultaneous intervals of all arms.
FLIPS, ACCURACY, ENTROPY = "effects.flip_rate", "effects.accuracy", "effects.label_entropy"
ALL_FLIPS, ALL_ACCURACY = "of_all.flip_rate", "of_all.accuracy"


def published() -> Mapping[str, Any]:
    """Return the content of `published.toml`."""
    return read_toml(__package__, "published.toml")


class SettingResults(StoredResults):
    """Results of one data set and one track."""

    order = {"track": list(TRACKS), "dataset": list(DATASETS)}  # noqa: RUF012 - a ClassVar

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
    def train_data(self) -> str:
        """One of `TRAIN_DATA`."""
        return str(self.content["setting"].get("train_data", TRAIN_DATA[0]))

    @property
    def study_title(self) -> str:
        """Change between runs and data set, such as "new data, MASSIVE"."""
        return f"{layout()['titles']['train_data'][self.train_data]}, {self.short_title}"

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, the control first."""
        return tuple(sorted(self.content["arms"], key=lambda name: name != BASELINE))

    @property
    def treatments(self) -> tuple[str, ...]:
        """All arms except the control."""
        return tuple(arm for arm in self.arms if arm != BASELINE)

    @property
    def ece(self) -> str:
        """Name of the calibration error; older results have only the plain one."""
        has = any(self.of(arm, "metrics.ece_corrected") is not None for arm in self.arms)
        return "ece_corrected" if has else "ece"

    @property
    def redraws(self) -> dict[str, tuple[str, ...]]:
        """Arms whose shared part was drawn more than once, with all of their draws."""
        draws: dict[str, tuple[str, ...]] = {}
        for arm in self.arms:
            first, mark, _ = arm.partition(DRAW)
            if mark and first in self.content["arms"]:
                draws[first] = (*draws.get(first, (first,)), arm)
        return draws

    def first_of(self, arms: Sequence[str]) -> str | None:
        """Return the first of several arms that was trained; None if none was."""
        return next((arm for arm in arms if arm in self.content["arms"]), None)

    def cost(self, arm: str, kind: str) -> float | None:
        """Return `training`, `serving` or `heads` costs as a multiple of the control's."""
        cost: float | None = self.of(arm, f"costs.{kind}")
        return cost

    def of_control(self, path: str) -> Estimate | None:
        """Return a figure of the control alone, such as `stand_in.pearson`."""
        return as_estimate(lookup(self.content, f"control.{path}"))

    def published(self, table: str, method: str) -> Mapping[str, Any]:
        """Return a row of `table3` to `table6` in percent, such as `cut`; empty if there is none.

        Cuts have no sign in the paper.
        """
        row = published().get(table, {}).get(self.dataset, {}).get(method, {})
        return row if isinstance(row, dict) else {"cut": row}


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Return stored results in one order: heads first, then by data set."""
    return in_order(map(SettingResults, results))


def studies(
    results: Sequence[SettingResults], train_data: str, *, root: int
) -> tuple[SettingResults, ...]:
    """Return the studies of `planned` on one kind of training data, with seeds of one root."""
    return tuple(
        study
        for study in results
        if study.content["setting"]["train_data"] == train_data
        and study.content["setting"]["seed"] == root
    )


def heads(settings: Sequence[SettingResults]) -> tuple[SettingResults, ...]:
    """Return the settings in which a head was trained."""
    return tuple(setting for setting in settings if setting.track == "head")
