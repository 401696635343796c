"""Comparison of saved reports with a baseline, from their figures and intervals alone."""

from collections.abc import Mapping

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import MissingExampleError, OptionError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.predictions.checks import of_arms
from seedproof.stats.contrast import NO_COUNTERPART, from_estimates
from seedproof.stats.effect import Effect, each_tail, scale_of, with_enough_runs

NOTE = Message(
    "made-from-reports",
    "Made from reports, which hold figures but no predictions: seeds and examples are not paired, "
    "so most intervals are wider than in a comparison of the records.",
)
# Metrics that grow with the number of runs, so they are compared only if both have equally many.
GROWS_WITH_RUNS = frozenset({"label_entropy"})
# Metrics whose ratio has no interval, because both values may be 0.
WITHOUT_RATIO = frozenset({"accuracy_sd_excess"})


def compare_summaries(
    reports: Mapping[str, Measurement], *, reference: str | None = None
) -> Comparison:
    """Compare every report with the first, which is the baseline."""
    if len(reports) < 2:
        raise OptionError(
            "A comparison needs at least two reports. Give another one, or records.",
            n_reports=len(reports),
        )
    if reference is not None:
        raise OptionError(
            "A reference arm needs records, not reports. Leave {option} out.", option="--gold"
        )
    tail = each_tail(len(reports) - 1)
    (base_name, base), *others = reports.items()
    for name, report in others:
        if (report.n_examples, report.n_labeled) != (base.n_examples, base.n_labeled):
            raise MissingExampleError(
                "{name!r} is of {n_examples:,} examples ({n_labeled:,} labeled) and "
                "{other_name!r} of {other_n_examples:,} ({other_n_labeled:,}). "
                "Compare reports of the same examples.",
                name=base_name,
                n_examples=base.n_examples,
                n_labeled=base.n_labeled,
                other_name=name,
                other_n_examples=report.n_examples,
                other_n_labeled=report.n_labeled,
            )
    return Comparison(
        baseline=ComparedArm(base_name, base),
        arms=tuple(_compare_with_base(name, base, report, tail) for name, report in others),
        confidence=1 - 2 * tail,
        notes=(NOTE,),
        checks=of_arms({name: report.checks for name, report in reports.items()}),
    )


def _compare_with_base(name: str, base: Measurement, arm: Measurement, tail: float) -> ComparedArm:
    n_runs = min(base.n_runs, arm.n_runs)
    effects = {}
    for metric, base_estimate in base.metrics.items():
        is_incomparable = metric in GROWS_WITH_RUNS and base.n_runs != arm.n_runs
        if metric not in arm.metrics:
            continue
        if is_incomparable or metric in WITHOUT_RATIO:
            effect = Effect(metric, scale_of(metric), None, note=NO_COUNTERPART)
        else:
            effect = from_estimates(metric, base_estimate, arm.metrics[metric], tail=tail)
        effects[metric] = with_enough_runs(effect, n_runs)
    explanations = {
        method: {
            metric: with_enough_runs(
                from_estimates(metric, base_estimate, explained.metrics[metric], tail=tail),
                min(base_explained.n_runs, explained.n_runs),
            )
            for metric, base_estimate in base_explained.metrics.items()
        }
        for method, base_explained in base.explanations.items()
        if (explained := arm.explanations.get(method)) is not None
        and explained.n_examples == base_explained.n_examples
    }
    return ComparedArm(name, arm, effects=effects, explanations=explanations)
