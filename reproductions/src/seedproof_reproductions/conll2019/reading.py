"""Stored results by data set and model, with what the paper had more of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seedproof.stats.effect import Effect
from seedproof_reproductions.conll2019.names import (
    ATTENTIONS,
    BLOCKS,
    CROSSED,
    DATASETS,
    ENCODERS,
    EXPLAINED,
    OPTIMIZERS,
    PAPER_ARMS,
)
from seedproof_reproductions.conll2019.pooling import join_halves
from seedproof_reproductions.conll2019.published import Accuracy, published, published_accuracy
from seedproof_reproductions.reading import StoredResults, fewer, in_order, lookup

# Mark of a setting that was trained again with new seeds.
FIRST_ROUND = ", first round"
# Parts of a setting that older results do not name.
OLDER: dict[str, Any] = {"seed": 0, "optimizer": "adam"}
# From so many runs on, an interval is over runs.
RUNS_FOR_INTERVAL = 3


class Curve(NamedTuple):
    """A figure in ten bins of the mean predicted probability; None in a bin without examples."""

    counts: list[int]
    means: list[float | None]
    errors: list[float | None]


@dataclass(frozen=True, eq=False)
class Contrast:
    """The comparison of an arm with another one, as stored."""

    content: Mapping[str, Any]

    @property
    def n_runs(self) -> int:
        """Runs per arm."""
        return int(self.content["n_runs"])

    def effect(self, path: str) -> Effect | None:
        """Return a change, such as `effects.flip_rate`; None if it is not stored."""
        stored = lookup(self.content, path)
        return None if stored is None else Effect(path.rpartition(".")[2], **stored)

    def from_texts(self, path: str) -> float | None:
        """Return the share of the squared width of a change that is from texts, if stored."""
        share = lookup(self.content, f"from_texts.{path}")
        return None if share is None else float(share)


class SettingResults(StoredResults):
    """Results of one data set and one model."""

    order = {  # noqa: RUF012 - a ClassVar of the base
        "dataset": list(DATASETS), "encoder": list(ENCODERS), "attention": list(ATTENTIONS),
        "optimizer": list(OPTIMIZERS),
        # The confirmation, on seeds that no choice has seen, comes before the first round.
        "seed": [1, 0],
    }  # fmt: skip

    @property
    def encoder(self) -> str:
        """`cnn` or `lstm`."""
        return str(self.content["setting"]["encoder"])

    @property
    def is_as_tabled(self) -> bool:
        """True for additive attention and Adam, which the models of the paper's tables have."""
        chosen = OLDER | self.content["setting"]
        return bool(chosen["attention"] == "additive" and chosen["optimizer"] == "adam")

    def published(self, arm: str) -> Accuracy | None:
        """Return the accuracy of an arm in the paper's tables; None if it is not there."""
        known = published_accuracy(self.dataset, self.encoder, arm)
        return known if self.is_as_tabled else None

    @property
    def title(self) -> str:
        """Data set and model on the page, with what is not as usual."""
        chosen = self.content["setting"]
        model = f"{ENCODERS[self.encoder]}{ATTENTIONS[chosen['attention']]}"
        before = FIRST_ROUND if self.content["is_repeated"] else ""
        return f"{DATASETS[self.dataset]}, {model}{OPTIMIZERS[chosen['optimizer']]}{before}"

    def contrast(self, question: str, arm: str, reference: str) -> "Contrast | None":
        """Return the comparison of two arms for a question of the plan; None if not stored."""
        for answers in (self.content["answers"], self.content["crossed"].get("answers", {})):
            for stored in answers.get(question, ()):
                if (stored["arm"], stored["reference"]) == (arm, reference):
                    return Contrast(stored)
        return None

    @property
    def n_in_blocks(self) -> int:
        """Runs that were trained in blocks, in addition to those of the arms."""
        return sum(arm["n_runs"] for arm in self.content["sources"].get("arms", {}).values())

    @property
    def halves(self) -> Mapping[str, int]:
        """Seeds of each half of a study that was trained in two, by its name; empty for others."""
        halves: Mapping[str, int] = self.content.get("halves", {})
        return halves

    @property
    def paper_arms(self) -> tuple[str, ...]:
        """The paper's two stabilizers, if they were trained."""
        return tuple(arm for arm in PAPER_ARMS if arm in self.content["arms"])

    def rival(self, metric: str, method: str = "") -> Effect | None:
        """Return the change of NASWA against ASWA, by default in its predictions."""
        at = f"explanations.{method}" if method else "effects"
        stored = lookup(self.content["rivals"], f"{at}.{metric}")
        return None if stored is None else Effect(metric, **stored)

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
        parts = stored["counts"], stored["means"][metric], stored["errors"][metric]
        return dict(zip(stored["classes"], map(Curve, *parts), strict=True))

    def published_size(self, split: str) -> int:
        """Return the number of texts in the paper."""
        return int(sum(published()["sizes"][self.dataset][split]))

    @property
    def departures(self) -> tuple[str, ...]:
        """Everything that the paper had more of, such as "400 of 6,355 training texts"."""
        return self._less + fewer("seeds", min(self.n_each), published()["training"]["seeds"])

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
            *fewer("training texts", sizes["train"], self.published_size("train")),
            *fewer("test texts", sizes["test"], self.published_size("test")),
            *fewer("epochs", epochs, published()["training"]["epochs"]),
        )


def by_setting(
    results: Sequence[Mapping[str, Any]], *, pooled: bool = True
) -> tuple[SettingResults, ...]:
    """Results by setting, those of explained models with the study that trained them.

    Explanations of models whose own results are missing are left out. Studies that were trained in
    two halves are pooled, unless each is wanted by itself.
    """
    results = join_halves(results) if pooled else results
    named = {str(study["name"]): study for study in results}
    confirmed = {_model(study) for study in results if study["setting"].get("seed")}
    return in_order(
        SettingResults(
            _merged(study, named.get(name + EXPLAINED))
            | {
                "is_repeated": not study["setting"].get("seed") and _model(study) in confirmed,
                "crossed": _with_own_figures(named.get(name + CROSSED, {}), study),
                "sources": named.get(name + BLOCKS, {}),
            }
        )
        for name, study in named.items()
        if not name.endswith((EXPLAINED, CROSSED, BLOCKS))
    )


def _with_own_figures(crossed: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, Any]:
    """Return crossed arms; those at their own epoch have the figures of the study."""
    arms = dict(crossed.get("arms", {}))
    for name in arms.keys() & study["arms"].keys():
        own = study["arms"][name]
        arms[name] = {**arms[name], **{part: own[part] for part in ("metrics", "explanations")}}
    return {**crossed, "arms": arms} if arms else {}


def _model(study: Mapping[str, Any]) -> tuple[str, ...]:
    """Data set, model and optimizer of a study."""
    chosen = OLDER | study["setting"]
    return tuple(chosen[name] for name in ("dataset", "encoder", "attention", "optimizer"))


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
    return {
        "answers": {},
        **study,
        "setting": OLDER | study["setting"],
        "arms": arms,
        "explaining": explaining,
    }
