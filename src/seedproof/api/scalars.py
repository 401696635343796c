"""`sp.measure_scalars` and `sp.compare_scalars`: runs with single numbers, without examples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from seedproof.api.compare import check_margins
from seedproof.comparison.arms.compared_runs import ComparedRuns, runs_to_compare
from seedproof.comparison.gate.rules import Rule
from seedproof.comparison.gate.stage import stage_of
from seedproof.comparison.planning.pilot import Pilot, check_pilot_runs
from seedproof.errors import OptionError
from seedproof.logs.mlflow import is_tracked
from seedproof.predictions.options import LoadOptions
from seedproof.predictions.targets import Target
from seedproof.records.declared import declare_runs, planned_names
from seedproof.records.declared import declared_runs as declared_by
from seedproof.report.gate_report import GateReport
from seedproof.report.scalars.comparison import ScalarComparison
from seedproof.report.scalars.report import ScalarReport
from seedproof.scalars.compare import compare, spread_estimate
from seedproof.scalars.gate import judge_scalars
from seedproof.scalars.read import load_scalars
from seedproof.scalars.runs import MEDIAN, SPREAD, ScalarArm, Scalars, check_metrics
from seedproof.typing import check_count


def measure_scalars(
    target: Target, *, metrics: Sequence[str] | None = None, **options: Unpack[LoadOptions]
) -> ScalarReport:
    """Measure how much single numbers per run, such as a return or a loss, vary between runs.

    Args:
        target: A table with one row per run: a column `run` or `seed`, one column per metric and,
            if there are several arms, a column `arm`. Or several tables, one per arm; or a store
            whose runs logged scalars.
        metrics: Names of the metrics; all columns with numbers if omitted.
        **options: How the target is read: `columns`, `arm`, `memory` and `skip_damaged`, see
            `sp.LoadOptions`.

    Returns:
        Mean and standard deviation over runs of each metric and arm.

    Raises:
        InputError: The numbers cannot be read; the message says why and what to do.

    Examples:
        >>> import pyarrow as pa
        >>> import seedproof as sp
        >>> table = pa.table({"seed": [0, 1, 2], "loss": [0.2, 0.4, 0.3]})
        >>> report = sp.measure_scalars(table)
        >>> print(report["table"]["loss"])
        0.3 [0.05159, 0.5484] over runs
    """
    return ScalarReport(load_scalars(target, options, metrics))


def compare_scalars(
    inputs: Target,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] | None = None,
    primary: str | None = None,
    lower: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    sequential: bool = False,
    declared_runs: int | None = None,
    all_pairs: bool = False,
    paired: bool = False,
    **options: Unpack[LoadOptions],
) -> ScalarComparison:
    """Compare arms by single numbers per run, and decide which differences are more than luck.

    Arms that share their seeds, in a column `seed` or recorded by a store, are paired by them.

    Args:
        inputs: As for `sp.measure_scalars`, with at least two arms.
        baseline: Name of the arm that all others are compared with; if omitted the arm `none`, or
            the first.
        metrics: Names of the metrics; all columns with numbers if omitted.
        primary: Name of the metric that decides, with an interval of 95 %; the first one if
            omitted. All other verdicts are exploratory: their wider intervals hold simultaneously.
        lower: Names of the metrics that are better when lower. If omitted, those whose names
            contain a word such as loss, error or cost.
        margins: For each metric, the difference that does not matter; for a spread such as
            `loss_sd`, a share of the baseline. A change that is shown to be within its margin is
            `equivalent`.
        sequential: Whether runs are added until a difference shows. Then arms are compared at 5,
            10, 20, 40 and 80 runs only, with wider intervals.
        declared_runs: Number of runs per arm that was declared beforehand. If there are more, only
            those of the latest planned look are compared.
        all_pairs: Whether to compare every two arms, and not only each with the baseline.
        paired: Whether runs of one name in several arms share their seeds.
        **options: How the inputs are read, see `sp.measure_scalars`.

    Returns:
        The difference of means and the ratio of spreads of each metric and arm.

    Raises:
        InputError: The inputs cannot be compared; the message says why and what to do.

    Examples:
        >>> import pyarrow as pa
        >>> import seedproof as sp
        >>> runs = {"seed": [0, 1, 2, 3, 4], "loss": [0.3, 0.4, 0.2, 0.3, 0.5]}
        >>> other = {"seed": [0, 1, 2, 3, 4], "loss": [0.2, 0.3, 0.1, 0.1, 0.4]}
        >>> report = sp.compare_scalars({"sgd": pa.table(runs), "adam": pa.table(other)})
        >>> report["adam"]["loss"].verdict
        'better'
    """
    if declared_runs is not None:
        check_count("declared_runs", declared_runs, least=1)
    scalars = load_scalars(inputs, options, metrics)
    if paired:
        scalars = _paired_by_name(scalars)
    compared = compare(
        scalars,
        _runs(scalars, declared_runs, sequential=sequential),
        baseline=baseline,
        primary=primary,
        lower=lower,
        margins=check_margins(margins or {}),
        all_pairs=all_pairs,
    )
    return ScalarComparison(compared)


def _paired_by_name(scalars: Scalars) -> Scalars:
    arms = {name: arm.paired_by_name() for name, arm in scalars.arms.items()}
    first, *others = arms.values()
    if not any(set(arm.runs) == set(first.runs) for arm in others):
        raise OptionError(
            "`{option}` pairs runs by name, but no arm has the same run names as {name!r}. Give "
            "runs that share seeds the same names, or remove it.",
            option="paired",
            name=first.name,
        )
    return replace(scalars, arms=arms)


def _runs(scalars: Scalars, declared: int | None, *, sequential: bool) -> ComparedRuns:
    """Return the runs to compare: all of them, unless a study grew or grows."""
    recorded = None if scalars.location is None else declared_by(scalars.location)
    least = recorded if declared is None else declared
    # A study that declares 0 runs grows until it is decided.
    return runs_to_compare(
        [arm.n_runs for arm in scalars.arms.values()],
        least or None,
        is_sequential=sequential or least == 0,
    )


def gate_scalars(
    target: object,
    rules: Sequence[Rule],
    *,
    baseline: object | None,
    baseline_arm: str | None,
    lower: Sequence[str] | None,
    declared_runs: int | None,
    allowed: tuple[str, ...],
    **options: Unpack[LoadOptions],
) -> GateReport:
    """Judge single numbers per run by limits; see `sp.gate`."""
    metrics = [rule.metric for rule in rules]
    name = options.pop("arm", None)
    scalars = load_scalars(target, options, metrics)
    check_metrics(metrics, scalars.metrics, (SPREAD, MEDIAN))
    base = None
    if baseline is not None:
        base = _baseline(scalars, baseline, baseline_arm, options, metrics)
    arm = _judged_arm(scalars, name, base)
    if declared_runs is not None:
        check_count("declared_runs", declared_runs, least=1)
        if scalars.location is not None:
            declare_runs(scalars.location, declared_runs)
    declared, lacks_declared = declared_runs, False
    if scalars.location is not None:
        declared = declared_by(scalars.location)
        planned = planned_names(scalars.location)[: declared or 0]
        lacks_declared = not set(planned) <= set(arm.runs)
    stage = stage_of(
        min(side.n_runs for side in (arm, base) if side is not None),
        declared,
        lacks_declared=lacks_declared,
        allows_missing="missing-runs" in allowed,
    )
    result = judge_scalars(
        arm,
        base,
        rules,
        stage=stage,
        lower=lower,
        allowed=allowed,
        notes=scalars.notes,
        failed=scalars.failed,
    )
    return GateReport(result)


def pilot_of_scalars(target: object, metric: str | None, **options: Unpack[LoadOptions]) -> Pilot:
    """Return the spread over runs that a plan needs; see `sp.plan`."""
    scalars = load_scalars(target, options, None if metric is None else [metric])
    arm = _judged_arm(scalars, None, None)
    if len(scalars.metrics) > 1:
        raise OptionError(
            "There are {n_metrics} metrics: {metrics}. Name the one to plan with `{option}`.",
            option="metric",
            n_metrics=len(scalars.metrics),
            metrics=scalars.metrics,
        )
    check_pilot_runs(arm.n_runs)
    sd = spread_estimate(arm, scalars.metrics[0])
    return Pilot(arm.n_runs, 0, sd, cv=None, pair_cv=None, is_of_numbers=True)


def _baseline(
    scalars: Scalars,
    baseline: object,
    name: str | None,
    options: LoadOptions,
    metrics: Sequence[str],
) -> ScalarArm:
    """Return another arm of the target, or an arm of another input."""
    is_name = isinstance(baseline, str) and not is_tracked(baseline)
    if is_name and (baseline in scalars.arms or not Path(str(baseline)).exists()):
        return scalars.arm(str(baseline))
    return arm_named(load_scalars(baseline, options, metrics), name, "baseline_arm")


def _judged_arm(scalars: Scalars, name: str | None, baseline: ScalarArm | None) -> ScalarArm:
    """Return the named arm, or the only one besides the baseline."""
    others = {key: arm for key, arm in scalars.arms.items() if name or arm is not baseline}
    return arm_named(replace(scalars, arms=others), name, "arm")


def arm_named(scalars: Scalars, name: str | None, option: str) -> ScalarArm:
    """Return an arm by its name, which may be omitted if there is only one."""
    if name is not None:
        return scalars.arm(name)
    if len(scalars.arms) != 1:
        raise OptionError(
            "There are {n_arms} arms: {arms}. Name one of them with `{option}`.",
            option=option,
            n_arms=len(scalars.arms),
            arms=tuple(scalars.arms),
        )
    return next(iter(scalars.arms.values()))


def refuse_lower(lower: Sequence[str] | None) -> None:
    """Refuse the names of metrics that are better when lower for anything with examples."""
    if lower is not None:
        raise OptionError(
            "`{option}` applies to single numbers per run. Remove it.", option="lower"
        )
