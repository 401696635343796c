"""`sp.measure` and `sp.compare`: predictions in, a report out."""

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy.typing as npt

from seedproof.comparison.arms.compare import compare_sides
from seedproof.comparison.arms.result import Comparison
from seedproof.comparison.arms.saved import compare_saved
from seedproof.comparison.blame.sharing import note_on_shared_seeds
from seedproof.comparison.sides import Reading, open_both, open_sides
from seedproof.comparison.versions.compare import compare_versions as pass_over_versions
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.choice import (
    asks_for_dynamics,
    asks_for_explanations,
    check_allowed,
    known_metrics,
    narrowed,
)
from seedproof.measurement.engines import measuring_workers
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.measurement.reasons import with_explanations
from seedproof.measurement.result import Measurement
from seedproof.measurement.saved import is_saved, load_saved
from seedproof.measurement.steps import with_dynamics
from seedproof.messages import Message
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.memory import parse_memory
from seedproof.records.reader import Store, StoreShards
from seedproof.records.targets import Target, open_target
from seedproof.report.comparison.report import ComparisonReport
from seedproof.report.report import Report
from seedproof.report.side_by_side import SideBySide
from seedproof.report.versions import VersionReport
from seedproof.typing import Progress

DEFAULT_MEMORY = "2GB"


