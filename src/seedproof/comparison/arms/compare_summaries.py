"""Comparison of saved reports with a baseline, from their figures and intervals alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seedproof.comparison.arms.judge import check_margins, primary_metric
from seedproof.comparison.arms.kinds import Classes
from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import MissingExampleError, OptionError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics import METRIC_NAMES
from seedproof.predictions.checks import of_arms
from seedproof.stats.effect import Effect, scale_of, usual_margin, with_enough_runs
from seedproof.stats.estimate_contrast import NO_COUNTERPART, from_estimates
from seedproof.stats.families import with_equivalence
from seedproof.stats.intervals import PLAIN, Estimate, Level

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
    reports: Mapping[str, Measurement],
    *,
    reference: str | None = None,
    primary: str | None = None,
    margins: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare every report with the first, which is the baseline.

    Reports do not say how their metrics are correlated, so the level is divided by their number.
    """
    if len(reports) < 2:
        raise OptionError(
            "A comparison needs at least two reports. Pass another one, or records.",
            n_reports=len(reports),
        )
    if reference is not None:
        raise OptionError(
            "A reference arm needs records, not reports. Leave {option} out.", option="--gold"
        )
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
    primary = primary_metric(primary, base.metrics, Classes.usual_primary)
    margins = margins or {}
    figures = {name: _figures(base, report) for name, report in others}
    explained = {name: _explained(base, report) for name, report in others}
    rows = [figure for own in figures.values() for figure in own.values()]
    rows += [x for methods in explained.values() for own in methods.values() for x in own.values()]
    check_margins(margins, dict.fromkeys(row.metric for row in rows))
    judged = [row for row in rows if row.effect(PLAIN).low is not None]
    n_primary = sum(row.metric == primary for row in judged)
    levels = {
        True: PLAIN.divided(max(n_primary, 1)),
        False: PLAIN.divided(max(len(judged) - n_primary, 1)),
    }
    return Comparison(
        baseline=ComparedArm(base_name, base),
        arms=tuple(
            ComparedArm(
                name,
                report,
                effects=_effects(figures[name], levels, margins, primary),
                explanations={
                    method: _effects(own, levels, margins)
                    for method, own in explained[name].items()
                },
            )
            for name, report in others
        ),
        confidence=levels[True].confidence,
        primary=primary,
        notes=(NOTE, *_own_metrics(reports)),
        checks=of_arms({name: report.checks for name, report in reports.items()}),
    )


def _own_metrics(reports: Mapping[str, Measurement]) -> tuple[Message, ...]:
    """Return a note on metrics of the user's own, whose better direction is unknown."""
    names = {name: None for report in reports.values() for name in report.metrics}
    own = tuple(name for name in names if name not in METRIC_NAMES)
    if not own:
        return ()
    return (
        Message(
            "own-metrics-not-compared",
            "Metrics of your own are not compared: {names}.",
            names=own,
        ),
    )


@dataclass(frozen=True)
class _Figures:
    """One metric of a report and of the baseline's."""

    metric: str
    base: Estimate
    arm: Estimate
    n_runs: int  # of the one that has fewer
    is_comparable: bool = True

    def effect(self, level: Level, margin: float | None = None) -> Effect:
        """Return the effect at a level."""
        if not self.is_comparable:
            effect = Effect(self.metric, scale_of(self.metric), None, note=NO_COUNTERPART)
            return with_enough_runs(effect, self.n_runs)
        margin = usual_margin(self.metric) if margin is None else margin
        return with_equivalence(self._at, level, margin)

    def _at(self, level: Level) -> Effect:
        effect = from_estimates(self.metric, self.base, self.arm, level=level)
        return with_enough_runs(effect, self.n_runs)


def _figures(base: Measurement, arm: Measurement) -> dict[str, _Figures]:
    is_uneven = base.n_runs != arm.n_runs
    return {
        metric: _Figures(
            metric,
            estimate,
            arm.metrics[metric],
            min(base.n_runs, arm.n_runs),
            metric not in WITHOUT_RATIO and not (is_uneven and metric in GROWS_WITH_RUNS),
        )
        for metric, estimate in base.metrics.items()
        if metric in arm.metrics and metric in METRIC_NAMES
    }


def _explained(base: Measurement, arm: Measurement) -> dict[str, dict[str, _Figures]]:
    return {
        method: {
            metric: _Figures(
                metric, estimate, own.metrics[metric], min(explained.n_runs, own.n_runs)
            )
            for metric, estimate in explained.metrics.items()
        }
        for method, explained in base.explanations.items()
        if (own := arm.explanations.get(method)) is not None
        and own.n_examples == explained.n_examples
    }


def _effects(
    figures: Mapping[str, _Figures],
    levels: Mapping[bool, Level],
    margins: Mapping[str, float],
    primary: str | None = None,
) -> dict[str, Effect]:
    return {
        name: replace(
            figure.effect(levels[name == primary], margins.get(name)), exploratory=name != primary
        )
        for name, figure in figures.items()
    }
