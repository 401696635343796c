"""The runs that the verdicts of a comparison rest on: all of them, or those of a planned look."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seedproof.stats.intervals import PLAIN, Level
from seedproof.stats.looks import AT_LOOK, AT_TRIAL_LOOK, first_look, look_at


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Number of runs per arm: of the arm that has fewest, unless a look takes the first ones."""

    n_runs: int  # compared
    n_available: int
    declared: int | None = None  # number of runs per arm that was declared beforehand
    is_sequential: bool = False  # judged at planned looks, at most `n_runs` of each arm
    next_look: int | None = None
    are_trials: bool = False  # of one model: all are compared, and more may be added at any time

    @property
    def level(self) -> Level:
        """The level of each interval, before several of them are judged together."""
        if not self.is_sequential or self.n_runs == self.declared:
            return PLAIN
        return AT_TRIAL_LOOK if self.are_trials else AT_LOOK

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        facts = asdict(self)
        return facts if facts.pop("are_trials") is False else {**facts, "are_trials": True}


def runs_to_compare(
    n_runs: Sequence[int],
    declared: int | None = None,
    *,
    is_sequential: bool = False,
    are_trials: bool = False,
) -> ComparedRuns:
    """Return the runs to compare, from the number of runs of each arm.

    All of them, unless runs are added until a difference shows, or were added to a declared number.
    Trials that are added are all compared, with an interval for a look after each of them.
    """
    available = min(n_runs)
    if are_trials:
        grew = declared is not None and available > declared
        return ComparedRuns(
            available, available, declared, is_sequential=is_sequential or grew, are_trials=True
        )
    if not is_sequential and (declared is None or available <= declared):
        return ComparedRuns(available, available, declared)
    look = look_at(available, declared)
    if look is None:
        following = first_look(declared)
        return ComparedRuns(available, available, declared, is_sequential=True, next_look=following)
    return ComparedRuns(
        look.n_runs, available, declared, is_sequential=True, next_look=look.following
    )
