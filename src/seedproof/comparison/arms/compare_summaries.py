"""Comparison of saved reports with a baseline, from their figures and intervals alone."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from seedproof.comparison.arms.judge import check_margins, primary_metric, without_verdicts
from seedproof.comparison.arms.kinds import answer_kind
from seedproof.comparison.arms.levels import comparable_metrics, notes_on_levels
from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.errors import MissingExampleError, OptionError
from seedproof.measurement.result import Measurement
from seedproof.measurement.selection import answers_of, is_metric
from seedproof.messages import Message
from seedproof.metrics.card import Better, card_name
from seedproof.metrics.numbers.ranks import Ranks
from seedproof.metrics.numbers.variance import Variances
from seedproof.predictions.checks import errors_of, of_arms
from seedproof.records.schema import Kind
from seedproof.stats.effect import (
    COUNTED,
    UNBOUNDED,
    Effect,
    directed,
    scale_of,
    usual_margin,
    with_enough_runs,
)
from seedproof.stats.estimate_contrast import NO_COUNTERPART, from_estimates
from seedproof.stats.families import with_equivalence
from seedproof.stats.intervals import PLAIN, WITHOUT_RUNS, Estimate, Level

NOTE = Message(
    "made-from-reports",
    "Made from reports, which hold figures but no predictions: seeds and examples are not paired, "
    "so most intervals are wider than in a comparison of the records.",
)
# Metrics that grow with the number of runs, so they are compared only if both have equally many.
GROWS_WITH_RUNS = frozenset({"label_entropy"})
# Metrics whose ratio has no interval, because both values may be 0 or negative.
WITHOUT_RATIO = frozenset(
    {"accuracy_sd_excess", "mean_sd_excess", "score_sd_excess", "r2"}
    | {*Ranks.figures, *Variances.figures}
)
# Scores of 0 and 1 have it.
OF_PASSES = "pass^1"


def compare_summaries(
    reports: Mapping[str, Measurement],
    *,
    reference: str | None = None,
    primary: str | None = None,
    margins: Mapping[str, float] | None = None,
    lower_is_better: bool = False,
) -> Comparison:
    """Compare every report with the first, which is the baseline.

    Reports do not say how their metrics are correlated, so the level is divided by their number,
    nor in which direction the mean of scores is better.
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
        if (own := _answers(base)) != (others_own := _answers(report)):
            raise OptionError(
                "{name!r} has {answers}, and {other_name!r} has {other_answers}. Compare reports "
                "of the same kind.",
                name=base_name,
                answers=own,
                other_name=name,
                other_answers=others_own,
            )
        if (base.repeats == "trials") != (report.repeats == "trials"):
            raise OptionError(
                "One of {name!r} and {other_name!r} has trials of one model, and the other has "
                "runs. Pass {option} for both, or for neither.",
                name=base_name,
                other_name=name,
                option="--trial",
            )
        if _weights(report) != _weights(base):
            raise OptionError(
                "The examples of {name!r} and {other_name!r} have different weights. Measure both "
                "with the same {option}.",
                name=base_name,
                other_name=name,
                option="weight",
            )
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
    kind = answer_kind(Kind(base.kind))
    margins = margins or {}
    of_mean: Better = "lower" if lower_is_better else "higher"
    if base.kind != Kind.NUMBERS or base.n_labeled:
        of_mean = "neither"
    figures = {name: _figures(base, report, of_mean) for name, report in others}
    compared = dict.fromkeys(metric for own in figures.values() for metric in own)
    primary = primary_metric(primary, compared or base.metrics, kind.usual_primary)
    quality = kind.quality(primary, compared, better=of_mean)
    explained = {name: _explained(base, report) for name, report in others}
    rows = [figure for own in figures.values() for figure in own.values()]
    rows += [x for methods in explained.values() for own in methods.values() for x in own.values()]
    check_margins(margins, dict.fromkeys(row.metric for row in rows))
    judged = [row for row in rows if row.effect(PLAIN).low is not None]
    if all(row.metric != quality for row in judged):
        quality = None
    primaries = {primary, *(() if quality is None else (quality,))}
    n_primary = sum(row.metric in primaries for row in judged)
    levels = {
        True: PLAIN.divided(max(n_primary, 1)),
        False: PLAIN.divided(max(len(judged) - n_primary, 1)),
    }
    arms = [
        ComparedArm(
            name,
            report,
            effects=_effects(figures[name], levels, margins, primaries),
            explanations={
                method: _effects(own, levels, margins) for method, own in explained[name].items()
            },
        )
        for name, report in others
    ]
    checks = of_arms({name: report.checks for name, report in reports.items()})
    errors = errors_of(checks, [name for name, _ in others], base_name)
    return Comparison(
        baseline=ComparedArm(base_name, base),
        arms=without_verdicts(arms, (), errors)[0],
        confidence=levels[True].confidence,
        primary=primary,
        quality=quality,
        notes=(
            NOTE,
            *notes_on_levels([report.levels for report in reports.values()]),
            *_own_metrics(reports),
        ),
        checks=checks,
        better=of_mean,
    )


