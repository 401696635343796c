"""`sp.measure`: predictions in, a report out."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Unpack

from seedproof.api.scratch import scratch_folder
from seedproof.engines import Engine
from seedproof.errors import OptionError, TooFewRunsError
from seedproof.logs.hydra import Sweep
from seedproof.logs.samples import Log
from seedproof.measurement.dynamics import measure_dynamics
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.extra import MetricFunction, checked_functions, with_extra
from seedproof.measurement.measure import measure_on, measure_shards, with_explanations
from seedproof.measurement.selection import (
    asks_for_dynamics,
    asks_for_explanations,
    check_allowed,
    known_metrics,
    narrowed,
)
from seedproof.messages import Message
from seedproof.predictions.arms import log_among
from seedproof.predictions.checks import missing_arm
from seedproof.predictions.options import LoadOptions
from seedproof.predictions.predictions import Loadable, load
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.reader import Store
from seedproof.records.schema import Kind
from seedproof.report.report import Report
from seedproof.report.side_by_side import SideBySide
from seedproof.scalars.read import has_scalars


def measure(
    target: Loadable,
    *,
    metrics: Sequence[str] | None = None,
    extra: Mapping[str, MetricFunction] | None = None,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    examples: str | os.PathLike[str] | Location | None = None,
    **options: Unpack[LoadOptions],
) -> Report:
    """Measure how much of the predictions the seed decided.

    Args:
        target: Predictions of at least two runs, as `sp.Predictions.load` takes them: arrays
            (runs, examples, classes) or (runs, examples), dataframes, files (CSV, TSV, Parquet,
            JSONL, npz), a folder of files, a store.
        metrics: Names of the metrics to measure; others that share their counts come along, as do
            flips and entropies. If omitted, everything that the predictions allow.
        extra: Metrics of your own, by name: functions of labels and predictions, in this order as
            in scikit-learn, that return a number. Each is called once per run with the labeled
            examples, and gets its mean with an interval over runs, and its spread over runs as
            `NAME_sd`. Classes are text, or integers if the names of all classes are integers; if
            no example has a label, labels are None. Holds all predicted classes in memory.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        examples: A folder or URL where workers write the table of examples, with processes or ray;
            all machines must see it. If omitted, the table is on this machine and is removed with
            the report.
        **options: How the target is read: `labels`, `ids`, `classes` and others, see
            `sp.LoadOptions`.

    Returns:
        A report.

    Raises:
        InputError: The predictions cannot be measured; the message says why and what to do.

    Examples:
        >>> import seedproof as sp
        >>> report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0]], labels=[0, 1, 1, 0])
        >>> report["flip_rate"].value, report["accuracy"].value
        (0.25, 0.875)
    """
    parse_memory(options.get("memory", "2GB"))
    if has_scalars(target, options, metrics):
        raise OptionError(
            "This input has one number per run, and no examples. Use {function}, or "
            "seedproof measure on the command line.",
            keyword="target",
            function="sp.measure_scalars",
        )
    requested, functions = known_metrics(metrics), checked_functions(extra)
    predictions = load(target, options, least_runs=2, least_trials=1)
    source, notes = predictions.source, predictions.notes
    if len(source.runs) == 1 and source.kind is not Kind.NUMBERS:
        raise TooFewRunsError(
            "There is only one of the {repeats}: {run!r}. Pass at least 2.",
            repeats=source.repeats,
            run=source.runs[0],
            n_runs=1,
        )
    check_allowed(requested, source)
    if requested is not None:
        chosen = Message(
            "some-metrics",
            "Only the requested metrics are shown: {metrics}.",
            metrics=tuple(requested),
        )
        notes = (*notes, chosen)
    pool = measuring_engine(engine, workers=workers, address=address)
    if pool is None and examples is not None:
        raise OptionError(
            "`examples` applies to the engines processes and ray. Remove it, and save the report.",
            keyword="examples",
        )
    skip_damaged, progress = options.get("skip_damaged", False), options.get("progress")
    measure_all = partial(measure_shards) if pool is None else partial(measure_on, pool)
    with scratch_folder() as scratch:
        result = measure_all(
            narrowed(source, requested),
            Location.of(scratch / "examples.parquet" if examples is None else examples),
            requested=requested,
            clusters=predictions.clusters,
            slices=predictions.slices,
            skip_damaged=skip_damaged,
            progress=progress,
            notes=notes,
        )
        result = with_extra(result, source, functions).with_checks(predictions.read_checks)
        if asks_for_explanations(requested):
            result = with_explanations(
                result, source, engine=pool, skip_damaged=skip_damaged, progress=progress
            )
        if asks_for_dynamics(requested):
            dynamics, further = measure_dynamics(
                source,
                n_measured=result.n_examples,
                left_out=result.left_out,
                skip_damaged=skip_damaged,
                progress=progress,
            )
            result = replace(result, dynamics=dynamics, notes=(*result.notes, *further))
    return Report(result, scratch)


def measure_arms(
    store: str | os.PathLike[str] | Location | Store | Log | Sweep,
    *,
    metrics: Sequence[str] | None = None,
    extra: Mapping[str, MetricFunction] | None = None,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> SideBySide:
    """Measure all arms of a store, or all arms and tasks of a log, side by side.

    Args:
        store: Folder or URL of a study's store; or a log of an evaluation tool.
        metrics: Names of the metrics to measure; everything if omitted.
        extra: Metrics of your own by name, as for `sp.measure`.
        engine: Where the work is done: `serial`, `processes`, or `ray`.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How the store is read: `split`, `skip_damaged` and others, see
            `sp.LoadOptions`.

    Returns:
        A report for each arm that has at least two finished runs.

    Raises:
        TooFewRunsError: No run is finished.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     spread = {"none": 1.0, "calm": 0.1}[run.arm]
        ...     drawn = run.rng("init").normal(size=200) * spread + 1
        ...     run.log_predictions("test", predictions=(drawn > 0).astype(int))
        >>> study = sp.Study("arms", train, seeds=3, arms=["none", "calm"], store="arms")
        >>> _ = study.run(engine="serial")
        >>> list(sp.measure_arms("arms"))
        ['none', 'calm']
    """
    measured = partial(
        measure, metrics=metrics, extra=extra, engine=engine, workers=workers, address=address
    )
    log = store if isinstance(store, Log | Sweep) else log_among([store], options.get("tool"))
    if log is not None:
        chosen = log.only(arm=options.pop("arm", None), task=options.pop("task", None))
        reports = {name: measured(group, **options) for name, group in chosen.groups().items()}
        return SideBySide(reports, noun=_noun(chosen))
    opened = store if isinstance(store, Store) else _opened(store, options)
    arms = opened.arms()
    if not arms:
        raise opened.no_finished_run()
    n_runs = Counter(run.arm for run in opened.runs if run.status == "finished")
    enough = [arm for arm in arms if n_runs[arm] >= 2] or arms
    reports = {}
    for arm in enough:
        of_arm: LoadOptions = {**options, "arm": arm}
        reports[arm] = measured(opened, **of_arm)
    return SideBySide(
        reports,
        left_out=[arm for arm in arms if arm not in enough],
        checks=[missing_arm(arm) for arm in opened.missing_arms()],
    )


def _noun(log: Log | Sweep) -> Literal["arm", "task", "part"]:
    """Return what the groups of a log are: its arms, its tasks, or each arm on each task."""
    if isinstance(log, Sweep) or len(log.tasks) == 1:
        return "arm"
    return "task" if len(log.arms) == 1 else "part"


def _opened(store: Any, options: LoadOptions) -> Store:  # noqa: ANN401 - a folder or URL
    return Store(Location.of(store), skip_damaged=options.get("skip_damaged", False))
