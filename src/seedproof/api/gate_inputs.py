"""The inputs of `sp.gate`: a target and a baseline, as predictions, stores or reports."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from seedproof.comparison.gate.environment import Environment
from seedproof.errors import (
    EnvironmentChangedError,
    OptionError,
)
from seedproof.measurement.load import is_saved, load_saved
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.predictions.options import LoadOptions
from seedproof.predictions.predictions import Loadable, Predictions, load_one, on_common_examples
from seedproof.predictions.targets import Input, opened, recognize
from seedproof.records.location import Location
from seedproof.report.report import Report

Judged: TypeAlias = Loadable | Report
# A report's measurement, or an input that is yet to be read.
Recognized: TypeAlias = Measurement | Predictions | Input


def load_inputs(
    inputs: Sequence[Recognized], options: LoadOptions, baseline_arm: str | None
) -> dict[str, Measurement | Predictions]:
    """Read the target, and the baseline if there is one."""
    of_baseline: LoadOptions = {**options, "arm": baseline_arm or options.get("arm")}
    loaded: dict[str, Measurement | Predictions] = {}
    for name, recognized in zip(("target", "baseline"), inputs, strict=False):
        if isinstance(recognized, Measurement):
            loaded[name] = recognized
        else:
            is_other = name == "baseline" and kind_of_input(recognized) == "store"
            how = of_baseline if is_other else options
            loaded[name] = load_one(recognized, how, least_runs=2, least_trials=1)
    if options.get("common_examples"):
        records = {name: x for name, x in loaded.items() if isinstance(x, Predictions)}
        loaded |= on_common_examples(records) if len(records) > 1 else {}
    return loaded


def store_of(recognized: Recognized) -> Location | None:
    """Return the location of a store; None for other inputs."""
    if isinstance(recognized, Predictions):
        return recognized.source.location if recognized.folder is None else None
    if isinstance(recognized, Measurement) or recognized.kind != "store":
        return None
    return opened(recognized).location


def refuse_itself(
    targets: list[Any], inputs: list[Recognized], arm: str | None, baseline_arm: str | None
) -> None:
    """Refuse a baseline that is the target itself."""
    is_same = targets[0] is targets[1]
    if not is_same and (places := _places(targets[0])) is not None:
        is_same = places == _places(targets[1])
    if not is_same:
        return
    if kind_of_input(inputs[0]) == "store":
        arms = opened(inputs[0]).arms() if isinstance(inputs[0], Input) else ()
        only = arms[0] if len(arms) == 1 else None
        if (arm or only) != (baseline_arm or arm or only):
            return
        raise OptionError(
            "The target and the baseline are the same arm of the same store. Name the other arm "
            "with --baseline-arm, or baseline_arm= in Python; or pass another baseline.",
            keyword="baseline_arm",
        )
    raise OptionError(
        "The target and the baseline are the same. Pass other runs as the baseline; for a store "
        "with several arms, name an arm with --baseline-arm, or baseline_arm= in Python.",
        keyword="baseline",
    )


def _places(target: Judged) -> list[Location] | None:
    """Return the locations of a target, with links resolved; None for what is in memory."""
    several = list(target) if isinstance(target, list | tuple) else [target]
    places = [Location.of(x) for x in several if isinstance(x, str | os.PathLike | Location)]
    if not places or len(places) < len(several):
        return None
    resolved = [Location.of(Path(x.path).resolve()) if x.is_local else x for x in places]
    return sorted(resolved, key=lambda place: place.path)


def alone(target: Judged) -> Judged:
    """Return the only path of a list, as the command line gives it."""
    if isinstance(target, list | tuple) and len(target) == 1:
        only = target[0]
        return only if isinstance(only, str | os.PathLike) else target
    return target


def recognized(target: Judged) -> Recognized:
    """Return a report's measurement, or an input that is yet to be read."""
    if isinstance(target, Report):
        return target.measurement
    if isinstance(target, Predictions):
        return target
    if isinstance(target, str | os.PathLike) and is_saved(place := Location.of(target)):
        return load_saved(place)
    return recognize(target)


def opened_once(inputs: list[Recognized], options: LoadOptions) -> list[Recognized]:
    """Open a store that is both the target and the baseline once, so that runs are read once."""
    stores = [x for x in inputs if isinstance(x, Input) and x.kind == "store"]
    if len(stores) < 2 or stores[0].parts != stores[1].parts:
        return inputs
    store = opened(stores[0], skip_damaged=bool(options.get("skip_damaged")))
    return [Input("store", store) for _ in stores]


def are_trials(loaded: Measurement | Predictions) -> bool:
    """Return whether repeats are trials of one model."""
    repeats = loaded.repeats if isinstance(loaded, Measurement) else loaded.source.repeats
    return repeats == "trials"


def kind_of_input(recognized: Recognized) -> str:
    """Return the kind of input as options name it, such as "store"."""
    if isinstance(recognized, Measurement):
        return "report"
    return "predictions" if isinstance(recognized, Predictions) else recognized.kind


def _environment(loaded: Measurement | Predictions) -> Environment:
    """Environment of the runs of a store; nothing is known of tables and reports."""
    return Environment.of(loaded.source.manifests if isinstance(loaded, Predictions) else ())


def environment_notes(
    target: Measurement | Predictions,
    baseline: Measurement | Predictions | None,
    *,
    is_allowed: bool,
) -> tuple[Message, ...]:
    """Return differences between environments as notes; an error unless they are allowed."""
    here = _environment(target)
    changes = [f"{change} among the runs" for change in here.changes()]
    if baseline is not None:
        before = _environment(baseline)
        changes += [f"{change} among the baseline's runs" for change in before.changes()]
        changes += [f"{change} since the baseline" for change in here.changes_from(before)]
    if not changes:
        return ()
    differences = "; ".join(changes)
    if not is_allowed:
        raise EnvironmentChangedError(
            "The records were made in different environments: {differences}. This alone may "
            "change results. Rerun everything in one environment, or allow the difference with "
            "--allow-different-environments, or allow_different_environments=True in Python.",
            differences=differences,
        )
    return (
        Message(
            "different-environments",
            "The records were made in different environments: {differences}.",
            differences=differences,
        ),
    )