def measure(
    target: Target,
    *,
    labels: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    columns: Columns | None = None,
    arm: str | None = None,
    split: str | None = None,
    metrics: Sequence[str] | None = None,
    memory: str | int = DEFAULT_MEMORY,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    examples: str | os.PathLike[str] | Location | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Report:
    """How much of the predictions the seed decided.

    Args:
        target: Predictions of at least two runs: an array of probabilities (runs, examples,
            classes) or of predicted classes (runs, examples); a dataframe of any library that
            speaks Arrow; a path or several (CSV, TSV, Parquet, JSONL, npz); a store.
        labels: Gold class of each example, with arrays.
        ids: Id of each example, with arrays.
        classes: Names of the classes, with arrays.
        runs: Names of the runs, with arrays.
        columns: Names of the columns, with tables.
        arm: Which arm of a store.
        split: Which split of a store.
        metrics: Names of the metrics to measure; others that share their counts come along, as do
            flips and entropies. What nobody asked for is neither read nor computed. Without it,
            everything that the predictions allow.
        memory: What reading tables may use, such as "4GB"; larger ones are sorted on disk.
        engine: Where a store is measured: `serial`, `processes`, or `ray`. Figures are the same.
        workers: How many shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        examples: A folder or URL where workers write the table of examples, with processes or ray;
            all machines must see it. Without it the table is on this machine, and goes with the
            report.
        skip_damaged: Whether to leave out what is damaged in a store, with a note, instead of
            refusing it: a run that cannot be read or does not fit, a row group of all runs where
            one run's is damaged, and explanations by a method that are damaged in some run.
        progress: Called as the work goes on.

    Returns:
        A report.

    Raises:
        InputError: The predictions cannot be measured; the message says why and what to do.
    """
    columns, limit = checked_columns(columns), parse_memory(memory)
    asked = known_metrics(metrics)
    scratch = Path(mkdtemp(prefix="seedproof-"))
    try:
        with TemporaryDirectory(prefix="seedproof-") as working:
            source, notes = open_target(
                target,
                arrays={"labels": labels, "ids": ids, "classes": classes, "runs": runs},
                columns=columns,
                choice={"arm": arm, "split": split},
                memory=limit,
                working=Path(working),
                progress=progress,
                skip_damaged=skip_damaged,
            )
            if isinstance(source, StoreShards):
                shared = note_on_shared_seeds([run.seeds for run in source.manifests])
                notes = notes if shared is None else (*notes, shared)
            check_allowed(asked, source)
            if asked is not None:
                chosen = Message(
                    "some-metrics",
                    "Measured as asked: {metrics}. The rest is left out.",
                    metrics=tuple(asked),
                )
                notes = (*notes, chosen)
            read = narrowed(source, asked)
            pool = measuring_workers(engine, source.n_shards, workers=workers, address=address)
            place = Location.of(scratch / "examples.parquet")
            if pool is None:
                _refuse_examples(examples)
                result = measure_shards(
                    read,
                    place,
                    asked=asked,
                    skip_damaged=skip_damaged,
                    progress=progress,
                    notes=notes,
                )
            else:
                place = place if examples is None else Location.of(examples)
                result = measure_on(
                    pool,
                    read,
                    place,
                    asked=asked,
                    skip_damaged=skip_damaged,
                    progress=progress,
                    notes=notes,
                )
            if isinstance(source, StoreShards) and asks_for_explanations(asked):
                result = with_explanations(
                    result,
                    source,
                    engine=None if pool is None else pool.engine,
                    skip_damaged=skip_damaged,
                    progress=progress,
                )
            if isinstance(source, StoreShards) and asks_for_dynamics(asked):
                result = with_dynamics(result, source, skip_damaged=skip_damaged, progress=progress)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return Report(result, scratch)


def _refuse_examples(examples: object) -> None:
    if examples is not None:
        raise OptionError(
            "A place for examples goes with the engines processes and ray. Leave it out, and save "
            "the report.",
            keyword="examples",
        )


def measure_arms(
    store: str | os.PathLike[str] | Location,
    *,
    split: str | None = None,
    metrics: Sequence[str] | None = None,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> SideBySide:
    """The reports of all arms of a store, side by side.

    Args:
        store: The folder or URL of a study's store.
        split: Which split; may be left out if there is only one.
        metrics: Names of the metrics to measure; everything without them.
        engine: Where it is measured: `serial`, `processes`, or `ray`.
        workers: How many shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        skip_damaged: Whether to leave out what is damaged, with a note.
        progress: Called as the work goes on.

    Returns:
        A report for each arm that has at least two finished runs.

    Raises:
        TooFewRunsError: No run is finished.
    """
    place = Location.of(store)
    opened = Store(place, skip_damaged=skip_damaged)
    arms = opened.arms()
    if not arms:
        raise opened.no_finished_run()
    n_runs = Counter(run.arm for run in opened.runs if run.status == "finished")
    enough = [arm for arm in arms if n_runs[arm] >= 2] or arms
    reports = {
        arm: measure(
            place,
            arm=arm,
            split=split,
            metrics=metrics,
            engine=engine,
            workers=workers,
            address=address,
            skip_damaged=skip_damaged,
            progress=progress,
        )
        for arm in enough
    }
    return SideBySide(reports, left_out=[arm for arm in arms if arm not in enough])


def compare(
    targets: Target | Sequence[Target | Report] | Mapping[str, Target | Report],
    *,
    baseline: str | None = None,
    gold: str | None = None,
    columns: Columns | None = None,
    arm: str | None = None,
    split: str | None = None,
    paired: bool = False,
    match_rates: bool = False,
    memory: str | int = DEFAULT_MEMORY,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> ComparisonReport:
    """What each arm changes against a baseline, and whether that is more than luck.

    Args:
        targets: A store with several arms; or a list of at least two targets, each the runs of one
            arm: stores, tables, arrays, `.npz` files, folders of saved reports, or reports; or a
            mapping of names to such targets.
        baseline: The arm, or the target by its short name, that all others are compared with;
            without it the arm `none`, or the first.
        gold: An arm, such as an ensemble, whose gain counts as 100 %.
        columns: Names of the columns, with tables.
        arm: Which arm of stores that are compared with other targets.
        split: Which split of a store.
        paired: Whether runs of one name in several tables share their seeds. Runs of stores are
            paired by the seeds that they recorded.
        match_rates: Move the decision threshold of each run of a binary classifier, so that all
            runs of an arm give the second class equally often: to the mean number of examples over
            its runs, those with the highest probabilities. Then only answers are compared: metrics
            of probabilities and explanations are left out. Holds one number per run and example of
            one arm in memory.
        memory: What reading tables may use, such as "4GB"; larger ones are sorted on disk.
        skip_damaged: Whether to leave out what is damaged in a store, with a note, instead of
            refusing it, as in `measure`; a damaged row group is left out of all arms.
        progress: Called as the work goes on.

    Returns:
        Every metric of each arm with its effect, interval and verdict.

    Raises:
        InputError: The targets cannot be compared; the message says why and what to do.
    """
    columns = checked_columns(columns)
    names: list[str] | None = None
    chosen: list[Any] = list(targets) if isinstance(targets, list | tuple) else [targets]
    if isinstance(targets, Mapping):
        names, chosen = [str(name) for name in targets], list(targets.values())
    reports = _reports(chosen, names)
    if reports is not None:
        given = {
            "columns": columns != Columns(),
            "arm": arm is not None,
            "split": split is not None,
            "paired": paired,
            "match_rates": match_rates,
            "skip_damaged": skip_damaged,
        }
        if any(given.values()):
            raise OptionError(
                "Names of columns, --arm, --split, --paired, --match-rates and --skip-damaged "
                "go with records, and only reports are given. Leave them out.",
                keywords=tuple(name for name, is_given in given.items() if is_given),
            )
        return ComparisonReport(_compared_reports(reports, baseline, gold))
    scratch = Path(mkdtemp(prefix="seedproof-"))
    try:
        with TemporaryDirectory(prefix="seedproof-") as working:
            reading = Reading(
                columns=columns,
                working=Path(working),
                memory=parse_memory(memory),
                split=split,
                arm=arm,
                is_paired=paired,
                skip_damaged=skip_damaged,
                progress=progress,
            )
            sides = open_sides(chosen, baseline, reading, names)
            result = compare_sides(
                sides,
                Location.of(scratch),
                gold=gold,
                match_rates=match_rates,
                skip_damaged=skip_damaged,
                progress=progress,
            )
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return ComparisonReport(result, scratch)


def compare_versions(
    old: Target,
    new: Target,
    *,
    by: str | None = None,
    columns: Columns | None = None,
    arm: str | None = None,
    split: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> VersionReport:
    """What a new version of a model changes, beside what another seed would change.

    Args:
        old: Runs of the version that is deployed; one of the two versions may have a single run.
        new: Runs of the version that may replace it, on the same examples.
        by: A column of your own, for each of whose values the figures are given as well.
        columns: Names of the columns, with tables.
        arm: Which arm of a store.
        split: Which split of a store.
        memory: What reading tables may use, such as "4GB"; larger ones are sorted on disk.
        progress: Called as the work goes on.

    Returns:
        Flips between the versions and within them, and the examples that the seed does not
        explain.

    Raises:
        InputError: The versions cannot be compared; the message says why and what to do.
    """
    columns, limit = checked_columns(columns), parse_memory(memory)
    scratch = Path(mkdtemp(prefix="seedproof-"))
    try:
        with TemporaryDirectory(prefix="seedproof-") as working:
            reading = Reading(
                columns=columns,
                working=Path(working),
                memory=limit,
                split=split,
                arm=arm,
                alone=True,
                progress=progress,
            )
            sides = open_both([old, new], ["old", "new"], reading)
            result = pass_over_versions(
                sides[0].source,
                sides[1].source,
                Location.of(scratch / "examples.parquet"),
                slices=() if by is None else (by,),
                progress=progress,
                notes=tuple(dict.fromkeys(note for side in sides for note in side.notes)),
            )
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return VersionReport(result, scratch)


def _reports(
    targets: Sequence[Target | Report], names: Sequence[str] | None
) -> dict[str, Measurement] | None:
    """The measurements of reports and of their folders by name; None if there is none of them."""
    found: dict[str, Measurement] = {}
    for index, target in enumerate(targets):
        given = None if names is None else names[index]
        if isinstance(target, Report):
            usual = "baseline" if index == 0 else f"arm {index}"
            found[given or usual] = target.measurement
        elif isinstance(target, str | os.PathLike) and is_saved(place := Location.of(target)):
            short = Path(os.fspath(target)).name
            found[given or (short if short not in found else os.fspath(target))] = load_saved(place)
    if not found:
        return None
    if len(found) < len(targets):
        raise OptionError(
            "Reports and records cannot be compared with each other. Give the records of all arms.",
            n_reports=len(found),
            n_targets=len(targets),
        )
    return found


def _compared_reports(
    reports: dict[str, Measurement], baseline: str | None, gold: str | None
) -> Comparison:
    names = list(reports)
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise OptionError(
            "There is no {baseline!r} to compare with. Known: {known}.",
            baseline=first,
            known=tuple(names),
        )
    names.sort(key=lambda name: name != first)
    return compare_saved(names, [reports[name] for name in names], gold=gold)


def checked_columns(columns: Columns | None) -> Columns:
    """Names of the columns, the usual ones if none are given; anything else is refused."""
    if columns is not None and not isinstance(columns, Columns):
        raise OptionError(
            "columns is a {type_name}. Give sp.Columns(run=…, example=…, …).",
            keyword="columns",
            type_name=type(columns).__name__,
        )
    return Columns() if columns is None else columns
