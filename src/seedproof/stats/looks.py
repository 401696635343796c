"""Planned looks: verdicts that stay valid when runs are added until they decide.

A study is judged at fixed numbers of runs, each time on its first runs in the order of the plan,
with an interval that is wide enough for all looks together. A verdict then depends on the runs
alone, not on how often they were looked at, and nothing needs to be remembered.
"""

from dataclasses import dataclass

from seedproof.stats.intervals import PLAIN, Level

# Numbers of runs at which a growing study is judged.
LOOKS = (5, 10, 20, 40, 80)
# Share outside on each side at every look: 2.5 % divided by their number. Looks share their runs,
# so 0.0063 would do for normal values; flip rates of few runs need the difference.
LOOK_TAIL = 0.005
AT_LOOK = Level(tail=LOOK_TAIL, is_of_pairs=True)
# Trials of one model are judged with all of them, however many, after each of up to so many. Their
# noise is drawn again at each look (2.67 standard errors alone: Pocock 1977, Biometrika 64:191),
# and examples once. Both tails are smaller than either part needs alone: their sum may leave the
# interval at the first looks by the noise, and at the last ones by the examples.
MOST_TRIAL_LOOKS = 20
AT_TRIAL_LOOK = Level(tail=0.0025, example_tail=0.015)


@dataclass(frozen=True, slots=True)
class Look:
    """The runs that a verdict rests on, and the level of its interval."""

    n_runs: int  # the first of the study, in the order of the plan
    level: Level
    following: int | None  # number of runs at the next look; None if this was the last
    declared: int | None = None  # number of runs that was declared beforehand

    @property
    def is_declared(self) -> bool:
        """True if the number of runs was declared beforehand, so that the plain interval holds."""
        return self.n_runs == self.declared


def look_at(n_runs: int, declared: int | None = None) -> Look | None:
    """Return the latest look that a number of runs allows; None before the first.

    A declared number of runs replaces the looks up to it: the plain interval applies there, and
    the looks that follow keep their share of the error.
    """
    planned = planned_looks(declared)
    reached = [n for n in planned if n <= n_runs]
    following = next((n for n in planned if n > n_runs), None)
    if not reached:
        return None
    level = PLAIN if reached[-1] == declared else AT_LOOK
    return Look(reached[-1], level, following, declared if declared in planned[:1] else None)


def planned_looks(declared: int | None = None) -> tuple[int, ...]:
    """Return the numbers of runs at all looks, the declared one first."""
    if declared is None or declared < LOOKS[0]:  # too few for a verdict: nothing was spent on it
        return LOOKS
    return (declared, *(n for n in LOOKS if n > declared))


def first_look(declared: int | None = None) -> int:
    """Return the number of runs at the first look."""
    return planned_looks(declared)[0]
