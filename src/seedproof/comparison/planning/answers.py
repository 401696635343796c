"""Questions of a plan and their answers."""

import math
from dataclasses import dataclass, replace

from seedproof.comparison.planning.pilot import Drawn, Kind, Pilot
from seedproof.errors import OptionError
from seedproof.stats.power import (
    FlipTest,
    MeanTest,
    PlannedTest,
    Promise,
    TrialTest,
    detectable,
    examples_factor,
    observed_needed,
    seeds_for,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Seeds per arm that one effect needs."""

    kind: Kind  # what differs: a `mean`, a standard deviation (`sd`), or a `flip_rate`
    effect: float  # a difference of means, or a ratio
    n_seeds: int | None  # the fewest; None if no number suffices with these examples
    low: int | None = None  # if runs differ as little as the pilot's interval allows
    high: int | None = None  # if they differ as much; None beyond a million
    # If no number of seeds suffices: examples needed, or the correlation of arms over examples.
    # With trials of one model: examples needed with as many trials of each as the pilot has.
    n_examples: int | None = None
    example_correlation: float | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """Effects that a number of seeds per arm can show."""

    kind: Kind
    n_seeds: int
    # Standard deviation or cv; None for a mean in units of the sd, and for a ratio of sds.
    given: float | None
    observed: float  # the smallest observed effect that counts as a difference
    detectable: float  # the smallest true effect that is shown with the plan's power


def answer(
    test: PlannedTest,
    effect: float,
    promise: Promise,
    *,
    pilot: Pilot | None = None,
    drawn: Drawn | None = None,
) -> Answer:
    """Return the seeds that an effect needs."""
    n_seeds = seeds_for(test, effect, promise)
    if n_seeds is None and isinstance(test, MeanTest | FlipTest) and drawn is not None:
        factor = examples_factor(test, effect, promise)
        correlation = 1 - (1 - drawn.correlation) / factor
        return Answer(
            test.kind,
            effect,
            None,
            n_examples=math.ceil(drawn.n_examples * factor),
            example_correlation=math.ceil(1000 * correlation) / 1000,
        )
    ends = (None, None) if pilot is None else _at_the_ends(test, pilot)
    low, high = (_seeds(end, effect, promise) for end in ends)
    n_examples = None
    if isinstance(test, TrialTest) and pilot is not None and drawn is not None:
        factor = test.examples_factor_at(pilot.n_runs, effect, promise)
        n_examples = math.ceil(drawn.n_examples * factor)
    return Answer(test.kind, effect, n_seeds, low, high, n_examples)


def reach(test: PlannedTest, n_seeds: int, given: float | None, promise: Promise) -> Reach:
    """Return the effects that a number of seeds can show."""
    return Reach(
        test.kind,
        n_seeds,
        given,
        observed_needed(test, n_seeds, promise),
        detectable(test, n_seeds, promise),
    )


def _seeds(test: PlannedTest | None, effect: float, promise: Promise) -> int | None:
    if test is None:
        return None
    try:
        return seeds_for(test, effect, promise)
    except OptionError:  # more than the limit
        return None


def _at_the_ends(test: PlannedTest, pilot: Pilot) -> tuple[PlannedTest | None, PlannedTest | None]:
    """Return the test if runs differ as little, and as much, as the pilot's interval allows."""
    if isinstance(test, MeanTest) and pilot.sd and pilot.sd.low and pilot.sd.high:
        return replace(test, sd=pilot.sd.low), replace(test, sd=pilot.sd.high)
    if isinstance(test, FlipTest) and pilot.cv and pilot.cv.low and pilot.cv.high:
        return replace(test, cv=pilot.cv.low), replace(test, cv=pilot.cv.high)
    return None, None
