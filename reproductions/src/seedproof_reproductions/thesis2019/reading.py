"""Stored results by model and output, with what the thesis printed."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from seedproof.metrics.statistic import MeanOverRuns
from seedproof.stats.intervals import Estimate, estimate
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.reading import StoredResults, fewer, in_order, lookup
from seedproof_reproductions.thesis2019.arms import BASELINE

COSTS = ("cpu_seconds", "cpu_seconds_answering")
# From so many runs on, an interval is over runs.
RUNS_FOR_INTERVAL = 3


def published() -> Mapping[str, Any]:
    """Return everything in `published.toml`."""
    return read_toml(__package__, "published.toml")


def layout() -> Mapping[str, Any]:
    """Return the content of `page.toml`: titles and columns of tables."""
    return read_toml(__package__, "page.toml")


MODELS, OUTPUTS, ARMS, PARTS = (
    dict[str, str](layout()["titles"][kind]) for kind in ("models", "outputs", "arms", "parts")
)


class SettingResults(StoredResults):
    """Results of one model with one output."""

    order = {"model": list(MODELS), "output": list(OUTPUTS)}  # noqa: RUF012 - a ClassVar of the base

    @property
    def dataset(self) -> str:
        """Name of the model: all have the same data set."""
        return str(self.content["setting"]["model"])

    @property
    def output(self) -> str:
        """`softmax`, `sigmoid` or `three`."""
        return str(self.content["setting"]["output"])

    @property
    def title(self) -> str:
        """Model and output on the page."""
        return f"{MODELS[self.dataset]}{OUTPUTS[self.output]}"

    def named(self, arm: str) -> str:
        """Return model, output and arm on the page."""
        return self.title if arm == BASELINE else f"{self.title}, {ARMS[arm]}"

    @property
    def departures(self) -> tuple[str, ...]:
        """Everything that the thesis had more of, such as "5 of 10 seeds"."""
        paper = published()["training"]
        return (
            *fewer("users", self.content["n_users"], paper["users"]),
            *fewer("seeds", self.of(BASELINE, "n_runs"), paper["seeds"]),
        )

    def is_over_runs(self, arm: str) -> bool:
        """Return True if intervals are over runs; those of two runs are over users alone."""
        return bool(self.of(arm, "n_runs") >= RUNS_FOR_INTERVAL)

    def published(self, arm: str) -> Mapping[str, Any]:
        """Return the printed levels of an arm; empty if there are none."""
        return lookup(published()["levels"], f"{self.dataset}.{self.output}.{arm}") or {}

    def level(self, arm: str, name: str) -> Estimate:
        """Return the mean of a scalar, with an interval over seeds alone.

        Other papers test the same users, so it is comparable with their figures.
        """
        values = np.array(self.of(arm, f"scalars.{name}_10_candidates"))
        return estimate(MeanOverRuns(values, least=0.0))

    def cpu_minutes(self, arm: str) -> float:
        """Return the mean CPU time of a run, with its answers."""
        return sum(fmean(self.of(arm, f"scalars.{name}")) for name in COSTS) / 60

    def cost(self, arm: str) -> float:
        """Return the CPU time of a run's training as a multiple of the baseline's."""
        own, base = (fmean(self.of(name, "scalars.cpu_seconds")) for name in (arm, BASELINE))
        return own / base


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Return the results of all settings, in the order of the page."""
    return in_order(map(SettingResults, results))
