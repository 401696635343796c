"""`sp.compare` and `sp.compare_versions`: differences that are more than luck."""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from seedproof.api.scratch import scratch_folder
from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.comparison.arms.compare_summaries import compare_summaries
from seedproof.comparison.arms.compared_runs import ComparedRuns, runs_to_compare
from seedproof.comparison.versions.compare import compare_versions as pass_over_versions
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.load import is_saved, load_saved
from seedproof.measurement.result import Measurement
from seedproof.measurement.selection import check_allowed, check_decides, known_metrics
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.arms import as_list, baseline_first, load_arms, load_each
from seedproof.predictions.checks import of_arms
from seedproof.predictions.options import LoadOptions, check_options, given
from seedproof.predictions.predictions import Loadable, Predictions
from seedproof.records.declared import declared_runs as declared_by
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.report import Report
from seedproof.report.versions import VersionReport
from seedproof.scalars.read import has_scalars

Arm: TypeAlias = Loadable | Report


def compare(
    inputs: Arm | Sequence[Arm] | Mapping[str, Arm],
    *,
    baseline: str | None = None,
    gold: str | None = None,
    metrics: Sequence[str] | None = None,
    primary: str | None = None,
    margins: Mapping[str, float] | None = None,
    sequential: bool = False,
    declared_runs: int | None = None,
    all_pairs: bool = False,
    paired: bool = False,
    match_rates: bool = False,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> ComparisonReport:
    """Compare arms with a baseline, and decide which differences are more than luck.

    Args:
        inputs: A store with several arms; or at least two inputs, each the runs of one arm, in a
            list or by name: predictions, arrays, tables, stores, folders of saved reports, or
            reports.
        baseline: Name of the arm that all others are compared with; if omitted the arm `none`, or
            the first.
        gold: An arm, such as an ensemble, whose gain counts as 100 %.
        metrics: Names of the metrics to compare; everything that the predictions allow if omitted.
        primary: Name of the metric that decides, with an interval of 95 %; if omitted the flip
            rate, or for numbers the mean, or the mean absolute error if there are targets. If it
            does not say how good the answers are, a quality such as accuracy decides with it, each
            with an interval of 97.5 %. All other verdicts are exploratory: their wider intervals
            hold simultaneously.
        margins: For each metric, the change that does not matter: a share of the baseline for a
            ratio, a difference for accuracy and the like. A change that is shown to be within its
            margin is `equivalent`. If omitted, 0.1 for ratios and 0.005 for differences of shares;
            none for means of numbers of any size.
        sequential: Whether runs are added until a difference shows. Then arms are compared at 5,
            10, 20, 40 and 80 runs only, with wider intervals. Trials of one model are compared
            at any number, with an interval for a look after each of up to 20.
        declared_runs: Number of runs per arm that was declared beforehand. If there are more, only
            those of the latest planned look are compared.
        all_pairs: Whether to compare every two arms, and not only each with the baseline.
        paired: Whether runs of one name in several tables share their seeds. Runs of stores are
            paired by the seeds that they recorded.
        match_rates: Move the decision threshold of each run of a binary classifier, so that all
            runs of an arm give the second class equally often: to the mean number of examples over
            its runs, those with the highest probabilities. Then only answers are compared: metrics
            of probabilities and explanations are left out. Holds one number per run and example of
            one arm in memory.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How inputs are read: `labels`, `ids`, `classes` and others, see
            `sp.LoadOptions`. An option goes to the inputs that it applies to.

    Returns:
        Every metric of each arm with its effect, interval and verdict.

    Raises:
        InputError: The inputs cannot be compared; the message says why and what to do.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> rng = np.random.default_rng(0)
        >>> noisy, calm = (
        ...     rng.integers(0, 2, (10, 500)),
        ...     (rng.integers(0, 2, 500) + rng.random((10, 500)) > 0.99).astype(int),
        ... )
        >>> report = sp.compare({"noisy": noisy, "calm": calm})
        >>> report.effect("calm", "flip_rate").verdict
        'steadier'
    """
    parse_memory(options.get("memory", "2GB"))
    if has_scalars(inputs, options, [*(metrics or ()), *([primary] if primary else ())]):
        raise OptionError(
            "This input has one number per run, and no examples. Use {function}, or "
            "seedproof compare on the command line.",
            keyword="inputs",
            function="sp.compare_scalars",
        )
    requested = known_metrics(metrics)
    known_metrics(None if primary is None else [primary])
    margins = check_margins(margins or {})
    known_metrics(list(margins) or None)
    check_decides([*([] if primary is None else [primary]), *margins])
    pool = measuring_engine(engine, workers=workers, address=address)
    several: Any = [inputs] if isinstance(inputs, Report) else inputs
    reports = _reports(*as_list(several))
    if reports is not None:
        check_options(["report"], {**options, "skip_damaged": None})
        extra = {
            "paired": paired,
            "match_rates": match_rates,
            "sequential": sequential,
            "declared_runs": declared_runs is not None,
            "all_pairs": all_pairs,
            "metrics": requested is not None,
            "engine": pool is not None,
            "skip_damaged": bool(given(options).get("skip_damaged")),
        }
        if any(extra.values()):
            raise OptionError(
                "`{option}` applies to records, and only reports are given. Remove it.",
                option=next(name for name, is_given in extra.items() if is_given),
            )
        ordered = baseline_first(reports, baseline)
        compared = compare_summaries(
            ordered,
            reference=gold,
            primary=primary,
            margins=margins,
            lower_is_better=options.get("lower_is_better", False),
        )
        return ComparisonReport(compared)
    arms = load_arms(inputs, options, baseline=baseline, paired=paired)  # type: ignore[arg-type] # no report is among them
    for arm in arms.values():
        check_allowed(requested, arm.source)
    runs = _runs(arms.values(), declared_runs, sequential=sequential)
    if runs.is_sequential and not runs.are_trials:
        arms = {name: arm.first(runs.n_runs) for name, arm in arms.items()}
    with scratch_folder() as scratch:
        result = compare_arms(
            arm_data(arms),
            Location.of(scratch),
            reference=gold,
            metrics=requested,
            primary=primary,
            margins=margins,
            level=runs.level,
            all_pairs=all_pairs,
            match_rates=match_rates,
            skip_damaged=options.get("skip_damaged", False),
            engine=pool,
            progress=options.get("progress"),
        )
    return ComparisonReport(replace(result, runs=runs), scratch)


def check_margins(margins: Mapping[str, float]) -> Mapping[str, float]:
    """Return margins; refuse numbers that are not above 0."""
    for metric, margin in margins.items():
        if not 0 < margin < math.inf:
            raise OptionError(
                "The margin of {metric!r} is {margin}. Pass a number above 0, such as 0.1.",
                metric=metric,
                margin=margin,
            )
    return margins


def _runs(arms: Collection[Predictions], declared: int | None, *, sequential: bool) -> ComparedRuns:
    """Return the runs to compare: all of them, unless a study grew or grows.

    Of several stores, the one that declares fewest runs counts.
    """
    if declared is not None and declared < 1:
        raise OptionError(
            "{declared} runs cannot be declared. Pass a number above 0.", declared=declared
        )
    n_runs = [arm.source.n_runs for arm in arms]
    stores = [arm.source.location for arm in arms if arm.source.manifests]
    numbers = [n for store in stores if store and (n := declared_by(store)) is not None]
    if declared is not None and numbers and declared not in numbers:
        raise OptionError(
            "{declared} runs are declared, but the records say {recorded}. Leave out `{option}`.",
            option="declared_runs",
            declared=declared,
            recorded=min(numbers),
        )
    least = declared if declared is not None else min(numbers, default=None)
    # A study that declares 0 runs grows until it is decided.
    return runs_to_compare(
        n_runs,
        least or None,
        is_sequential=sequential or least == 0,
        are_trials=any(arm.source.settings.are_trials for arm in arms),
    )


def compare_versions(
    old: Loadable,
    new: Loadable,
    *,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> VersionReport:
    """Compare a new version of a model with the old one, next to the differences between runs.

    Args:
        old: Runs of the version that is deployed; one of the two versions may have a single run.
        new: Runs of the version that may replace it, on the same examples.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How both are read: `labels`, `ids`, `classes` and others, see `sp.LoadOptions`.
            Figures are given for each value of `slices` as well.

    Returns:
        Flips between the versions and within them, and the examples whose change is
        more than run-to-run noise.

    Raises:
        InputError: The versions cannot be compared; the message says why and what to do.

    Examples:
        >>> import seedproof as sp
        >>> old, new = [[0, 1, 1], [0, 1, 1]], [[0, 1, 0], [0, 1, 0]]
        >>> round(sp.compare_versions(old, new)["flip_rate"].value, 3)
        0.333
    """
    parse_memory(options.get("memory", "2GB"))
    pool = measuring_engine(engine, workers=workers, address=address)
    arms = load_each([old, new], ["old", "new"], options, least_runs=1)
    with scratch_folder() as scratch:
        result = pass_over_versions(
            arms["old"].source,
            arms["new"].source,
            Location.of(scratch / "examples.parquet"),
            slices=tuple(dict.fromkeys(name for arm in arms.values() for name in arm.slices)),
            clusters=next((arm.clusters for arm in arms.values() if arm.clusters), None),
            engine=pool,
            progress=options.get("progress"),
            notes=tuple(dict.fromkeys(note for arm in arms.values() for note in arm.notes)),
        )
    checks = {name: arm.checks for name, arm in arms.items()}
    if max(arm.source.n_runs for arm in arms.values()) >= VERDICT_FROM:
        # A single new run is judged by the spread of the old ones.
        checks = {
            name: tuple(check for check in own if check.name != "few-runs")
            for name, own in checks.items()
        }
    return VersionReport(result.with_checks(of_arms(checks)), scratch)


def arm_data(arms: Mapping[str, Predictions]) -> list[ArmData]:
    """Return loaded arms as `compare_arms` takes them."""
    return [
        ArmData(name, p.source, p.pairs, p.costs, p.notes, p.read_checks, p.clusters)
        for name, p in arms.items()
    ]


def _reports(inputs: list[Any], names: list[str] | None) -> dict[str, Measurement] | None:
    """Return the measurements of reports and report folders by name; None if there are none."""
    measurements: dict[str, Measurement] = {}
    for index, target in enumerate(inputs):
        name = None if names is None else names[index]
        if isinstance(target, Report):
            usual = "baseline" if index == 0 else f"arm {index}"
            measurements[name or usual] = target.measurement
        elif isinstance(target, str | os.PathLike) and is_saved(place := Location.of(target)):
            short = Path(os.fspath(target)).name
            usual = short if short not in measurements else os.fspath(target)
            measurements[name or usual] = load_saved(place)
    if not measurements:
        return None
    if len(measurements) < len(inputs):
        raise OptionError(
            "Reports and records cannot be compared with each other. Pass the records of all arms.",
            n_reports=len(measurements),
            n_targets=len(inputs),
        )
    return measurements
