"""`sp.gate`: predictions or reports in, verdicts out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from seedproof.comparison.arms.compare import Side, compare_sides
from seedproof.comparison.arms.result import Comparison
from seedproof.comparison.arms.saved import compare_saved
from seedproof.comparison.gate.environment import Environment, examples_digest
from seedproof.comparison.gate.judge import Baseline, judge
from seedproof.comparison.gate.rules import Rule, check_names
from seedproof.comparison.sides import Reading, open_side
from seedproof.errors import EnvironmentChangedError, MissingExampleError, OptionError
from seedproof.measurement.measure import measure_shards
from seedproof.measurement.result import Measurement
from seedproof.measurement.saved import is_saved, load_saved
from seedproof.messages import Message
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.memory import parse_memory
from seedproof.records.reader import StoreShards
from seedproof.records.targets import Target, as_store
from seedproof.report.api import DEFAULT_MEMORY, checked_columns
from seedproof.report.gate_report import GateReport
from seedproof.report.report import Report
from seedproof.typing import Progress

Judged: TypeAlias = Target | Report
# A side that is read from records, or what a report has measured.
Opened: TypeAlias = Side | Measurement


def gate(
    target: Judged,
    *,
    max: Mapping[str, float] | None = None,  # noqa: A002 - as the command line says
    min: Mapping[str, float] | None = None,  # noqa: A002 - same
    no_worse: Mapping[str, float | None] | Iterable[str] | None = None,
    baseline: Judged | None = None,
    arm: str | None = None,
    baseline_arm: str | None = None,
    split: str | None = None,
    columns: Columns | None = None,
    memory: str | int = DEFAULT_MEMORY,
    allow_different_environments: bool = False,
    progress: Progress | None = None,
) -> GateReport:
    """Whether predictions keep to limits: pass, fail, or investigate.

    Args:
        target: A report, the folder of one, or whatever `sp.measure` takes.
        max: What metrics may be at most, by name.
        min: What metrics must be at least, by name.
        no_worse: Metrics that may not be worse than the baseline's; with margins as a mapping.
        baseline: What `no_worse` compares with.
        arm: Which arm of the target's store.
        baseline_arm: Which arm of the baseline's store; the same as `arm` without.
        split: Which split of both stores.
        columns: Names of the columns, with tables.
        memory: What reading tables may use, such as "4GB".
        allow_different_environments: Judge records of different environments, and note it.
        progress: Called as the work goes on.

    Returns:
        The verdicts.

    Raises:
        EnvironmentChangedError: Records were made in different environments.
        OptionError: A rule cannot be judged; the message says why.
    """
    rules = rules_of(max, min, no_worse)
    check_names(rules)
    compares = any(rule.kind == "no-worse" for rule in rules)
    if compares != (baseline is not None):
        raise OptionError(
            "no-worse compares with a baseline. Give --baseline with it, or baseline= in Python."
            if compares
            else "A baseline does nothing without a rule. Add one, such as --no-worse flip_rate, "
            'or no_worse=["flip_rate"] in Python.',
            keyword="baseline" if compares else "no_worse",
        )
    if baseline_arm is not None and (baseline is None or not _is_store(baseline)):
        raise OptionError(
            "--baseline-arm, or baseline_arm= in Python, goes with a store as the baseline. "
            "Leave it out.",
            keyword="baseline_arm",
        )
    if baseline is not None:
        _refuse_itself(target, baseline, arm, baseline_arm or arm)
    with TemporaryDirectory(prefix="seedproof-") as working:
        reading = Reading(
            columns=checked_columns(columns),
            working=Path(working),
            memory=parse_memory(memory),
            split=split,
            arm=arm,
            progress=progress,
        )
        given = [_alone(one) for one in (target, baseline) if one is not None]
        _refuse_what_has_no_effect(given, reading)
        mine, theirs = _open(given[0], "target", reading), None
        if baseline is not None:
            theirs = _open(given[1], "baseline", replace(reading, arm=baseline_arm or arm))
        notes = _environment_notes(mine, theirs, is_allowed=allow_different_environments)
        if theirs is None:
            found = _measured(mine, reading)
            notes += found.notes
            return GateReport(judge(found.metrics, rules, n_runs=found.n_runs, notes=notes))
        compared = _compared(mine, theirs, reading)
        arm_found, base_found = compared.arms[0], compared.baseline.measurement
        known = Baseline(base_found.metrics, arm_found.effects, base_found.n_runs)
        found = arm_found.measurement
        notes += compared.notes
        return GateReport(
            judge(found.metrics, rules, n_runs=found.n_runs, baseline=known, notes=notes)
        )


def rules_of(
    at_most: Mapping[str, float] | None,
    at_least: Mapping[str, float] | None,
    no_worse: Mapping[str, float | None] | Iterable[str] | None,
) -> list[Rule]:
    """The rules that limits stand for, in their order."""
    return [
        *(Rule("max", name, limit) for name, limit in _limits("max", at_most).items()),
        *(Rule("min", name, limit) for name, limit in _limits("min", at_least).items()),
        *(Rule.no_worse(name, margin) for name, margin in _margins(no_worse).items()),
    ]


def _limits(keyword: str, given: object) -> Mapping[str, float]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    raise OptionError(
        "{keyword}= takes limits by metric, not a {type_name}. Write "
        '{keyword}={{"flip_rate": 0.05}}, or --{keyword} flip_rate=0.05 on the command line.',
        keyword=keyword,
        type_name=type(given).__name__,
    )


def _margins(given: object) -> Mapping[str, float | None]:
    if given is None:
        return {}
    names: list[Any] = [None]
    if isinstance(given, Iterable) and not isinstance(given, str):
        names = list(given)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(
            "no_worse= takes names of metrics: in a list, or in a mapping with margins. Write "
            'no_worse=["flip_rate"] or no_worse={{"flip_rate": 0.1}}.',
            keyword="no_worse",
        )
    return given if isinstance(given, Mapping) else dict.fromkeys(names)


def _refuse_itself(
    target: Judged, baseline: Judged, arm: str | None, baseline_arm: str | None
) -> None:
    """The same records, or the same report, on both sides."""
    is_same = target is baseline
    if not is_same and (places := _places(target)) is not None:
        is_same = places == _places(baseline)
    if not is_same:
        return
    alone = _alone(target)
    store = None if isinstance(alone, Report) else as_store(alone)
    if store is not None:
        arms = store.arms()
        only = arms[0] if len(arms) == 1 else None
        if (arm or only) != (baseline_arm or only):
            return
        raise OptionError(
            "The target and the baseline are the same arm of the same store, and nothing is worse "
            "than itself. Name the other arm with --baseline-arm, or baseline_arm= in Python; or "
            "give another baseline.",
            keyword="baseline_arm",
        )
    raise OptionError(
        "The target and the baseline are the same, and nothing is worse than itself. Give other "
        "runs as the baseline; of a store with several arms name one with --baseline-arm, or "
        "baseline_arm= in Python.",
        keyword="baseline",
    )


def _places(target: Judged) -> list[Location] | None:
    """Where a target lies, links followed; None for what is in memory."""
    several = list(target) if isinstance(target, list | tuple) else [target]
    found = [Location.of(one) for one in several if isinstance(one, str | os.PathLike | Location)]
    if not found or len(found) < len(several):
        return None
    resolved = [Location.of(Path(one.path).resolve()) if one.is_local else one for one in found]
    return sorted(resolved, key=lambda one: one.path)


def _alone(target: Judged) -> Judged:
    """The one path of a list of one, which is how the command line gives it."""
    if isinstance(target, list | tuple) and len(target) == 1:
        only = target[0]
        return only if isinstance(only, str | os.PathLike) else target
    return target


def _is_store(target: Judged) -> bool:
    only = _alone(target)
    return not isinstance(only, Report) and as_store(only) is not None


def _saved(target: Judged) -> Location | None:
    """The folder of a report that a target names; None if it names something else."""
    if not isinstance(target, str | os.PathLike):
        return None
    place = Location.of(target)
    return place if is_saved(place) else None


def _open(target: Judged, name: str, reading: Reading) -> Opened:
    """A report's measurement, or the records of a target, ready to be read."""
    if isinstance(target, Report):
        return target.measurement
    folder = _saved(target)
    if folder is not None:
        return load_saved(folder)
    return open_side(target, name, reading, 0 if name == "target" else 1)


