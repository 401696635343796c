"""Saved reports against a baseline: what their figures and intervals alone can tell."""

from collections.abc import Sequence

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import MissingExampleError, OptionError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.stats.contrast import NO_COUNTERPART, from_estimates
from seedproof.stats.effect import Effect, each_tail, scale_of

NOTE = Message(
    "made-from-reports",
    "Made from reports, which hold figures and no predictions: seeds and examples are not paired, "
    "so most intervals are wider than those of a comparison of the records.",
)
# Their value depends on the number of runs, so that it can be compared at equal numbers only.
GROWS_WITH_RUNS = frozenset({"label_entropy"})
# A ratio of what is left of spreads has no interval: both ends may be 0.
WITHOUT_RATIO = frozenset({"accuracy_sd_excess"})


def compare_saved(
    names: Sequence[str], measurements: Sequence[Measurement], *, gold: str | None = None
) -> Comparison:
    """Every report against the first."""
    if len(names) < 2:
        raise OptionError(
            "One report alone cannot be compared. Give at least two, or records.",
            n_reports=len(names),
        )
    if gold is not None:
        raise OptionError(
            "A gold standard needs records, not reports. Leave {option} out.", option="--gold"
        )
    base, tail = measurements[0], each_tail(len(names) - 1)
    arms = []
    for name, one in zip(names[1:], measurements[1:], strict=True):
        if (one.n_examples, one.n_labeled) != (base.n_examples, base.n_labeled):
            raise MissingExampleError(
                "{name!r} is of {n_examples:,} examples ({n_labeled:,} labeled) and "
                "{other_name!r} of {other_n_examples:,} ({other_n_labeled:,}). "
                "Compare reports of the same.",
                name=names[0],
                n_examples=base.n_examples,
                n_labeled=base.n_labeled,
                other_name=name,
                other_n_examples=one.n_examples,
                other_n_labeled=one.n_labeled,
            )
        effects = {
            metric: _effect(metric, base, one, tail)
            for metric in base.metrics
            if metric in one.metrics
        }
        explanations = {
            method: {
                metric: from_estimates(
                    metric, value, theirs.metrics[metric], tail=tail, has_runs=_has_runs(base, one)
                )
                for metric, value in found.metrics.items()
            }
            for method, found in base.explanations.items()
            if (theirs := one.explanations.get(method)) is not None
            and theirs.n_examples == found.n_examples
        }
        arms.append(ComparedArm(name, one, effects=effects, explanations=explanations))
    return Comparison(
        baseline=ComparedArm(names[0], base),
        arms=tuple(arms),
        confidence=1 - 2 * tail,
        notes=(NOTE,),
    )


def _effect(metric: str, base: Measurement, arm: Measurement, tail: float) -> Effect:
    is_unlike = metric in GROWS_WITH_RUNS and base.n_runs != arm.n_runs
    if is_unlike or metric in WITHOUT_RATIO:
        return Effect(metric, scale_of(metric), None, note=NO_COUNTERPART)
    return from_estimates(
        metric,
        base.metrics[metric],
        arm.metrics[metric],
        tail=tail,
        has_runs=_has_runs(base, arm),
    )


def _has_runs(base: Measurement, arm: Measurement) -> bool:
    """Whether there were enough runs to leave one out."""
    return min(base.n_runs, arm.n_runs) > 2
