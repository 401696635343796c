"""The average in the state of its optimizer.

It is an entry of the first parameter group: `load_state_dict` and distributed checkpoints keep
such entries, so the average can be built before or after they are loaded. All of its values are
tensors with axes, because distributed checkpoints lose others if the average is not built yet.
"""

import json
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import torch
from torch.optim import Optimizer

from seedproof.errors import MissingAverageError, first_line
from seedproof.records.decoding import DecodingError, parse_json

STATE_KEY = "seedproof_average"
TENSORS = ("average", "raw", "snapshots")
# Distributed checkpoints load tensors of equal size only, so texts have a multiple of this length.
TEXT_LENGTH = 4096

Groups = Sequence[MutableMapping[str, Any]]


def put_average(groups: Groups, state: Mapping[str, Any]) -> None:
    """Put the state of an average into the parameter groups of an optimizer's state."""
    facts = {name: value for name, value in state.items() if name not in TENSORS}
    text = json.dumps(facts | {"n_tensors": [len(state[name]) for name in TENSORS]}).encode()
    padded = text.ljust(-(-len(text) // TEXT_LENGTH) * TEXT_LENGTH)
    # Distributed checkpoints refuse tensors on different devices.
    device = next(iter(state["average"].values())).device
    encoded = torch.tensor(list(padded), dtype=torch.uint8, device=device)
    groups[0][STATE_KEY] = {
        "facts": encoded,
        "average": state["average"],
        "raw": state["raw"],
        "snapshots": {str(index): copies for index, copies in enumerate(state["snapshots"])},
    }


def saved_average(groups: Groups) -> dict[str, Any] | None:
    """Return the state of the average in parameter groups, if there is one."""
    for group in groups:
        if STATE_KEY in group:
            # Distributed checkpoints omit what is empty.
            tensors = {"raw": {}, "snapshots": {}, **group[STATE_KEY]}
            facts = _facts(tensors.pop("facts"))
            if facts.pop("n_tensors", None) != [len(tensors[name]) for name in TENSORS]:
                raise MissingAverageError(
                    "The average was loaded in part, because it had fewer tensors than its "
                    "checkpoint. Load the whole state of the optimizer, for example with "
                    "full_state_dict=True.",
                    n_tensors={name: len(tensors[name]) for name in TENSORS},
                )
            snapshots = [tensors["snapshots"][str(i)] for i in range(len(tensors["snapshots"]))]
            return {**facts, **tensors, "snapshots": snapshots}
    return None


def _facts(encoded: torch.Tensor) -> dict[str, Any]:
    try:
        return dict(parse_json(bytes(encoded.tolist())))
    except (DecodingError, TypeError, ValueError) as error:
        raise MissingAverageError(
            "The average in the checkpoint is damaged: {problem}. Load another checkpoint.",
            problem=first_line(error),
        ) from error


def drop_average(groups: Groups) -> None:
    """Remove the average from parameter groups."""
    for group in groups:
        group.pop(STATE_KEY, None)


def counted_steps(optimizer: Optimizer) -> int:
    """Return the steps that an optimizer has counted; 1 if it has state and counts none."""
    # Adagrad has state before its first step, with a count of 0.
    states = [s for s in optimizer.state.values() if isinstance(s, Mapping) and s]
    return max((int(s.get("step", 1)) for s in states), default=0)


def average_to_resume(optimizer: Optimizer, *, start_late: bool) -> dict[str, Any] | None:
    """Return the average that an optimizer has loaded; None if a new average starts.

    An optimizer that has taken steps without its average is refused, unless it may start late.
    """
    saved, n_steps = saved_average(optimizer.param_groups), counted_steps(optimizer)
    if saved is not None and saved["optimizer_steps"] == n_steps:
        return saved
    if start_late or (saved is None and n_steps == 0):
        return None
    if saved is None:
        raise MissingAverageError(
            "The optimizer has taken steps, but its state has no average. Load a state that was "
            "saved with the average (before dcp.load, build the average), or pass start_late=True "
            "to start a new one.",
            optimizer_steps=n_steps,
        )
    raise MissingAverageError(
        "The optimizer has loaded an average at step {saved_steps} and is at step "
        "{optimizer_steps}. Build the average before training goes on, or pass start_late=True "
        "to start a new one.",
        saved_steps=saved["optimizer_steps"],
        optimizer_steps=n_steps,
    )
