"""Stored results of the settings, with the look-ups that page and command line need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.conll2019.names import (
    ATTENTIONS,
    BASELINE,
    DATASETS,
    ENCODERS,
    PAPER_ARMS,
)
from seedproof_reproductions.conll2019.published import published

EXPLAINED = "-explained"
# From so many runs on, an interval is over runs.
RUNS_FOR_INTERVAL = 3


class Curve(NamedTuple):
    """A figure in ten bins of the mean predicted probability; None in a bin without examples."""

    counts: tuple[int, ...]
    means: tuple[float | None, ...]
    errors: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class SettingResults:
    """Results of one setting.

    Args:
        own: Results of the study that trained.
        explained: Results of the study that explained its models by gradients and LIME, if any.
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
        """True for additive attention, which the models of the paper's tables have."""
        return bool(self.own["setting"]["attention"] == "additive")

    @property
    def title(self) -> str:
        """Data set and model on the page."""
        attention = ATTENTIONS[self.own["setting"]["attention"]]
        return f"{DATASETS[self.dataset]}, {ENCODERS[self.encoder]}{attention}"

    @property
    def paper_arms(self) -> tuple[str, ...]:
        """The paper's two stabilizers, if they were trained."""
        return tuple(arm for arm in PAPER_ARMS if arm in self.own["arms"])

    @property
    def n_each(self) -> list[int]:
        """Runs of each arm."""
        return [int(arm["n_runs"]) for arm in self.own["arms"].values()]

    @property
    def seeds(self) -> str:
        """Seeds per arm, such as "10", or "7 to 10" where arms differ."""
        return " to ".join(map(str, sorted({min(self.n_each), max(self.n_each)})))

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods by which models were explained."""
        explanations = [study["arms"][BASELINE]["explanations"] for study in self._studies]
        return tuple(dict.fromkeys(method for methods in explanations for method in methods))

    @property
    def _studies(self) -> list[Mapping[str, Any]]:
        studies = [self.own] if self.explained is None else [self.own, self.explained]
        return [study for study in studies if BASELINE in study["arms"]]

    def is_over_runs(self, arm: str, method: str | None = None) -> bool:
        """Return True if intervals are over runs; those of two runs are over texts alone."""
        arms = [study["arms"][arm] for study in self._studies if arm in study["arms"]]
        arms = [each for each in arms if method is None or method in each["explanations"]]
        return bool(arms) and int(arms[0]["n_runs"]) >= RUNS_FOR_INTERVAL

    def of_arm(self, arm: str, method: str | None = None) -> Mapping[str, Any]:
        """Results of an arm, or of its explanations; empty if there are none."""
        if method is None:
            return dict(self.own["arms"].get(arm, {}))
        arms = [study["arms"].get(arm, {}) for study in self._studies]
        explained = [each.get("explanations", {}).get(method) for each in arms]
        return next((results for results in explained if results), {})

    def estimate(
        self, arm: str, metric: str, method: str | None = None, *, part: str = "metrics"
    ) -> Estimate | None:
        """A figure with its interval; None if it was not measured.

        `part` is `metrics`, `noise` for two draws of one explainer, or `matched` for runs that all
        give one answer equally often.
        """
        figures = self.of_arm(arm, method).get(part) or {}
        figures = figures.get("metrics", {}) if part == "matched" else figures
        return Estimate(*figures[metric]) if metric in figures else None

    def effect(
        self,
        arm: str,
        metric: str,
        method: str | None = None,
        *,
        part: str = "metrics",
        among_all: bool = False,
    ) -> Effect | None:
        """Change of an arm against the baseline; None if it is not known.

        `part` is `metrics` or `matched`, as for estimates. With `among_all`, the interval holds
        together with those of all arms.
        """
        results = self.of_arm(arm, method)
        results = (results.get(part) or {}) if part == "matched" else results
        effects = results.get("effects")
        together = (results if part == "matched" else self.of_arm(arm)).get("of_all")
        if among_all and together is not None:
            effects = together
            if part != "matched":
                methods = together["explanations"]
                effects = together["effects"] if method is None else methods.get(method)
        return _effect(effects, metric)

    def rival(self, metric: str, method: str) -> Effect | None:
        """Change of NASWA against ASWA in its explanations."""
        rivals = self.own.get("rivals") or {"explanations": {}}
        return _effect(rivals["explanations"].get(method), metric)

    def scalars(self, arm: str, name: str) -> tuple[float, ...]:
        """A logged number of each run; empty if a run did not log it."""
        values = self.of_arm(arm).get("scalars", {}).get(name, [None])
        return () if None in values else tuple(values)

    def curves(self, arm: str, metric: str, method: str | None) -> dict[str, Curve]:
        """A figure by predicted probability, for each class that is followed."""
        if method is None:
            bins = self.of_arm(arm).get("sd_curve")
            curve = bins and [bins[part] for part in ("count", "mean", "error")]
            return {self.own["classes"][-1]: Curve(*map(tuple, curve))} if curve else {}
        curves = self.of_arm(arm, method).get("curves")
        if not curves:
            return {}
        parts = curves["counts"], curves["means"][metric], curves["errors"][metric]
        return {
            name: Curve(*(tuple(part[at]) for part in parts))
            for at, name in enumerate(curves["classes"])
        }

    def published_size(self, split: str) -> int:
        """Number of texts in the paper."""
        return int(sum(published()["sizes"][self.dataset][split]))

    @property
    def departures(self) -> tuple[str, ...]:
        """Everything that the paper had more of, such as "400 of 6,355 training texts"."""
        return self._less + _fewer("seeds", min(self.n_each), published()["training"]["seeds"])

    @property
    def is_elsewhere(self) -> bool:
        """True if texts or epochs are fewer: published figures cannot be compared with ours.

        Fewer seeds alone make figures less sure, not different.
        """
        return bool(self._less)

    @property
    def _less(self) -> tuple[str, ...]:
        sizes, epochs = self.own["sizes"], published()["training"]["epochs"]
        return (
            *_fewer("training texts", sizes["train"], self.published_size("train")),
            *_fewer("test texts", sizes["test"], self.published_size("test")),
            *_fewer("epochs", self.own["setting"]["epochs"], epochs),
        )


def _fewer(noun: str, ours: int, paper: int) -> tuple[str, ...]:
    return (f"{ours:,} of {paper:,} {noun}",) if ours < paper else ()


def _effect(effects: Mapping[str, Any] | None, metric: str) -> Effect | None:
    return Effect(metric, **effects[metric]) if effects and metric in effects else None


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Results by setting, those of explained models with the study that trained them.

    Args:
        results: Stored results of all studies.

    Returns:
        In the order of `DATASETS`, `ENCODERS` and `ATTENTIONS`; explanations of models whose own
        results are missing are left out.
    """
    named = {str(study["name"]): study for study in results}
    trained = {name: study for name, study in named.items() if not name.endswith(EXPLAINED)}
    order = {"dataset": list(DATASETS), "encoder": list(ENCODERS), "attention": list(ATTENTIONS)}
    settings = [
        SettingResults(study, named.get(name + EXPLAINED)) for name, study in trained.items()
    ]
    return tuple(
        sorted(
            settings,
            key=lambda each: [order[name].index(each.own["setting"][name]) for name in order],
        )
    )
