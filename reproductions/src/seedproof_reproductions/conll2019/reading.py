"""Read stored results: figures and effects by arm, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate
from seedproof_reproductions.conll2019.names import ATTENTIONS, DATASETS, ENCODERS, PAPER_ARMS
from seedproof_reproductions.conll2019.published import published

EXPLAINED = "-explained"
# From so many runs on, an interval is over runs.
RUNS_FOR_INTERVAL = 3


class Curve(NamedTuple):
    """A figure in ten bins of the mean predicted probability; None in a bin without examples."""

    counts: list[int]
    means: list[float | None]
    errors: list[float | None]


@dataclass(frozen=True, eq=False)
class SettingResults:
    """Results of one setting, from the content of a stored file."""

    content: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """Name of the data set in code."""
        return str(self.content["setting"]["dataset"])

    @property
    def encoder(self) -> str:
        """`cnn` or `lstm`."""
        return str(self.content["setting"]["encoder"])

    @property
    def is_as_tabled(self) -> bool:
        """True for additive attention, which the models of the paper's tables have."""
        return bool(self.content["setting"]["attention"] == "additive")

    @property
    def title(self) -> str:
        """Data set and model on the page."""
        attention = ATTENTIONS[self.content["setting"]["attention"]]
        return f"{DATASETS[self.dataset]}, {ENCODERS[self.encoder]}{attention}"

    @property
    def paper_arms(self) -> tuple[str, ...]:
        """The paper's two stabilizers, if they were trained."""
        return tuple(arm for arm in PAPER_ARMS if arm in self.content["arms"])

    @property
    def n_each(self) -> list[int]:
        """Runs of each arm."""
        return [int(arm["n_runs"]) for arm in self.content["arms"].values()]

    @property
    def seeds(self) -> str:
        """Seeds per arm, such as "10", or "7 to 10" where arms differ."""
        return " to ".join(map(str, sorted({min(self.n_each), max(self.n_each)})))

    def of(self, arm: str, path: str) -> Any:  # noqa: ANN401 - nested plain data
        """Return the content of an arm at a path, such as `drift.class`; None if not stored."""
        content = self.content["arms"].get(arm)
        for key in path.split("."):
            content = None if content is None else content.get(key)
        return content

    def estimate(self, arm: str, path: str) -> Estimate | None:
        """Return a figure, such as `matched.metrics.flip_rate`; None if it was not measured."""
        stored = self.of(arm, path)
        return None if stored is None else Estimate(*stored)

    def effect(self, arm: str, path: str) -> Effect | None:
        """Return an effect, such as `effects.flip_rate`; None if it is not stored."""
        stored = self.of(arm, path)
        return None if stored is None else Effect(path.rpartition(".")[2], **stored)

    def rival(self, metric: str, method: str) -> Effect | None:
        """Return the change of NASWA against ASWA in its explanations; None if not stored."""
        stored = (self.content["rivals"] or {"explanations": {}})["explanations"].get(method, {})
        return Effect(metric, **stored[metric]) if metric in stored else None

    def is_over_runs(self, arm: str, method: str | None = None) -> bool:
        """Return True if intervals are over runs; those of two runs are over texts alone."""
        n_runs = self.of(arm, "n_runs" if method is None else f"explanations.{method}.n_runs")
        return bool(n_runs is not None and n_runs >= RUNS_FOR_INTERVAL)

    def scalars(self, arm: str, name: str) -> list[float]:
        """Return a logged number of each run; empty if a run did not log it."""
        values = self.of(arm, f"scalars.{name}") or [None]
        return [] if None in values else list(values)

    def curves(self, arm: str, metric: str, method: str | None) -> dict[str, Curve]:
        """Return a figure by predicted probability, for each class that is followed."""
        if method is None:
            bins = self.of(arm, "sd_curve")
            last = self.content["classes"][-1]
            return {last: Curve(bins["count"], bins["mean"], bins["error"])} if bins else {}
        stored = self.of(arm, f"explanations.{method}.curves")
        if not stored:
            return {}
        curves = zip(
            stored["counts"], stored["means"][metric], stored["errors"][metric], strict=True
        )
        return dict(zip(stored["classes"], (Curve(*parts) for parts in curves), strict=True))

    def published_size(self, split: str) -> int:
        """Return the number of texts in the paper."""
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
        sizes, epochs = self.content["sizes"], self.content["setting"]["epochs"]
        return (
            *_fewer("training texts", sizes["train"], self.published_size("train")),
            *_fewer("test texts", sizes["test"], self.published_size("test")),
            *_fewer("epochs", epochs, published()["training"]["epochs"]),
        )


def _fewer(noun: str, ours: int, paper: int) -> tuple[str, ...]:
    return (f"{ours:,} of {paper:,} {noun}",) if ours < paper else ()


def by_setting(results: Sequence[Mapping[str, Any]]) -> tuple[SettingResults, ...]:
    """Results by setting, those of explained models with the study that trained them.

    Args:
        results: Stored results of all studies.

    Returns:
        In the order of `DATASETS`, `ENCODERS` and `ATTENTIONS`; explanations of models whose own
        results are missing are left out.
    """
    named = {str(study["name"]): study for study in results}
    settings = [
        SettingResults(_merged(study, named.get(name + EXPLAINED)))
        for name, study in named.items()
        if not name.endswith(EXPLAINED)
    ]
    order = {"dataset": list(DATASETS), "encoder": list(ENCODERS), "attention": list(ATTENTIONS)}

    def place(setting: SettingResults) -> list[int]:
        return [known.index(setting.content["setting"][name]) for name, known in order.items()]

    return tuple(sorted(settings, key=place))


def _merged(study: Mapping[str, Any], explained: Mapping[str, Any] | None) -> dict[str, Any]:
    """A study with all explanations of its arms, each with the number of its runs."""
    arms = {}
    for name, arm in study["arms"].items():
        methods: dict[str, Any] = {}
        for each in (arm, {} if explained is None else explained["arms"].get(name, {})):
            for method, results in each.get("explanations", {}).items():
                methods.setdefault(method, {**results, "n_runs": each["n_runs"]})
        arms[name] = {**arm, "explanations": methods}
    explaining = study["explaining"] if explained is None else explained["explaining"]
    return {**study, "arms": arms, "explaining": explaining}
