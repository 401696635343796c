"""Questions of a plan and their answers."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

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
    low: int | None = None  # if runs and examples vary as little as the pilot's intervals allow
    high: int | None = None  # if as much; None if no number suffices, or none up to a million
    # If no number of seeds suffices: examples needed, or the correlation of arms over examples.
    # With trials of one model: examples needed with as many trials of each as the pilot has.
    n_examples: int | None = None
    example_correlation: float | None = None
    # The same if examples vary as little, and as much, as the pilot's intervals allow.
    n_examples_low: int | None = None
    n_examples_high: int | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """Effects that a number of seeds per arm can show."""

    kind: Kind
    n_seeds: int
    # Standard deviation or cv; None for a mean in units of the sd, and for a ratio of sds.
    given: float | None
    observed: float  # the smallest observed effect that counts as a difference
    detectable: float  # the smallest true effect that is shown with the plan's power
    low: float | None = None  # the same if runs and examples vary as little as the pilot allows
    high: float | None = None  # if they vary as much


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
    ends = at_the_ends(test, pilot, drawn)
    low, high = (_seeds(end, effect, promise) for end in ends)
    if n_seeds is None and isinstance(test, MeanTest | FlipTest) and drawn is not None:
        factor = examples_factor(test, effect, promise)
        correlation = 1 - (1 - drawn.correlation) / factor
        return Answer(
            test.kind,
            effect,
            None,
            low,
            n_examples=math.ceil(drawn.n_examples * factor),
            example_correlation=math.ceil(1000 * correlation) / 1000,
            **_examples(ends, drawn, lambda end: examples_factor(end, effect, promise)),
        )
    if not isinstance(test, TrialTest) or pilot is None or drawn is None:
        return Answer(test.kind, effect, n_seeds, low, high)
    n_runs = pilot.n_runs
    factor = test.examples_factor_at(n_runs, effect, promise)
    of_ends = _examples(
        ends,
        drawn,
        lambda end: cast("TrialTest", end).examples_factor_at(n_runs, effect, promise),
    )
    n_examples = math.ceil(drawn.n_examples * factor)
    return Answer(test.kind, effect, n_seeds, low, high, n_examples, **of_ends)


def _examples(
    ends: tuple[PlannedTest | None, PlannedTest | None],
    drawn: Drawn,
    factor: Callable[[MeanTest | FlipTest], float],
) -> dict[str, int]:
    """Return the examples that are needed at both ends of the range that the pilot allows."""
    names = ("n_examples_low", "n_examples_high")
    return {
        name: math.ceil(drawn.n_examples * factor(end))
        for name, end in zip(names, ends, strict=True)
        if isinstance(end, MeanTest | FlipTest)
    }


def reach(
    test: PlannedTest,
    n_seeds: int,
    given: float | None,
    promise: Promise,
    *,
    pilot: Pilot | None = None,
    drawn: Drawn | None = None,
) -> Reach:
    """Return the effects that a number of seeds can show."""
    low, high = (
        None if end is None else detectable(end, n_seeds, promise)
        for end in at_the_ends(test, pilot, drawn)
    )
    return Reach(
        test.kind,
        n_seeds,
        given,
        observed_needed(test, n_seeds, promise),
        detectable(test, n_seeds, promise),
        low,
        high,
    )


def _seeds(test: PlannedTest | None, effect: float, promise: Promise) -> int | None:
    if test is None:
        return None
    try:
        return seeds_for(test, effect, promise)
    except OptionError:  # more than the limit
        return None


def at_the_ends(
    test: PlannedTest, pilot: Pilot | None, drawn: Drawn | None
) -> tuple[PlannedTest | None, PlannedTest | None]:
    """Return the test if runs and examples vary as little, and as much, as the pilot allows.

    None if the pilot has too few runs to show how much they vary.
    """
    if pilot is None or not isinstance(test, MeanTest | FlipTest):
        return None, None
    spread = pilot.sd if isinstance(test, MeanTest) else pilot.cv
    if spread is None or not spread.low or not spread.high:
        return None, None
    ends = None if drawn is None else drawn.contrast_ends
    low, high = (test.example_variance,) * 2 if ends is None else ends
    if isinstance(test, MeanTest):
        return (
            replace(test, sd=spread.low, example_variance=low),
            replace(test, sd=spread.high, example_variance=high),
        )
    return (
        replace(test, cv=spread.low, example_variance=low),
        replace(test, cv=spread.high, example_variance=high),
    )
