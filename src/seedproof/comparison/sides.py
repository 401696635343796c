"""Whatever somebody wants compared, as sides: the arms of a store, several targets, versions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seedproof.comparison.arms.compare import Side
from seedproof.comparison.blame.sharing import note_on_shared_seeds
from seedproof.errors import InputError, NotFoundError, OptionError, TooFewRunsError
from seedproof.messages import Message
from seedproof.records.columns import Columns
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store, StoreShards
from seedproof.records.targets import Target, as_store, open_target
from seedproof.typing import Progress

# Scalars that a run may log to say what it cost beside its own seconds.
COSTS = ("forward_passes", "serving_multiplier")
# Without a baseline's name, the arm of this one is it.
USUAL_BASELINE = "none"


@dataclass(frozen=True)
class Reading:
    """How targets are read.

    Args:
        columns: Names of the columns, with tables.
        split: Which split, with stores.
        arm: Which arm, where a target of several is a store with more than one.
        is_paired: Whether runs of one name belong together, in tables.
        alone: Whether a single run of a side will do.
        skip_damaged: Whether what is damaged in a store is left out, with a note.
        memory: Bytes that reading a table may use.
        working: A folder that lives as long as the sides are read.
        progress: Told how many rows of a table are read.
    """

    columns: Columns
    working: Path
    memory: int
    split: str | None = None
    arm: str | None = None
    is_paired: bool = False
    alone: bool = False
    skip_damaged: bool = False
    progress: Progress | None = None


def open_sides(
    targets: Sequence[Target],
    baseline: str | None,
    reading: Reading,
    names: Sequence[str] | None = None,
) -> list[Side]:
    """The sides of a comparison, the baseline first.

    Args:
        targets: One store with several arms, or at least two targets.
        baseline: Name of the baseline: an arm, or one of the targets; without it the arm `none`,
            or the first.
        reading: How targets are read.
        names: What several targets are called; after their files without it.

    Returns:
        At least two sides.

    Raises:
        OptionError: There is nothing to compare, or no such baseline.
    """
    if len(targets) == 1:
        _refuse_what_has_no_effect(targets, reading)
        store = as_store(targets[0])
        if store is None:
            raise _no_store(targets[0])
        if reading.arm is not None:
            raise OptionError(
                "{option} chooses among several targets. Name a --baseline instead.",
                option="--arm",
            )
        sides = _arms(store, reading)
    else:
        sides = open_both(targets, names or _names(targets), reading)
    ordered = _baseline_first(sides, baseline, is_store=len(targets) == 1)
    if reading.is_paired and not any(side.is_paired_with(ordered[0]) for side in ordered[1:]):
        raise OptionError(
            "{option} takes runs of one name together, and no target has the runs of "
            "{name!r}. Give runs that share seeds the same names, or leave it out.",
            option="--paired",
            name=ordered[0].name,
        )
    return ordered


def _no_store(target: Target) -> InputError:
    """Why one target, which is no store with several arms, cannot be compared."""
    if isinstance(target, str | Path) and not Path(target).exists():
        return NotFoundError(
            "{target!r} does not exist. Give a store, or two targets.", target=str(target)
        )
    if isinstance(target, str | Path) and Path(target).is_dir():
        return NotFoundError(
            "{target!r} is a folder without a study.json. Give a seedproof store, or two targets.",
            target=str(target),
        )
    return OptionError(
        "One table alone cannot be compared. Give the baseline's and another, or a store with "
        "several arms.",
        n_targets=1,
    )


def open_both(targets: Sequence[Target], names: Sequence[str], reading: Reading) -> list[Side]:
    """Several targets, each as a side of its own.

    Args:
        targets: What they are.
        names: What they are called.
        reading: How they are read.

    Returns:
        A side each, in the same order.
    """
    _refuse_what_has_no_effect(targets, reading)
    places = [str(one).rstrip("/") for one in targets if isinstance(one, str | Path)]
    if len(set(places)) < len(places):
        raise OptionError(
            "The same target is given twice: it cannot differ from itself. Give runs of two.",
            targets=tuple(places),
        )
    pairs = enumerate(zip(targets, names, strict=True))
    return [open_side(target, name, reading, index) for index, (target, name) in pairs]


def _refuse_what_has_no_effect(targets: Sequence[Target], reading: Reading) -> None:
    """Whoever gives an option expects it to do something."""
    n_stores = sum(as_store(target) is not None for target in targets)
    if n_stores == 0 and (reading.arm or reading.split):
        raise OptionError(
            "--arm and --split go with stores, and none is given. Leave them out.",
            options=("--arm", "--split"),
        )
    if n_stores == len(targets) and (reading.columns != Columns() or reading.is_paired):
        raise OptionError(
            "Names of columns and --paired go with tables, and only stores are given: their runs "
            "are paired by their seeds. Leave them out.",
            options=("--paired",),
        )


def open_side(target: Target, name: str, reading: Reading, index: int = 0) -> Side:
    """One target as a side of a comparison.

    Args:
        target: What it is.
        name: What it is called.
        reading: How it is read.
        index: Tells it from the other sides on disk.

    Returns:
        The side.
    """
    working = reading.working / str(index)
    working.mkdir()
    store = as_store(target)
    source, notes = open_target(
        target,
        arrays=dict.fromkeys(("labels", "ids", "classes", "runs")),
        columns=reading.columns if store is None else Columns(),
        choice={"arm": reading.arm, "split": reading.split} if store is not None else {},
        memory=reading.memory,
        working=working,
        progress=reading.progress,
        alone=reading.alone,
        skip_damaged=reading.skip_damaged,
    )
    if store is not None and isinstance(source, StoreShards):
        return _side_of(name, source, notes)
    return Side(name, source, source.runs if reading.is_paired else None, notes=notes)


def _arms(store: Store, reading: Reading) -> list[Side]:
    store = Store(store.location, skip_damaged=reading.skip_damaged)
    sides, too_few = [], []
    for arm in store.arms():
        if sum(run.arm == arm for run in store.runs) < 2:
            too_few.append(arm)
            continue
        try:
            source = store.shards(arm=arm, split=reading.split)
        except TooFewRunsError:
            if not reading.skip_damaged:
                raise
            too_few.append(arm)
        else:
            sides.append(_side_of(arm, source))
    if len(sides) < 2:
        listed = ", ".join(store.arms()) or "none"
        raise TooFewRunsError(
            "{location} has fewer than two arms with at least 2 finished runs (arms: "
            "{listed}). Train more with `seedproof run --arms`, or give two targets.",
            location=store.location,
            listed=listed,
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
    sides[0] = replace(sides[0], notes=(*sides[0].notes, *notes))
    return sides


def _side_of(name: str, source: StoreShards, notes: tuple[Message, ...] = ()) -> Side:
    """One arm of a store; runs that are no independent draws are told of."""
    runs = source.manifests
    shared = note_on_shared_seeds([run.seeds for run in runs])
    notes = notes if shared is None else (*notes, shared)
    return Side(name, source, _seeds(runs), _costs(runs), notes)


def _seeds(runs: Sequence[RunManifest]) -> tuple[str, ...] | None:
    """The seeds of each run as text; None where a run has none, or two have the same."""
    found = tuple(repr(sorted(run.seeds.items())) for run in runs)
    return found if all(run.seeds for run in runs) and len(set(found)) == len(found) else None


def _costs(runs: Sequence[RunManifest]) -> dict[str, float]:
    """What the runs took, the median of each cost, as far as all of them say so."""
    recorded: dict[str, list[Any]] = {"seconds": [run.facts.get("seconds") for run in runs]}
    recorded |= {name: [run.scalars.get(name) for run in runs] for name in COSTS}
    return {
        name: float(np.median(values))
        for name, values in recorded.items()
        if all(isinstance(value, int | float) and np.isfinite(value) for value in values)
    }


def _names(targets: Sequence[Target]) -> list[str]:
    """Short names of targets: a file's or folder's, or all of it where two are alike."""
    texts = [str(one) if isinstance(one, str | Path) else "" for one in targets]
    short = [Path(text.rstrip("/")).stem for text in texts]
    if "" in short or len(set(short)) < len(short):
        short = texts
    if "" in short or len(set(short)) < len(short):
        short = ["baseline", *(f"arm {index}" for index in range(1, len(targets)))]
    return short


def _baseline_first(sides: list[Side], baseline: str | None, *, is_store: bool) -> list[Side]:
    names = [side.name for side in sides]
    if baseline is None:
        baseline = USUAL_BASELINE if is_store and USUAL_BASELINE in names else names[0]
    if baseline not in names:
        raise OptionError(
            "There is no {baseline!r} to compare with. Known: {known}.",
            baseline=baseline,
            known=tuple(names),
        )
    return sorted(sides, key=lambda side: side.name != baseline)