def _own_metrics(reports: Mapping[str, Measurement]) -> tuple[Message, ...]:
    """Return a note on metrics of the user's own, whose better direction is unknown."""
    names = {name: None for report in reports.values() for name in report.metrics}
    own = tuple(name for name in names if not is_metric(name))
    if not own:
        return ()
    return (
        Message(
            "own-metrics-not-compared",
            "Metrics of your own are not compared: {names}.",
            names=own,
        ),
    )


def _weights(report: Measurement) -> float | None:
    """Return the effective number of weighted examples, which differs for other weights."""
    return None if report.weights is None else round(report.weights.n_effective, 6)


def _answers(report: Measurement) -> str:
    return answers_of(Kind(report.kind))


@dataclass(frozen=True)
class _Figures:
    """One metric of a report and of the baseline's."""

    metric: str
    base: Estimate
    arm: Estimate
    n_runs: int  # of the one that has fewer
    is_comparable: bool = True
    are_trials: bool = False  # of one model: any number of them is judged
    better: Better = "neither"  # of a metric whose card names no direction
    has_margin: bool = True  # that is usual

    def effect(self, level: Level, margin: float | None = None) -> Effect:
        """Return the effect at a level."""
        if not self.is_comparable:
            effect = Effect(self.metric, scale_of(self.metric), None, note=NO_COUNTERPART)
            return self._judged(effect)
        if margin is None and self.has_margin:
            margin = usual_margin(self.metric)
        return with_equivalence(self._at, level, margin, needs_runs=not self.are_trials)

    def _at(self, level: Level) -> Effect:
        effect = from_estimates(self.metric, self.base, self.arm, level=level)
        return self._judged(directed(effect, self.better))

    def _judged(self, effect: Effect) -> Effect:
        if self.are_trials:
            return effect
        # An interval over examples alone is neither a difference of runs nor its absence.
        n_runs = 0 if effect.over in WITHOUT_RUNS else self.n_runs
        return with_enough_runs(effect, n_runs)


def _figures(base: Measurement, arm: Measurement, better: Better) -> dict[str, _Figures]:
    is_uneven = base.n_runs != arm.n_runs
    are_trials = base.repeats == arm.repeats == "trials"
    are_passes = all(OF_PASSES in x.metrics for x in (base, arm))
    known = [
        name
        for name in comparable_metrics(base.metrics, base.levels, arm.levels)
        if name in arm.metrics and is_metric(name)
    ]
    return {
        metric: _Figures(
            metric,
            base.metrics[metric],
            arm.metrics[metric],
            min(base.n_runs, arm.n_runs),
            is_comparable=card_name(metric) not in WITHOUT_RATIO | COUNTED
            and not (is_uneven and metric in GROWS_WITH_RUNS),
            are_trials=are_trials,
            better=better if metric == "mean" else "neither",
            has_margin=metric not in UNBOUNDED or (are_passes and metric == "mean"),
        )
        for metric in answer_kind(Kind(base.kind)).pairs.compared(known, is_uneven=is_uneven)
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
    primaries: Collection[str] = (),
) -> dict[str, Effect]:
    return {
        name: replace(
            figure.effect(levels[name in primaries], margins.get(name)),
            exploratory=name not in primaries,
        )
        for name, figure in figures.items()
    }
