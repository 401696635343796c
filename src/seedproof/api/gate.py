"""`sp.gate`: predictions or reports in, verdicts out."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, Unpack

from seedproof.api.compare import arm_data
from seedproof.comparison.arms.compare import compare_arms
from seedproof.comparison.arms.compare_summaries import compare_saved
from seedproof.comparison.arms.result import Comparison
from seedproof.comparison.gate.environment import Environment, examples_digest
from seedproof.comparison.gate.judge import Baseline, judge
from seedproof.comparison.gate.rules import Rule, check_names
from seedproof.engines import Engine
from seedproof.errors import EnvironmentChangedError, MissingExampleError, OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.load import is_saved, load_saved
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import Loadable, Predictions, load_one, on_common_examples
from seedproof.predictions.targets import Input, opened, recognize
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.report.gate_report import GateReport
from seedproof.report.report import Report
from seedproof.typing import Progress

# What a gate judges: records in any form, a report, or the folder of one.
Judged: TypeAlias = Loadable | Report
# A report's measurement, or an input that is yet to be read.
Found: TypeAlias = Measurement | Predictions | Input


def gate(
    target: Judged,
    *,
    max: Mapping[str, float] | None = None,  # noqa: A002 - as the command line says
    min: Mapping[str, float] | None = None,  # noqa: A002 - same
    no_worse: Mapping[str, float | None] | Iterable[str] | None = None,
    baseline: Judged | None = None,
    baseline_arm: str | None = None,
    allow_different_environments: bool = False,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> GateReport:
    """Judge predictions by limits: pass, fail, or investigate.

    Args:
        target: A report, the folder of one, or whatever `sp.Predictions.load` takes.
        max: Upper limits by metric.
        min: Lower limits by metric.
        no_worse: Metrics that may not be worse than the baseline's; with margins as a mapping.
        baseline: What `no_worse` compares with.
        baseline_arm: Arm of the baseline's store; the same as `arm` if omitted.
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

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> answers = np.tile(np.arange(500) % 2, (10, 1))
        >>> sp.gate(answers, max={"flip_rate": 0.05}).outcome
        'pass'
    """
    pool = measuring_engine(engine, workers=workers, address=address)
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
    parse_memory(options.get("memory", "2GB"))
    given = [_alone(one) for one in (target, baseline) if one is not None]
    found = _opened_once([_found(one) for one in given], options)
    if baseline_arm is not None and (baseline is None or _kind(found[1]) != "store"):
        raise OptionError(
            "`{option}` applies to a store as the baseline. Remove it.",
            option="baseline_arm",
            keyword="baseline_arm",
        )
    if baseline is not None:
        _refuse_itself(given, found, options.get("arm"), baseline_arm)
    check_options([_kind(one) for one in found], options)
    chosen: list[LoadOptions] = [options, {**options, "arm": baseline_arm or options.get("arm")}]
    loaded = {
        name: one
        if isinstance(one, Measurement)
        else load_one(one, how if _kind(one) == "store" else options, least_runs=2)
        for name, one, how in zip(("target", "baseline"), found, chosen, strict=False)
    }
    if options.get("common_examples"):
        records = {name: one for name, one in loaded.items() if isinstance(one, Predictions)}
        loaded |= on_common_examples(records) if len(records) > 1 else {}
    notes = _environment_notes(
        loaded["target"], loaded.get("baseline"), is_allowed=allow_different_environments
    )
    with TemporaryDirectory(prefix="seedproof-") as working:
        progress = options.get("progress")
        if baseline is None:
            measured = _measured("target", loaded["target"], Path(working), pool, progress)
            notes += measured.notes
            return GateReport(judge(measured.metrics, rules, n_runs=measured.n_runs, notes=notes))
        compared = _compared(loaded, Path(working), pool, progress)
        arm, base = compared.arms[0], compared.baseline.measurement
        known = Baseline(base.metrics, arm.effects, base.n_runs)
        notes += compared.notes
        return GateReport(
            judge(
                arm.measurement.metrics,
                rules,
                n_runs=arm.measurement.n_runs,
                baseline=known,
                notes=notes,
            )
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
    given: list[Any], found: list[Found], arm: str | None, baseline_arm: str | None
) -> None:
    """Refuse the same records, or the same report, on both sides."""
    is_same = given[0] is given[1]
    if not is_same and (places := _places(given[0])) is not None:
        is_same = places == _places(given[1])
    if not is_same:
        return
    if _kind(found[0]) == "store":
        arms = opened(found[0]).arms() if isinstance(found[0], Input) else ()
        only = arms[0] if len(arms) == 1 else None
        if (arm or only) != (baseline_arm or arm or only):
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


def _found(target: Judged) -> Found:
    """A report's measurement; or an input, recognized."""
    if isinstance(target, Report):
        return target.measurement
    if isinstance(target, Predictions):
        return target
    if isinstance(target, str | os.PathLike) and is_saved(place := Location.of(target)):
        return load_saved(place)
    return recognize(target)


def _opened_once(found: list[Found], options: LoadOptions) -> list[Found]:
    """Open the store that is both the target and the baseline, so that its runs are read once."""
    stores = [one for one in found if isinstance(one, Input) and one.kind == "store"]
    if len(stores) < 2 or stores[0].parts != stores[1].parts:
        return found
    store = opened(stores[0], skip_damaged=bool(options.get("skip_damaged")))
    return [Input("store", store) for _ in stores]


def _kind(found: Found) -> str:
    if isinstance(found, Measurement):
        return "report"
    return "predictions" if isinstance(found, Predictions) else found.kind


def _measured(
    name: str,
    one: Measurement | Predictions,
    working: Path,
    engine: Engine | None,
    progress: Progress | None,
) -> Measurement:
    if isinstance(one, Measurement):
        return one
    place = Location.of(working / f"{name}.parquet")
    if engine is None:
        return measure_shards(one.source, place, progress=progress, notes=one.notes)
    return measure_on(engine, one.source, place, progress=progress, notes=one.notes)


def _compared(
    loaded: Mapping[str, Measurement | Predictions],
    working: Path,
    engine: Engine | None,
    progress: Progress | None,
) -> Comparison:
    """The effects: in one pass over the records of both, or from figures where one is a report."""
    names = ["baseline", "target"]
    records = {name: one for name in names if isinstance(one := loaded[name], Predictions)}
    if len(records) == 2:
        place = Location.of(working)
        return compare_arms(arm_data(records), place, engine=engine, progress=progress)
    both = [_measured(name, loaded[name], working, engine, progress) for name in names]
    if len({examples_digest(one.example_table) for one in both}) > 1:
        raise MissingExampleError(
            "The target and the baseline are of different examples, or of different gold labels. "
            "Predict the same examples with both.",
            sides=("target", "baseline"),
        )
    return compare_saved(dict(zip(names, both, strict=True)))


def _environment(one: Measurement | Predictions) -> Environment:
    """What the runs of a store were made in; nothing is known of tables and reports."""
    return Environment.of(one.source.manifests if isinstance(one, Predictions) else ())


def _environment_notes(
    mine: Measurement | Predictions,
    theirs: Measurement | Predictions | None,
    *,
    is_allowed: bool,
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