def _refuse_what_has_no_effect(targets: Sequence[Judged], reading: Reading) -> None:
    """Whoever gives an option expects it to do something."""
    records = [one for one in targets if not isinstance(one, Report) and _saved(one) is None]
    stores = [one for one in records if _is_store(one)]
    if not stores and (reading.arm is not None or reading.split is not None):
        raise OptionError(
            "--arm and --split, or arm= and split= in Python, go with stores, and none is given. "
            "Leave them out.",
            keywords=("arm", "split"),
        )
    if len(stores) == len(records) and reading.columns != Columns():
        raise OptionError(
            "Names of columns go with tables, and none is given. Leave them out.",
            keyword="columns",
        )


def _measured(side: Opened, reading: Reading) -> Measurement:
    if isinstance(side, Measurement):
        return side
    place = Location.of(reading.working / f"{side.name}.parquet")
    return measure_shards(side.source, place, progress=reading.progress, notes=side.notes)


def _compared(mine: Opened, theirs: Opened, reading: Reading) -> Comparison:
    """The effects: in one pass over the records of both, or from figures where one is a report."""
    if isinstance(mine, Side) and isinstance(theirs, Side):
        folder = Location.of(reading.working)
        return compare_sides([theirs, mine], folder, progress=reading.progress)
    both = [_measured(side, reading) for side in (theirs, mine)]
    if len({examples_digest(one.examples_file) for one in both}) > 1:
        raise MissingExampleError(
            "The target and the baseline are of different examples, or of different gold labels. "
            "Predict the same examples with both.",
            sides=("target", "baseline"),
        )
    return compare_saved(["baseline", "target"], both)


def _environment(side: Opened) -> Environment:
    """What the runs of a store were made in; nothing is known of tables and reports."""
    if isinstance(side, Side) and isinstance(side.source, StoreShards):
        return Environment.of(side.source.manifests)
    return Environment({})


def _environment_notes(
    mine: Opened, theirs: Opened | None, *, is_allowed: bool
) -> tuple[Message, ...]:
    """What differs between environments, as notes; an error unless that is allowed."""
    here = _environment(mine)
    found = [f"{change} among the runs" for change in here.changes()]
    if theirs is not None:
        before = _environment(theirs)
        found += [f"{change} among the baseline's runs" for change in before.changes()]
        found += [f"{change} since the baseline" for change in here.changes_from(before)]
    if not found:
        return ()
    if not is_allowed:
        raise EnvironmentChangedError(
            "The records were made in different environments: {differences}. A difference "
            "may be theirs. Make the runs again in one, or allow it with "
            "--allow-different-environments, or allow_different_environments=True in Python.",
            differences="; ".join(found),
        )
    return (
        Message(
            "different-environments",
            "The records were made in different environments: {differences}.",
            differences="; ".join(found),
        ),
    )
