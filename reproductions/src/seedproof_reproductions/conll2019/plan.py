"""The plan of the confirmation, committed before its runs, and the answers of compared arms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.comparison.arms.compare import ArmData
from seedproof_reproductions.conll2019.families import has_one_threshold
from seedproof_reproductions.conll2019.names import MATCHED
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.results import plain_effects
from seedproof_reproductions.runs import compare_with_first


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
    """Compare arms for every question whose arms are among the sides.

    The intervals of one question hold simultaneously, each metric alone.
    """
    named = {side.name: side for side in sides}
    return {
        question.name: [
            _contrast(named[arm], named[reference], n_together=len(question.contrasts))
            for arm, reference in question.contrasts
        ]
        for question in questions()
        if question.arms <= named.keys()
    }


def _contrast(arm: ArmData, reference: ArmData, *, n_together: int) -> dict[str, Any]:
    pair = (reference, arm)
    compared = compare_with_first(pair, n_together=n_together)[arm.name]
    matched = {}
    if all(map(has_one_threshold, pair)):
        moved = compare_with_first(pair, match_rates=True, n_together=n_together)[arm.name]
        matched = {name: moved.effects[name] for name in MATCHED}
    return {
        "arm": arm.name,
        "reference": reference.name,
        "n_runs": compared.measurement.n_runs,
        "effects": plain_effects(compared.effects),
        "matched": plain_effects(matched),
        "explanations": {
            method: plain_effects(effects) for method, effects in compared.explanations.items()
        },
    }
