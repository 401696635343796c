"""Explanations, and runs whose threshold was moved, as plain data."""

from collections.abc import Mapping
from typing import Any

from seedproof.comparison.arms.result import ComparedArm
from seedproof.comparison.effect import Effect
from seedproof.measurement.explanations import Curves, ExplanationMeasurement
from seedproof.report.words import drift
from seedproof_reproductions.conll2019.names import JACCARD, KL
from seedproof_reproductions.plain import plain_array, plain_effects, plain_figures, short

# The curves that the paper draws: Figures 4, 5 and 7 to 10.
CURVES = (KL, JACCARD)
# What is kept of runs whose threshold was moved.
MATCHED = ("accuracy", "accuracy_sd", "accuracy_sd_independent", "flip_rate")


def plain_explanations(
    found: ExplanationMeasurement, effects: Mapping[str, Effect]
) -> dict[str, Any]:
    """Figures, effects, noise and curves of one method.

    Args:
        found: What was measured.
        effects: What the arm changes against the baseline.

    Returns:
        Plain data, without the examples.
    """
    return {
        "n_examples": found.n_examples,
        "metrics": plain_figures(found.metrics),
        "effects": plain_effects(effects),
        # Between draws of one run: what is left when the seed is the same.
        "noise": None if found.noise is None else plain_figures(found.noise),
        "n_repeated": found.n_repeated,
        "curves": None if found.curves is None else _curves(found.curves),
    }


def _curves(curves: Curves) -> dict[str, Any]:
    return {
        "classes": list(curves.classes),
        "counts": plain_array(curves.counts),
        "means": {name: plain_array(curves.means[name]) for name in CURVES},
        "errors": {name: plain_array(curves.errors[name]) for name in CURVES},
    }


def plain_changes(arm: ComparedArm) -> dict[str, Any]:
    """What an arm changes in predictions, and in the explanations of each method."""
    return {
        "effects": plain_effects(arm.effects),
        "explanations": {
            method: plain_effects(effects) for method, effects in arm.explanations.items()
        },
    }


def plain_matched(arm: ComparedArm, among_all: ComparedArm | None) -> dict[str, Any]:
    """Some figures and effects of runs whose threshold was moved.

    Args:
        arm: The arm beside the baseline.
        among_all: The same among all arms, if that is another comparison.

    Returns:
        Plain data; the share of the second class is that of every run.
    """
    figures, shares = arm.measurement.metrics, drift(arm.measurement)[1]

    def some(found: ComparedArm) -> dict[str, dict[str, Any]]:
        return plain_effects({name: found.effects[name] for name in MATCHED if found.effects})

    return {
        "share": short(float(shares[0])),
        "metrics": plain_figures({name: figures[name] for name in MATCHED}),
        "effects": some(arm),
        "of_all": None if among_all is None else some(among_all),
    }
