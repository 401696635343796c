"""The plan of the confirmation, committed before its runs, and the answers of compared arms."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from seedproof.comparison.arms.compare import ArmData
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.conll2019.families import has_one_threshold
from seedproof_reproductions.conll2019.names import MATCHED, UNPAIRED
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.deciding import share_from_texts
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.results import plain_effect
from seedproof_reproductions.runs import compare_with_first

# End of the names of metrics of runs that all give one answer equally often.
SAME_SHARE = ", same share"


@dataclass(frozen=True)
class Question:
    """A question of `plan.toml`: which arms are compared with which, in which metrics."""

    name: str
    asks: str
    metrics: tuple[str, ...]
    contrasts: tuple[tuple[str, str], ...]  # an arm, and the arm that it is compared with

    @property
    def arms(self) -> set[str]:
        """All arms that it needs."""
        return {arm for contrast in self.contrasts for arm in contrast}


def plan() -> Mapping[str, Any]:
    """Return the content of `plan.toml`."""
    return read_toml(__package__, "plan.toml")


def questions() -> tuple[Question, ...]:
    """Return the questions of the plan that compare arms."""
    return tuple(
        Question(
            entry["name"],
            entry["asks"],
            tuple(entry["metrics"]),
            tuple((arm, reference) for arm, reference in entry["contrasts"]),
        )
        for entry in plan()["questions"]
        if entry["contrasts"]
    )


def tried_rates() -> dict[str, dict[float, float]]:
    """Return the mean score on dev of each learning rate that was tried, by optimizer."""
    tried = read_toml(__package__, "rates.toml")
    return {
        optimizer: {float(rate): fmean(scores) for rate, scores in rates.items()}
        for optimizer, rates in tried.items()
    }


def answers(sides: Sequence[ArmData]) -> dict[str, list[dict[str, Any]]]:
    """Compare arms for every question, as far as its arms are among the sides.

    The intervals of one question hold simultaneously, each metric alone. Contrasts whose arms are
    missing count as well, so that intervals do not widen when they are added.
    """
    named = {side.name: side for side in sides}
    compared = {
        question.name: [
            _contrast(named[arm], named[reference], question)
            for arm, reference in question.contrasts
            if {arm, reference} <= named.keys()
        ]
        for question in questions()
    }
    return {name: contrasts for name, contrasts in compared.items() if contrasts}


def planned_seeds(setting: Mapping[str, Any]) -> int | None:
    """Return the number of seeds that are planned for the largest arm of a setting, if any."""
    for study in plan()["studies"]:
        if study["setting"] == planned_name(setting):
            return int(max(study["seeds"].values()))
    return None


def planned_name(setting: Mapping[str, Any]) -> str:
    """Return the name of a setting in the plan; empty if it has seeds of another root."""
    chosen = Setting.from_stored(setting)
    return replace(chosen, seed=0).name if chosen.seed == plan()["root"] else ""


def _contrast(arm: ArmData, reference: ArmData, question: Question) -> dict[str, Any]:
    """Compare two arms in the metrics of a question."""
    pair, metrics = (reference, arm), question.metrics
    compared = compare_with_first(pair, unpaired=UNPAIRED)[arm.name]
    moved: Mapping[str, MetricContrast] = {}
    if all(map(has_one_threshold, pair)):
        moved = compare_with_first(pair, match_rates=True)[arm.name].contrasts
    same_share = [name for name in MATCHED if name + SAME_SHARE in metrics]
    parts: dict[str, Any] = {
        "effects": _only(compared.contrasts, metrics),
        "matched": _only(moved, same_share),
        "explanations": {
            method: _only(rows, metrics) for method, rows in compared.explanation_contrasts.items()
        },
    }
    level = PLAIN.divided(len(question.contrasts))
    return {
        "arm": arm.name,
        "reference": reference.name,
        "n_runs": compared.measurement.n_runs,
        **_each(parts, lambda x: plain_effect(x.effect(level, margin=0.0))),
        "from_texts": _each(parts, lambda x: share_from_texts(x, level)),
    }


def _only(
    contrasts: Mapping[str, MetricContrast], metrics: Collection[str]
) -> dict[str, MetricContrast]:
    return {name: contrasts[name] for name in contrasts if name in metrics}


def _each(parts: Mapping[str, Any], make: Callable[[MetricContrast], Any]) -> dict[str, Any]:
    """Replace the contrasts of nested parts."""
    return {
        name: make(part) if isinstance(part, MetricContrast) else _each(part, make)
        for name, part in parts.items()
    }
