"""`sp.gate`: predictions or reports in, verdicts out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

from seedproof.api.compare import arm_data
from seedproof.api.gate_inputs import (
    Judged,
    Recognized,
    alone,
    are_trials,
    environment_notes,
    kind_of_input,
    load_inputs,
    opened_once,
    recognized,
    refuse_itself,
    store_of,
)
from seedproof.api.scalars import gate_scalars, refuse_lower
from seedproof.comparison.arms.compare import compare_arms
from seedproof.comparison.arms.compare_summaries import compare_summaries
from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.comparison.gate.caution import with_cautions
from seedproof.comparison.gate.environment import examples_digest
from seedproof.comparison.gate.judge import SCALES, Baseline, RuleVerdict, judge
from seedproof.comparison.gate.rules import (
    Rule,
    allowed_checks,
    check_compared,
    check_means,
    check_names,
    thresholds_of,
)
from seedproof.comparison.gate.stage import (
    LINEAR,
    LOG,
    Figure,
    Stage,
    stage_of,
    stage_of_trials,
    widened,
)
from seedproof.engines import Engine
from seedproof.errors import (
    MissingExampleError,
    OptionError,
    SeedproofError,
)
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, problem_of
from seedproof.metrics.card import card_name
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Predictions
from seedproof.predictions.targets import Input
from seedproof.records.declared import declare_runs, planned_names
from seedproof.records.declared import declared_runs as declared_of
from seedproof.records.drafts import temporary_folder
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.report.gate_report import GateReport
from seedproof.scalars.gate import OwnRule
from seedproof.scalars.read import has_scalars
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate, Level, estimate
from seedproof.stats.skewness import clear_skewness
from seedproof.typing import Progress, check_count


def gate(
    target: Judged,
    *,
    max: Mapping[str, float] | None = None,  # noqa: A002 - as the command line says
    min: Mapping[str, float] | None = None,  # noqa: A002 - same
    no_worse: Mapping[str, float | None] | Iterable[str] | None = None,
    baseline: Judged | None = None,
    baseline_arm: str | None = None,
    lower: Sequence[str] | None = None,
    declared_runs: int | None = None,
    allow: Iterable[str] = (),
    allow_different_environments: bool = False,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> GateReport:
    """Judge predictions by limits: pass, fail, or investigate.

    The first 5, 10, 20, 40 or 80 runs are judged, in the order of the plan, by an interval that is
    wide enough to look again after more runs. A number of runs that was declared beforehand is
    judged by the 95 % interval. Trials of one model are judged in any number, by an interval that
    allows for a look after each of up to 20 unless their number is declared. If a check finds an
    error in the input, the outcome is investigate, unless it is allowed.

    Args:
        target: A report, the folder of one, or whatever `sp.Predictions.load` takes; or single
            numbers per run, as for `sp.measure_scalars`. If these have several arms, `arm` names
            the one to judge.
        max: Upper limits by metric.
        min: Lower limits by metric.
        no_worse: Metrics that may not be worse than the baseline's; with margins as a mapping.
        baseline: Records or a report to compare with, for `no_worse`; for single numbers per run
            also another arm of the target.
        baseline_arm: Arm of the baseline's store; the same as `arm` if omitted.
        lower: Of single numbers per run, the metrics that are better when lower, for `no_worse`. If
            omitted, those whose names contain a word such as loss, error or cost.
        declared_runs: Number of runs that was decided before any were looked at. A store records it
            once; a study has declared its first number of seeds.
        allow: Names of checks whose errors do not keep the gate from judging.
        allow_different_environments: Judge records of different environments, and note it.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How target and baseline are read: `labels`, `ids`, `classes` and others, see
            `sp.LoadOptions`.

    Returns:
        The verdicts.

    Raises:
        EnvironmentChangedError: Records were made in different environments.
        OptionError: A rule cannot be judged; the message says why.
        UnknownNameError: There is no such metric or check.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> is_flipped = np.random.default_rng(0).random((10, 500)) < 0.005
        >>> answers = np.arange(500) % 2 ^ is_flipped
        >>> sp.gate(answers, max={"flip_rate": 0.05}).outcome
        'pass'
    """
    pool = measuring_engine(engine, workers=workers, address=address)
    has_own = has_scalars(target, options, _names(max, min, no_worse))
    rules = rules_of(max, min, no_worse, OwnRule if has_own else Rule)
    check_names(rules)
    allowed = allowed_checks(allow)
    compares = any(rule.kind == "no-worse" for rule in rules)
    if compares != (baseline is not None):
        raise OptionError(
            "no-worse needs a baseline. Pass --baseline, or baseline= in Python."
            if compares
            else "A baseline needs a rule. Add one, such as --no-worse flip_rate, "
            'or no_worse=["flip_rate"] in Python.',
            keyword="baseline" if compares else "no_worse",
        )
    parse_memory(options.get("memory", "2GB"))
    if has_own:
        return gate_scalars(
            target,
            rules,
            baseline=None if baseline is None else alone(baseline),
            baseline_arm=baseline_arm,
            lower=lower,
            declared_runs=declared_runs,
            allowed=allowed,
            **options,
        )
    refuse_lower(lower)
    targets = [alone(x) for x in (target, baseline) if x is not None]
    inputs = opened_once([recognized(x) for x in targets], options)
    options = _with_thresholds(options, rules, inputs)
    if baseline_arm is not None and (baseline is None or kind_of_input(inputs[1]) != "store"):
        raise OptionError(
            "`{option}` applies to a store as the baseline. Remove it.",
            option="baseline_arm",
            keyword="baseline_arm",
        )
    if baseline is not None:
        refuse_itself(targets, inputs, options.get("arm"), baseline_arm)
    check_options([kind_of_input(x) for x in inputs], options)
    loaded = load_inputs(inputs, options, baseline_arm)
    notes = environment_notes(
        loaded["target"], loaded.get("baseline"), is_allowed=allow_different_environments
    )
    declared, note = _declared(inputs, declared_runs)
    stage = _stage(loaded, declared, inputs[0], allows_missing="missing-runs" in allowed)
    if not stage.are_trials:
        loaded = {
            name: x.first(stage.judged_runs) if isinstance(x, Predictions) else x
            for name, x in loaded.items()
        }
    known = None
    with temporary_folder() as working:
        progress = options.get("progress")
        if baseline is None:
            measured = _measured("target", loaded["target"], working, pool, progress)
            notes, checks = notes + measured.notes, measured.checks
        else:
            lower_is_better = options.get("lower_is_better", False)
            compared = _compared(loaded, working, pool, progress, lower_is_better=lower_is_better)
            measured, base = compared.arms[0].measurement, compared.baseline.measurement
            check_compared(rules, compared)
            check_means(rules, no_worse, compared)
            effects = _effects(compared.arms[0], stage)
            known = Baseline(base.metrics, effects, base.n_runs, compared.better)
            notes, checks = notes + compared.notes, compared.checks
    result = judge(
        _figures(measured, stage),
        rules,
        stage=stage,
        baseline=known,
        notes=notes + note,
        checks=checks,
        allowed=allowed,
    )
    return GateReport(with_cautions(result, partial(_skewness, measured)))


def _skewness(measured: Measurement, verdict: RuleVerdict) -> float | None:
    """Return the skewness of the runs of a mean over runs and examples, if it is clearly not 0."""
    by_run = measured.detail.get(f"{verdict.rule.metric}_by_run")
    is_limit = verdict.rule.kind != "no-worse" and not verdict.stage.are_trials
    # Only the means that are linear in the runs.
    if by_run is None or not is_limit or verdict.rule.metric not in {"accuracy", "mean"}:
        return None
    return clear_skewness(by_run) if verdict.estimate.over not in WITHOUT_RUNS else None


def _declared(
    inputs: Sequence[Recognized], declared_runs: int | None
) -> tuple[int | None, tuple[Message, ...]]:
    """Return the declared number of runs, and a note if it cannot be recorded.

    A baseline that has grown beyond its own number makes a comparison one that may grow.
    """
    if declared_runs is not None:
        check_count("declared_runs", declared_runs, least=1)
    places = [store_of(x) for x in inputs]
    recorded = [None if place is None else declared_of(place) for place in places]
    declared = recorded[0] if declared_runs is None else declared_runs
    note: tuple[Message, ...] = ()
    if declared_runs is not None and places[0] is not None:
        try:
            declare_runs(places[0], declared_runs)
        except SeedproofError:
            raise
        except OSError as error:
            note = (
                Message(
                    "not-recorded",
                    "The declared number of runs could not be recorded with the store "
                    "({reason}): a later call must pass it again.",
                    reason=problem_of(error),
                ),
            )
    of_baseline = recorded[1] if len(recorded) > 1 else None
    if declared is not None and of_baseline is not None and of_baseline < declared:
        declared = None
    return declared, note


def _stage(
    loaded: Mapping[str, Measurement | Predictions],
    declared: int | None,
    target: Recognized,
    *,
    allows_missing: bool,
) -> Stage:
    """Return the runs to judge: as many on both sides."""
    lacks_declared = False
    if declared is not None and (place := store_of(target)) is not None:
        there = loaded["target"]
        names = there.runs
        lacks_declared = any(name not in names for name in planned_names(place)[:declared])
    n_runs = min(
        x.n_runs if isinstance(x, Measurement) else x.source.n_runs for x in loaded.values()
    )
    if any(are_trials(x) for x in loaded.values()):
        return stage_of_trials(n_runs, declared, allows_missing=allows_missing)
    stage = stage_of(n_runs, declared, lacks_declared=lacks_declared, allows_missing=allows_missing)
    cannot_be_cut = any(
        isinstance(x, Measurement) and len(x.runs) != stage.judged_runs for x in loaded.values()
    )
    # The figures of a report are of all its runs.
    return replace(stage, hold="between looks") if cannot_be_cut and not stage.hold else stage


def _figures(measured: Measurement, stage: Stage) -> dict[str, Figure]:
    """Return the figures with their intervals at any level."""
    return {
        name: partial(estimate, measured.statistics[name])
        if name in measured.statistics
        else widened(
            known,
            SCALES.get(card_name(name), LOG),
            measured.n_runs,
            are_trials=stage.are_trials,
        )
        for name, known in measured.metrics.items()
    }


def _effects(arm: ComparedArm, stage: Stage) -> dict[str, Callable[[Level], Effect]]:
    """Return the effects with their intervals at any level."""
    return {
        name: arm.contrasts[name].effect
        if name in arm.contrasts
        else partial(_widened_effect, effect, stage)
        for name, effect in arm.effects.items()
    }


def _widened_effect(effect: Effect, stage: Stage, level: Level) -> Effect:
    if effect.value is None or effect.low is None or effect.high is None:
        return effect
    plain = Estimate(effect.value, effect.low, effect.high, effect.over)
    scale = LOG if effect.scale == "ratio" else LINEAR
    at = widened(plain, scale, stage.judged_runs, are_trials=stage.are_trials)(level)
    return replace(effect, low=at.low, high=at.high)


def rules_of(
    at_most: Mapping[str, float] | None,
    at_least: Mapping[str, float] | None,
    no_worse: Mapping[str, float | None] | Iterable[str] | None,
    make: type[Rule] = Rule,
) -> list[Rule]:
    """Return limits as rules, in their order."""
    limits: tuple[tuple[Literal["max", "min"], object], ...] = (("max", at_most), ("min", at_least))
    rules = []
    for kind, given in limits:
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(
                "{keyword}= takes limits by metric, not a {type_name}. Write "
                '{keyword}={{"flip_rate": 0.05}}, or --{keyword} flip_rate=0.05 on the command '
                "line.",
                keyword=kind,
                type_name=type(given).__name__,
            )
        rules += [make(kind, name, limit) for name, limit in (given or {}).items()]
    names: list[Any] = [] if no_worse is None else [None]
    if isinstance(no_worse, Iterable) and not isinstance(no_worse, str):
        names = list(no_worse)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(
            "no_worse= takes names of metrics: in a list, or in a mapping with margins. Write "
            'no_worse=["flip_rate"] or no_worse={{"flip_rate": 0.1}}.',
            keyword="no_worse",
        )
    margins = no_worse if isinstance(no_worse, Mapping) else dict.fromkeys(names)
    return rules + [make.no_worse(name, margin) for name, margin in margins.items()]


def _names(*limits: object) -> list[str]:
    """Return the names of the metrics of limits, of whatever type these are."""
    several = [x for x in limits if isinstance(x, Iterable)]
    return [name for given in several for name in given if isinstance(name, str)]


def _with_thresholds(
    options: LoadOptions, rules: Sequence[Rule], inputs: Sequence[Recognized]
) -> LoadOptions:
    """Return options with the thresholds of rules such as flip_rate@0.5, where they apply."""
    of_rules = thresholds_of(rules)
    if not of_rules or not all(isinstance(x, Input) for x in inputs):
        return options
    given = options.get("thresholds")
    several = [] if given is None else [given] if isinstance(given, int | float) else list(given)
    return {**options, "thresholds": [*several, *of_rules]}


def _measured(
    name: str,
    loaded: Measurement | Predictions,
    working: Path,
    engine: Engine | None,
    progress: Progress | None,
) -> Measurement:
    if isinstance(loaded, Measurement):
        return loaded
    measure = partial(measure_shards) if engine is None else partial(measure_on, engine)
    place = Location.of(working / f"{name}.parquet")
    measured = measure(
        loaded.source,
        place,
        clusters=loaded.clusters,
        progress=progress,
        notes=loaded.notes,
    )
    return measured.with_checks(loaded.read_checks)


def _compared(
    loaded: Mapping[str, Measurement | Predictions],
    working: Path,
    engine: Engine | None,
    progress: Progress | None,
    *,
    lower_is_better: bool,
) -> Comparison:
    """Compare in one pass over the records of both, or by figures if one is a report."""
    names = ["baseline", "target"]
    records = {name: x for name in names if isinstance(x := loaded[name], Predictions)}
    if len(records) == 2:
        place = Location.of(working)
        return compare_arms(arm_data(records), place, engine=engine, progress=progress)
    reports = {name: _measured(name, loaded[name], working, engine, progress) for name in names}
    if len({examples_digest(report.example_table) for report in reports.values()}) > 1:
        raise MissingExampleError(
            "The target and the baseline have different examples, gold labels or targets. Predict "
            "the same examples with both.",
            sides=("target", "baseline"),
        )
    return compare_summaries(reports, lower_is_better=lower_is_better)
