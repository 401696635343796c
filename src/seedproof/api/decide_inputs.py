"""The inputs of `sp.decide`: runs of a baseline and of a candidate, with or without examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from seedproof.api.compare import arm_data
from seedproof.api.scalars import arm_named
from seedproof.comparison.arms.compare import compare_arms
from seedproof.comparison.arms.kinds import answer_kind, direction_of_mean
from seedproof.comparison.decide.ledger import answers_of, digest_of
from seedproof.comparison.decide.schedule import Schedule
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.selection import check_allowed, check_decides, known_metrics
from seedproof.messages import Message
from seedproof.predictions.arms import short_names
from seedproof.predictions.checks import Check
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable, Predictions, load_one, on_common_examples
from seedproof.predictions.targets import Input, recognize
from seedproof.records.drafts import temporary_folder
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.scalars.compare import aligned, directions, pair_of
from seedproof.scalars.read import load_scalars
from seedproof.scalars.runs import SPREAD, ScalarArm, Scalars, check_metrics
from seedproof.stats.effect import UNBOUNDED
from seedproof.stats.families import MetricContrast

USUAL_OF_CLASSES = "accuracy"


class Compared(NamedTuple):
    """The metric that decides, of the baseline and of the first runs of the candidate."""

    row: MetricContrast
    notes: tuple[Message, ...]
    checks: tuple[Check, ...]
    quality: MetricContrast | None = None  # that guards a metric of stability


@dataclass(frozen=True, eq=False)
class PredictionSides:
    """Runs that have examples."""

    baseline: Predictions
    candidate: Predictions
    names: tuple[str, str]
    metric: str
    engine: Engine | None
    options: LoadOptions

    @classmethod
    def load(
        cls,
        targets: tuple[Loadable, Loadable],
        metric: str | None,
        baseline_arm: str | None,
        engine: Engine | None,
        options: LoadOptions,
    ) -> "PredictionSides":
        """Read both sides."""
        known_metrics(None if metric is None else [metric])
        check_decides([] if metric is None else [metric])
        inputs = [recognized(target) for target in targets]
        kinds = [_kind(x) for x in inputs]
        check_options(kinds, options)
        of_baseline: LoadOptions = {**options, "arm": baseline_arm or options.get("arm")}
        base, new = (
            load_one(x, of_baseline if is_base and kind == "store" else options, least_runs=1)
            for x, kind, is_base in zip(inputs, kinds, (True, False), strict=True)
        )
        metric = _usual_metric(base) if metric is None else metric
        for arm in (base, new):
            check_allowed((metric,), arm.source)
        if options.get("common_examples"):
            base, new = on_common_examples({"baseline": base, "candidate": new}).values()
        arms = baseline_arm or options.get("arm"), options.get("arm")
        usual_names = short_names(list(targets))
        if usual_names == ["baseline", "arm 1"]:
            usual_names = ["baseline", "candidate"]
        names = [
            (kind == "store" and arm) or name
            for kind, arm, name in zip(kinds, arms, usual_names, strict=True)
        ]
        return cls(base, new, (names[0], names[1]), metric, engine, options)

    @property
    def lower_is_better(self) -> bool:
        """True if the mean of numbers is better when lower."""
        return bool(self.options.get("lower_is_better"))

    @property
    def n_runs(self) -> tuple[int, int]:
        """Number of runs of both."""
        return self.baseline.source.n_runs, self.candidate.source.n_runs

    @property
    def are_trials(self) -> bool:
        """True if runs are trials of one model."""
        return self.baseline.source.settings.are_trials

    @property
    def is_share(self) -> bool:
        """True if a gain is a share, of the baseline or of 1, and not a number of any size."""
        return self.metric not in UNBOUNDED

    def schedule(self, max_runs: int | None) -> Schedule:
        """Return the numbers of runs at which the candidate is judged."""
        if not self.are_trials:
            return Schedule.of_runs(max_runs)
        return Schedule.of_trials(max_runs, self.metric, self.candidate.n_examples)

    def digests(self, n_runs: int) -> tuple[str | None, str | None]:
        """Return digests of the first runs of both; None for a side that has fewer."""
        base, new = (
            digest_of(answers_of(arm.first(n_runs))) if arm.source.n_runs >= n_runs else None
            for arm in (self.baseline, self.candidate)
        )
        return base, new

    def compared(self, step: int) -> Compared:
        """Compare all runs of the baseline with the first of the candidate."""
        arms = {"baseline": self.baseline, "candidate": self.candidate.first(step)}
        quality = self._quality
        with temporary_folder() as working:
            comparison = compare_arms(
                arm_data(arms),
                Location.of(working),
                metrics=(self.metric, *(() if quality is None else (quality,))),
                primary=self.metric,
                skip_damaged=self.options.get("skip_damaged", False),
                engine=self.engine,
                progress=self.options.get("progress"),
            )
        contrasts = comparison.arms[0].contrasts
        if self.metric not in contrasts:
            raise OptionError(
                "{metric} says the same as another metric here, and is not compared. Name one of "
                "{metrics}.",
                metric=self.metric,
                metrics=tuple(contrasts),
            )
        guard = None if quality is None else contrasts.get(quality)
        return Compared(contrasts[self.metric], comparison.notes, comparison.checks, guard)

    @property
    def _quality(self) -> str | None:
        """The usual quality, if it can be measured and the metric says nothing of it."""
        source = self.baseline.source
        usual, better = _usual_metric(self.baseline), direction_of_mean(source)
        quality = answer_kind(source.kind).quality(self.metric, (usual,), better=better)
        if source.kind is Kind.NUMBERS:  # errors need a target of every example, means need none
            is_known = source.n_labeled in {0, source.n_examples}
        else:
            is_known = source.n_labeled > 0
        return quality if is_known else None


@dataclass(frozen=True, eq=False)
class ScalarSides:
    """Runs that have single numbers, and no examples."""

    baseline: ScalarArm
    candidate: ScalarArm
    metric: str
    lower_is_better: bool
    notes: tuple[Message, ...]

    are_trials = False

    @classmethod
    def load(
        cls,
        targets: tuple[Loadable, Loadable],
        metric: str | None,
        baseline_arm: str | None,
        lower: Sequence[str] | None,
        options: LoadOptions,
    ) -> "ScalarSides":
        """Read both sides."""
        arm, others = options.get("arm"), {**options, "arm": None}
        sides = []
        for target, name, option in zip(
            targets, (baseline_arm or arm, arm), ("baseline_arm", "arm"), strict=True
        ):
            alone = target[0] if isinstance(target, list) and len(target) == 1 else target
            names = None if metric is None else [metric]
            scalars = load_scalars(alone, others, names, least_runs=1)
            sides.append((scalars, arm_named(scalars, name, option)))
        (scalars, base), (of_candidate, new) = sides
        metric = metric or scalars.metrics[0]
        for own in (scalars, of_candidate):
            check_metrics([metric], own.metrics)
        figure = metric if metric in scalars.metrics else metric.removesuffix(SPREAD)
        better = directions([figure], lower)
        notes = (*scalars.notes, *of_candidate.notes)
        return cls(base, new, metric, better[figure] == "lower", tuple(dict.fromkeys(notes)))

    @property
    def is_share(self) -> bool:
        """True if a gain is a share of the baseline, as that of a spread is."""
        return self.metric != self._figure

    @property
    def names(self) -> tuple[str, str]:
        """Names of both arms."""
        return self.baseline.name, self.candidate.name

    @property
    def n_runs(self) -> tuple[int, int]:
        """Number of runs of both."""
        return self.baseline.n_runs, self.candidate.n_runs

    def schedule(self, max_runs: int | None) -> Schedule:
        """Return the numbers of runs at which the candidate is judged."""
        return Schedule.of_runs(max_runs, has_examples=False)

    def digests(self, n_runs: int) -> tuple[str | None, str | None]:
        """Return digests of the first runs of both; None for a side that has fewer."""
        figure = self._figure
        base, new = (
            digest_of([arm.first(n_runs).values[figure]]) if arm.n_runs >= n_runs else None
            for arm in (self.baseline, self.candidate)
        )
        return base, new

    @property
    def _figure(self) -> str:
        """The metric, or the one whose spread decides."""
        is_own = self.metric in self.candidate.values
        return self.metric if is_own else self.metric.removesuffix(SPREAD)

    def compared(self, step: int) -> Compared:
        """Compare all runs of the baseline with the first of the candidate."""
        sides = aligned({"baseline": self.baseline, "candidate": self.candidate.first(step)})
        better = directions([self._figure], [self._figure] if self.lower_is_better else [])
        pair = pair_of(sides, "candidate", "baseline", better)
        quality = pair.contrasts[self._figure] if self.is_share else None
        row = pair.contrasts[self.metric]
        return Compared(row, self.notes, Scalars(sides).checks, quality)


# Both sides of a decision, and the metric that decides.
Sides: TypeAlias = PredictionSides | ScalarSides


def recognized(target: Loadable) -> Predictions | Input:
    """Recognize a target; a list with one path is that path, as the command line gives it."""
    if isinstance(target, Predictions):
        return target
    if isinstance(target, list | tuple) and len(target) == 1 and isinstance(target[0], str):
        return recognize(target[0])
    return recognize(target)


def _usual_metric(base: Predictions) -> str:
    """Return the metric that decides if none is named: a quality."""
    source = base.source
    if source.kind is Kind.NUMBERS:
        return answer_kind(source.kind).usual_primary[not base.n_labeled]
    of_kind = {Kind.RANKINGS: f"ndcg@{source.settings.depth}", Kind.SETS: "micro_f1"}
    return of_kind.get(source.kind, USUAL_OF_CLASSES)


def _kind(of: Predictions | Input) -> str:
    return "predictions" if isinstance(of, Predictions) else of.kind
