"""Load several inputs that are compared: the arms of a store, several targets, two versions."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.errors import InputError, NotFoundError, OptionError, TooFewRunsError
from seedproof.messages import Message
from seedproof.predictions.options import LoadOptions, check_options
from seedproof.predictions.predictions import (
    Loadable,
    Predictions,
    arms_of,
    load_one,
    on_common_examples,
)
from seedproof.predictions.targets import Input, is_store, opened, recognize
from seedproof.records.location import Location
from seedproof.records.reader import Store

# The arm of this name is the baseline if none is named.
USUAL_BASELINE = "none"


def load_arms(
    targets: Loadable | Sequence[Loadable] | Mapping[str, Loadable],
    options: LoadOptions,
    *,
    baseline: str | None = None,
    paired: bool = False,
) -> dict[str, Predictions]:
    """The arms of a comparison, the baseline first."""
    several, names = as_list(targets)
    if len(several) == 1:
        arms = _of_store(several[0], options, paired=paired)
    else:
        arms = load_each(several, names or short_names(several), options, paired=paired)
    ordered = baseline_first(arms, baseline, is_store=len(several) == 1)
    first, *others = ordered.values()
    if paired and not any(first.pairs is not None and one.pairs == first.pairs for one in others):
        raise OptionError(
            "`{option}` takes runs of one name together, and no target has the runs of "
            "{name!r}. Give runs that share seeds the same names, or remove it.",
            option="paired",
            name=next(iter(ordered)),
        )
    return ordered


def as_list(targets: Any) -> tuple[list[Any], list[str] | None]:  # noqa: ANN401 - any input
    """Several inputs, and their names if they have any."""
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
    """Several inputs, each an arm of its own."""
    _refuse_twice(targets)
    found = [one if isinstance(one, Predictions) else recognize(one) for one in targets]
    kinds = ["predictions" if isinstance(one, Predictions) else one.kind for one in found]
    check_options(kinds, options)
    if paired and set(kinds) == {"store"}:
        raise OptionError(
            "`{option}` applies to tables and arrays: runs of stores are paired by their seeds. "
            "Remove it.",
            option="paired",
        )
    arms = {
        name: load_one(one, options, least_runs=least_runs)
        for name, one in zip(names, found, strict=True)
    }
    if paired:
        arms = {
            name: one.paired_by_name() if one.pairs is None else one for name, one in arms.items()
        }
        first = next(iter(arms.values()))
        arms = {
            name: one if one.source.manifests else one.in_order_of(first)
            for name, one in arms.items()
        }
    return on_common_examples(arms) if options.get("common_examples") else arms


def _refuse_twice(targets: Sequence[Loadable]) -> None:
    places = [str(one).rstrip("/") for one in targets if isinstance(one, str | Path)]
    if len(set(places)) == len(places):
        return
    for place in places:
        if is_store(place):
            Store(Location.of(place))  # one that is not finished is refused as such
    raise OptionError(
        "The same target is given twice: it cannot differ from itself. Give runs of two.",
        targets=tuple(places),
    )


def _of_store(target: Loadable, options: LoadOptions, *, paired: bool) -> dict[str, Predictions]:
    """The arms of one store."""
    found = target if isinstance(target, Predictions) else _recognized(target)
    if isinstance(found, Predictions) or found.kind != "store":
        raise _no_store(target)
    check_options(["store"], options)
    for name, value in (("arm", options.get("arm")), ("paired", paired or None)):
        if value is not None:
            raise OptionError(
                "`{option}` applies to several targets, and here is one store. Name a baseline "
                "instead."
                if name == "arm"
                else "`{option}` applies to tables and arrays: runs of stores are paired by their "
                "seeds. Remove it.",
                option=name,
            )
    store = opened(found, skip_damaged=bool(options.get("skip_damaged")))
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
    arms[first] = arms[first].with_notes(*notes)
    return on_common_examples(arms) if options.get("common_examples") else arms


def _recognized(target: Loadable) -> Input | Predictions:
    """One target; a folder that holds neither a store nor tables is missed below."""
    if isinstance(target, str | os.PathLike) and not Path(target).is_file():
        text = os.fspath(target)
        return Input("store" if is_store(text) else "folder", Location.of(text))
    return target if isinstance(target, Predictions) else recognize(target)


def _no_store(target: Loadable) -> InputError:
    """Why one target that is not a store with several arms cannot be compared."""
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


def short_names(targets: Sequence[Any]) -> list[str]:
    """Short names of targets: a file's or folder's, or all of it where two are alike."""
    texts = [str(one) if isinstance(one, str | Path) else "" for one in targets]
    short = [Path(text.rstrip("/")).stem for text in texts]
    if "" in short or len(set(short)) < len(short):
        short = texts
    if "" in short or len(set(short)) < len(short):
        short = ["baseline", *(f"arm {index}" for index in range(1, len(targets)))]
    return short


def baseline_first(
    arms: Mapping[str, Any], baseline: str | None, *, is_store: bool = False
) -> dict[str, Any]:
    """Arms with the baseline first."""
    names = list(arms)
    if baseline is None:
        baseline = USUAL_BASELINE if is_store and USUAL_BASELINE in names else names[0]
    if baseline not in names:
        raise OptionError(
            "There is no {baseline!r} to compare with. Known: {known}.",
            baseline=baseline,
            known=tuple(names),
        )
    return {name: arms[name] for name in sorted(names, key=lambda name: name != baseline)}
