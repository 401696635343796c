"""Load the inputs of a comparison: the arms of a store, several targets, two versions."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    InputError,
    NotFoundError,
    OptionError,
    SeedproofError,
    TooFewRunsError,
)
from seedproof.logs import log_files, runs_in
from seedproof.logs.hydra import Sweep
from seedproof.logs.mlflow import is_tracked, read_tracked
from seedproof.logs.samples import Log
from seedproof.messages import Message
from seedproof.predictions.checks import Check, by_severity, missing_arm, of_arms
from seedproof.predictions.duplicates import identical_arms
from seedproof.predictions.options import DEFAULT_MEMORY, LoadOptions, check_options
from seedproof.predictions.predictions import (
    Loadable,
    Predictions,
    arms_of,
    load_one,
    on_common_examples,
)
from seedproof.predictions.readers import TABLE_SUFFIXES
from seedproof.predictions.sources import read_arm
from seedproof.predictions.table_columns import columns_of
from seedproof.predictions.targets import Input, is_store, opened, recognize
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.number_tables import column_names, have_numbers, read_table
from seedproof.records.reader import Store
from seedproof.records.tables import TableOptions

# Name of the default baseline in a store.
USUAL_BASELINE = "none"
# Column that names the arm of each row, in a table of numbers.
ARM = "arm"


def load_arms(
    targets: Loadable | Sequence[Loadable] | Mapping[str, Loadable],
    options: LoadOptions,
    *,
    baseline: str | None = None,
    paired: bool = False,
) -> dict[str, Predictions]:
    """Load the arms of a comparison, the baseline first."""
    several, names = as_list(targets)
    log = log_among(several, options.get("tool"))
    if log is not None:
        of_task = log.only(task=options.get("task"))
        logs = {arm: of_task.only(arm=arm) for arm in of_task.arms}
        # Samples may have failed in one arm only.
        shared: LoadOptions = {**options}
        if isinstance(log, Log):
            shared["common_examples"] = True
        arms = load_each(list(logs.values()), list(logs), shared, paired=paired)
    elif len(several) == 1 and (tables := _arm_tables(several[0], options)):
        arms = load_each(list(tables.values()), list(tables), options, paired=paired)
    elif len(several) == 1:
        arms = _of_store(several[0], options, paired=paired)
    else:
        arms = load_each(several, names or short_names(several), options, paired=paired)
    ordered = baseline_first(arms, baseline, is_store=len(several) == 1)
    first, *others = ordered.values()
    if paired and not any(first.pairs is not None and arm.pairs == first.pairs for arm in others):
        raise OptionError(
            "`{option}` pairs runs by name, but no target has the same run names as {name!r}. "
            "Give runs that share seeds the same names, or remove it.",
            option="paired",
            name=next(iter(ordered)),
        )
    return ordered


def log_among(targets: Sequence[Any], tool: str | None = None) -> Log | Sweep | None:
    """Return the log or sweep that a single target holds, or that several paths hold together."""
    if len(targets) == 1 and isinstance(targets[0], Log | Sweep):
        return targets[0]
    if not targets or not all(isinstance(target, str | os.PathLike) for target in targets):
        return None
    if any(map(is_tracked, targets)):
        tracked = read_tracked(str(targets[0])) if len(targets) == 1 else None
        return tracked if tracked is not None and tracked.has_tables else None
    files = log_files([os.fspath(target) for target in targets], tool)
    if files is None and len(targets) == 1 and not is_store(targets[0]):
        return runs_in(Path(targets[0]), TABLE_SUFFIXES)
    return None if files is None else files.read()


def as_list(targets: Any) -> tuple[list[Any], list[str] | None]:  # noqa: ANN401 - any input
    """Return several inputs as a list, and their names if they have any."""
    if isinstance(targets, Mapping):
        return list(targets.values()), [str(name) for name in targets]
    return (list(targets) if isinstance(targets, list | tuple) else [targets]), None


def load_each(
    targets: Sequence[Loadable],
    names: Sequence[str],
    options: LoadOptions,
    *,
    paired: bool = False,
    least_runs: int = 2,
) -> dict[str, Predictions]:
    """Load several inputs as one arm each."""
    _reject_duplicates(targets)
    tool = options.get("tool")
    inputs = [t if isinstance(t, Predictions) else recognize(t, tool) for t in targets]
    kinds = ["predictions" if isinstance(i, Predictions) else i.kind for i in inputs]
    check_options(kinds, options)
    _check_paired(kinds, paired=paired)
    arms = {
        name: load_one(read, options, least_runs=least_runs, least_trials=1)
        for name, read in zip(names, inputs, strict=True)
    }
    if paired:
        arms = {
            name: arm.paired_by_name() if arm.pairs is None else arm for name, arm in arms.items()
        }
        first = next(iter(arms.values()))
        arms = {
            name: arm if arm.source.manifests else arm.in_order_of(first)
            for name, arm in arms.items()
        }
    return on_common_examples(arms) if options.get("common_examples") else arms


def _check_paired(kinds: Sequence[str], *, paired: bool) -> None:
    if paired and set(kinds) == {"store"}:
        raise OptionError(
            "`{option}` applies to tables and arrays: runs of stores are paired by their seeds. "
            "Remove it.",
            option="paired",
        )


def _reject_duplicates(targets: Sequence[Loadable]) -> None:
    places = [str(target).rstrip("/") for target in targets if isinstance(target, str | Path)]
    if len(set(places)) == len(places):
        return
    for place in places:
        if is_store(place):
            Store(Location.of(place))  # raises if it is unfinished
    raise OptionError(
        "The same target is given twice. Pass two different ones.", targets=tuple(places)
    )


def _arm_tables(target: Loadable, options: LoadOptions) -> dict[str, pa.Table]:
    """Return the rows of each arm of a table of numbers with a column `arm`; empty otherwise."""
    recognized = _recognized(target)
    if isinstance(recognized, Predictions) or recognized.kind != "table":
        return {}
    tables, columns = recognized.parts, columns_of(options)
    if len(tables) != 1 or not have_numbers(tables, columns):
        return {}
    names = column_names(tables[0])  # empty if they are only known once it is read
    if names and ARM not in names:
        return {}
    memory = parse_memory(options.get("memory") or DEFAULT_MEMORY)
    rows = read_table(tables[0], TableOptions(columns, memory))
    if ARM not in rows.column_names:
        return {}
    arm_of = rows.column(ARM).cast(pa.string())
    others = rows.drop_columns([ARM])
    return {
        arm: others.filter(pc.equal(arm_of, arm))
        for arm in dict.fromkeys(arm_of.to_pylist())
        if arm is not None
    }


def _of_store(target: Loadable, options: LoadOptions, *, paired: bool) -> dict[str, Predictions]:
    store_input = target if isinstance(target, Predictions) else _recognized(target)
    if isinstance(store_input, Predictions) or store_input.kind != "store":
        raise _not_a_store(target)
    check_options(["store"], options)
    if options.get("arm") is not None:
        raise OptionError(
            "`{option}` applies to several targets, but this is one store. Name a baseline "
            "instead.",
            option="arm",
        )
    _check_paired(["store"], paired=paired)
    store = opened(store_input, skip_damaged=bool(options.get("skip_damaged")))
    arms, too_few = arms_of(store, options)
    if len(arms) < 2:
        raise TooFewRunsError(
            "{location} has fewer than two arms with at least 2 finished runs (arms: "
            "{listed}). Train more with `seedproof run --arms`, or give two targets.",
            location=store.location,
            listed=", ".join(store.arms()) or "none",
            arms=tuple(store.arms()),
        )
    notes = list(store.left_out)
    if too_few:
        notes.append(
            Message(
                "arms-left-out",
                "Left out, with fewer than 2 finished runs: {arms}.",
                arms=tuple(too_few),
            )
        )
    first = next(iter(arms))
    missing = [missing_arm(arm) for arm in store.missing_arms()]
    arms[first] = arms[first].with_notes(*notes).with_checks(*missing)
    return on_common_examples(arms) if options.get("common_examples") else arms


def checks_of_store(store: Store) -> tuple[Check, ...]:
    """Return the findings about the finished runs of all arms on each split."""
    checks: list[Check] = [missing_arm(arm) for arm in store.missing_arms()]
    for split in store.splits():
        arms: dict[str, Predictions] = {}
        for arm in store.arms():
            with suppress(SeedproofError):  # too few runs, or none on this split
                arms[arm] = Predictions(*read_arm(store, {"arm": arm, "split": split}))
        own = {name: arm.checks for name, arm in arms.items()}
        checks += of_arms(own) if len(own) > 1 else next(iter(own.values()), ())
        sources = {name: arm.source for name, arm in arms.items()}
        checks += identical_arms(sources, {name: arm.pairs for name, arm in arms.items()})
    return by_severity(dict.fromkeys(checks))


def _recognized(target: Loadable) -> Input | Predictions:
    """Recognize a target; a folder without a store is rejected by the caller."""
    if isinstance(target, str | os.PathLike) and not Path(target).is_file():
        text = os.fspath(target)
        return Input("store" if is_store(text) else "folder", Location.of(text))
    return target if isinstance(target, Predictions) else recognize(target)


def _not_a_store(target: Loadable) -> InputError:
    """Return the error for a single target that is not a store with several arms."""
    path = Path(target) if isinstance(target, str | Path) else None
    if path is not None and not path.exists():
        return NotFoundError(
            "{target!r} does not exist. Pass a store, or two targets.", target=str(target)
        )
    if path is not None and path.is_dir():
        return NotFoundError(
            "{target!r} is a folder without a study.json. Pass a seedproof store, or two targets.",
            target=str(target),
        )
    return OptionError(
        "A single table cannot be compared, unless it has numbers and a column `{column}`. Pass "
        "the table of the baseline and another one, or a store with several arms.",
        column=ARM,
        n_targets=1,
    )


def short_names(targets: Sequence[Any]) -> list[str]:
    """Return file or folder names of targets; whole paths if two are equal."""
    texts = [str(target) if isinstance(target, str | Path) else "" for target in targets]
    short = [Path(text.rstrip("/")).stem for text in texts]
    if "" in short or len(set(short)) < len(short):
        short = texts
    if "" in short or len(set(short)) < len(short):
        short = ["baseline", *(f"arm {index}" for index in range(1, len(targets)))]
    return short


def baseline_first(
    arms: Mapping[str, Any], baseline: str | None, *, is_store: bool = False
) -> dict[str, Any]:
    """Return the arms with the baseline first."""
    names = list(arms)
    if baseline is None:
        baseline = USUAL_BASELINE if is_store and USUAL_BASELINE in names else names[0]
    if baseline not in names:
        raise OptionError(
            "There is no arm {baseline!r} to compare with. Known: {known}.",
            baseline=baseline,
            known=tuple(names),
        )
    return {name: arms[name] for name in sorted(names, key=lambda name: name != baseline)}
