"""Stored results, as a page asks for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.conll2019.names import (
    ATTENTIONS,
    BASELINE,
    DATASETS,
    ENCODERS,
    PAPER_ARMS,
)

EXPLAINED = "-explained"
# From so many runs on, an interval knows how far they differ.
RUNS_FOR_INTERVAL = 3


@dataclass(frozen=True)
class Curve:
    """A figure in ten bins of the mean predicted probability.

    Args:
        counts: Examples in each bin.
        means: Mean of the figure; None in a bin without an example.
        errors: Standard error over examples; None where a bin has fewer than two.
    """

    counts: tuple[int, ...]
    means: tuple[float | None, ...]
    errors: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class SettingResults:
    """What came out of one setting.

    Args:
        own: What `collect` gave of the study that trained.
        explained: The same of the study that explained its models by gradients and LIME; None
            without one.
    """

    own: Mapping[str, Any]
    explained: Mapping[str, Any] | None = None

    @property
    def dataset(self) -> str:
        """Name of the data set in code."""
        return str(self.own["setting"]["dataset"])

    @property
    def encoder(self) -> str:
        """`cnn` or `lstm`."""
        return str(self.own["setting"]["encoder"])

    @property
    def is_as_tabled(self) -> bool:
        """Whether the model is one of the paper's tables, which have additive attention."""
        return bool(self.own["setting"]["attention"] == "additive")

    @property
    def title(self) -> str:
        """Data set and model, for people."""
        attention = ATTENTIONS[self.own["setting"]["attention"]]
        return f"{DATASETS[self.dataset]}, {ENCODERS[self.encoder]}{attention}"

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, the baseline first."""
        return tuple(self.own["arms"])

    @property
    def paper_arms(self) -> tuple[str, ...]:
        """Those of the paper's two stabilizers that were trained."""
        return tuple(arm for arm in PAPER_ARMS if arm in self.own["arms"])

    @property
    def n_runs(self) -> int:
        """Runs of the largest arm."""
        return max(int(arm["n_runs"]) for arm in self.own["arms"].values())

    @property
    def seeds(self) -> str:
        """How many seeds an arm has, such as "10", or "7 to 10" where arms differ."""
        least = min(arm["n_runs"] for arm in self.own["arms"].values())
        return f"{self.n_runs}" if least == self.n_runs else f"{least} to {self.n_runs}"

    @property
    def is_paired(self) -> bool:
        """Whether all arms share their seeds with the baseline."""
        return all(one["is_paired"] for arm, one in self.own["arms"].items() if arm != BASELINE)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.own["classes"])

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods by which models were explained."""
        found = [one["arms"][BASELINE]["explanations"] for one in self._both()]
        return tuple(dict.fromkeys(method for methods in found for method in methods))

    def _both(self) -> list[Mapping[str, Any]]:
        both = [self.own] if self.explained is None else [self.own, self.explained]
        return [one for one in both if BASELINE in one["arms"]]

    def is_over_runs(self, arm: str, method: str | None = None) -> bool:
        """Whether intervals of an arm are over runs; those of two runs are over texts alone."""
        found = [one["arms"].get(arm, {}) for one in self._both()]
        counts = [
            int(one["n_runs"])
            for one in found
            if one and (method is None or method in one["explanations"])
        ]
        return bool(counts) and counts[0] >= RUNS_FOR_INTERVAL

    def of_arm(self, arm: str, method: str | None = None) -> Mapping[str, Any]:
        """What was found of an arm, or of its explanations; empty if nothing was."""
        found: Mapping[str, Any] = self.own["arms"].get(arm, {}) if method is None else {}
        for one in self._both() if method is not None else ():
            found = found or one["arms"].get(arm, {}).get("explanations", {}).get(method, {})
        return found

    def estimate(self, arm: str, metric: str, method: str | None = None) -> Estimate | None:
        """A figure with its interval; None if it was not measured."""
        return _estimate(self.of_arm(arm, method).get("metrics"), metric)

    def noise(self, arm: str, metric: str, method: str) -> Estimate | None:
        """The same between two draws of the explainer; None if it was drawn once."""
        return _estimate(self.of_arm(arm, method).get("noise"), metric)

    def effect(self, arm: str, metric: str, method: str | None = None) -> Effect | None:
        """What an arm changes against the baseline; None if that is not known."""
        return _effect(self.of_arm(arm, method).get("effects"), metric)

    def effect_of_all(self, arm: str, metric: str, method: str | None = None) -> Effect | None:
        """The same with an interval that holds together with those of all arms."""
        among_all = self.of_arm(arm).get("of_all")
        if among_all is None:
            return self.effect(arm, metric, method)
        return _effect(_of_method(among_all, method), metric)

    def matched(self, arm: str, metric: str) -> Estimate | None:
        """A figure of runs that all give one answer equally often; None with more classes."""
        return _estimate((self.of_arm(arm).get("matched") or {}).get("metrics"), metric)

    def matched_effect(self, arm: str, metric: str) -> Effect | None:
        """What an arm changes in such a figure."""
        return _effect((self.of_arm(arm).get("matched") or {}).get("effects"), metric)

    def matched_effect_of_all(self, arm: str, metric: str) -> Effect | None:
        """The same with an interval that holds together with those of all arms."""
        found = self.of_arm(arm).get("matched") or {}
        return _effect(found.get("of_all") or found.get("effects"), metric)

    def rival(self, metric: str, method: str | None = None) -> Effect | None:
        """What NASWA changes against ASWA."""
        found = self.own.get("rivals")
        return None if found is None else _effect(_of_method(found, method), metric)

    def scalars(self, arm: str, name: str) -> tuple[float, ...]:
        """What each run logged; nothing if one of them did not."""
        values = self.of_arm(arm).get("scalars", {}).get(name, [None])
        return () if None in values else tuple(values)

    def scalar(self, arm: str, name: str) -> float | None:
        """The mean of what runs logged; None if one of them did not."""
        values = self.scalars(arm, name)
        return sum(values) / len(values) if values else None

    def sd_curve(self, arm: str) -> Curve | None:
        """The sd of the probability by its mean; None for an arm that is not there."""
        found = self.of_arm(arm).get("sd_curve")
        if found is None:
            return None
        return Curve(tuple(found["count"]), tuple(found["mean"]), tuple(found["error"]))

    def curves(self, arm: str, metric: str, method: str) -> dict[str, Curve]:
        """A figure of explanations by predicted probability, for each class that is followed."""
        found = self.of_arm(arm, method).get("curves") or {"classes": []}
        return {
            name: Curve(
                tuple(found["counts"][place]),
                tuple(found["means"][metric][place]),
                tuple(found["errors"][metric][place]),
            )
            for place, name in enumerate(found["classes"])
        }


def _of_method(found: Mapping[str, Any], method: str | None) -> Mapping[str, Any] | None:
    effects: Mapping[str, Any] = found["effects"]
    of_method: Mapping[str, Any] | None = found["explanations"].get(method)
    return effects if method is None else of_method


def _estimate(found: Mapping[str, Any] | None, metric: str) -> Estimate | None:
    if found is None or metric not in found:
        return None
    return Estimate(*found[metric])


def _effect(found: Mapping[str, Any] | None, metric: str) -> Effect | None:
    if found is None or metric not in found:
        return None
    return Effect(metric, **found[metric])


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Results by setting, those of explained models with the study that trained them.

    Args:
        results: What `collect` gave, of all stores.

    Returns:
        SST first, then the others as in `DATASETS`; explanations of models whose own results are
        not there are left out.
    """
    named = {str(one["name"]): one for one in results}
    found = [
        SettingResults(one, named.get(name + EXPLAINED))
        for name, one in named.items()
        if not name.endswith(EXPLAINED)
    ]
    order = list(DATASETS), list(ENCODERS), list(ATTENTIONS)
    return tuple(
        sorted(
            found,
            key=lambda one: [
                known.index(one.own["setting"][name])
                for name, known in zip(("dataset", "encoder", "attention"), order, strict=True)
            ],
        )
    )
