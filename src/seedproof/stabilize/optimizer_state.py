"""The average in the state of its optimizer.

It is an entry of a parameter group. `load_state_dict` keeps such entries, so the average can be
built before or after. Entries at the top level and casts of entries per parameter would be lost.
"""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from torch.optim import Optimizer

from seedproof.errors import MissingAverageError

STATE_KEY = "seedproof_average"

Groups = Iterable[MutableMapping[str, Any]]


def saved_average(groups: Groups) -> dict[str, Any] | None:
    """Return the average in the parameter groups of an optimizer or of its state."""
    return next((group[STATE_KEY] for group in groups if STATE_KEY in group), None)


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
            "saved with the average, or pass start_late=True to start a new average.",
            optimizer_steps=n_steps,
        )
    raise MissingAverageError(
        "The optimizer has loaded an average at step {saved_steps} and is at step "
        "{optimizer_steps}. Build the average before training goes on, or pass start_late=True "
        "to start a new average.",
        saved_steps=saved["optimizer_steps"],
        optimizer_steps=n_steps,
    )
