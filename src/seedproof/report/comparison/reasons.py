"""Reasons in a comparison: each method is compared as if its figures were the arms' own."""

from dataclasses import replace

from seedproof.comparison.arms.result import ComparedArm, Comparison

# What says most of explanations; every figure stands in the list of all metrics.
KEY_FIGURES = ("explanation_jaccard_20", "explanation_js")


def explained_by(comparison: Comparison) -> tuple[str, ...]:
    """Methods by which the baseline and at least one arm were explained."""
    return tuple(
        method
        for method in comparison.baseline.measurement.explanations
        if any(method in arm.explanations for arm in comparison.arms)
    )


def of_method(comparison: Comparison, method: str) -> Comparison:
    """The comparison of explanations by one method, in place of predictions."""
    return replace(
        comparison,
        baseline=_of_method(comparison.baseline, method),
        arms=tuple(
            _of_method(arm, method) for arm in comparison.arms if method in arm.explanations
        ),
    )


def _of_method(arm: ComparedArm, method: str) -> ComparedArm:
    metrics = arm.measurement.explanations[method].metrics
    return replace(
        arm,
        measurement=replace(arm.measurement, metrics=metrics),
        effects=arm.explanations.get(method, {}),
    )
