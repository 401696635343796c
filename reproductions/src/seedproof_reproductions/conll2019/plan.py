"""The plan of the confirmation, committed before its runs, and the answers of compared arms."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.arms.compare import ArmData
from seedproof.stats.effect import Effect
from seedproof_reproductions.conll2019.families import has_one_threshold
from seedproof_reproductions.conll2019.names import MATCHED
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.results import plain_effects
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
    name = "-".join(setting[part] for part in ("dataset", "encoder", "attention"))
    for study in plan()["studies"]:
        if study["setting"] == name and setting["seed"] == plan()["root"]:
            return int(max(study["seeds"].values()))
    return None


def _contrast(arm: ArmData, reference: ArmData, question: Question) -> dict[str, Any]:
    """Compare two arms in the metrics of a question."""
    pair, n_together, metrics = (reference, arm), len(question.contrasts), set(question.metrics)
    compared = compare_with_first(pair, n_together=n_together)[arm.name]
    matched = {}
    if all(map(has_one_threshold, pair)):
        moved = compare_with_first(pair, match_rates=True, n_together=n_together)[arm.name]
        matched = {name: moved.effects[name] for name in MATCHED if name + SAME_SHARE in metrics}
    return {
        "arm": arm.name,
        "reference": reference.name,
        "n_runs": compared.measurement.n_runs,
        "effects": plain_effects(_only(compared.effects, metrics)),
        "matched": plain_effects(matched),
        "explanations": {
            method: plain_effects(_only(effects, metrics))
            for method, effects in compared.explanations.items()
        },
    }


def _only(effects: Mapping[str, Effect], metrics: Collection[str]) -> dict[str, Effect]:
    return {name: effect for name, effect in effects.items() if name in metrics}
