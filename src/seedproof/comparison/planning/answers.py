"""Questions of a plan and their answers."""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from seedproof.comparison.planning.pilot import Pilot
from seedproof.errors import OptionError
from seedproof.stats.power import (
    FlipTest,
    MeanTest,
    PlannedTest,
    detectable,
    observed_needed,
    seeds_for,
)

Kind: TypeAlias = Literal["mean", "sd", "flip_rate"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Seeds per arm that one effect needs."""

    kind: Kind  # what differs: a `mean`, a standard deviation (`sd`), or a `flip_rate`
    effect: float  # a difference of means, or a ratio
    n_seeds: int | None  # the fewest; None if no number suffices with the pilot's examples
    low: int | None = None  # if runs differ as little as the pilot's interval allows
    high: int | None = None  # if they differ as much; None beyond a million
    # If no number of seeds suffices: examples needed, or the correlation of flips over examples.
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


@dataclass(frozen=True, slots=True)
class Ask:
    """Power and confidence of a plan, and the correlation of the arms' flips over examples."""

    power: float
    confidence: float
    example_correlation: float = 0.0

    def answer(self, test: PlannedTest, effect: float, pilot: Pilot | None = None) -> Answer:
        """Return the seeds that an effect needs."""
        n_seeds = seeds_for(test, effect, power=self.power, confidence=self.confidence)
        if n_seeds is None and isinstance(test, FlipTest) and pilot is not None:
            return self._too_few_examples(test, effect, pilot)
        ends = (None, None) if pilot is None else _at_the_ends(test, pilot)
        low, high = (self._seeds(end, effect) for end in ends)
        return Answer(test.kind, effect, n_seeds, low, high)

    def reach(self, test: PlannedTest, n_seeds: int, given: float | None) -> Reach:
        """Return the effects that a number of seeds can show."""
        return Reach(
            test.kind,
            n_seeds,
            given,
            observed_needed(test, n_seeds, confidence=self.confidence),
            detectable(test, n_seeds, power=self.power, confidence=self.confidence),
        )

    def _seeds(self, test: PlannedTest | None, effect: float) -> int | None:
        if test is None:
            return None
        try:
            return seeds_for(test, effect, power=self.power, confidence=self.confidence)
        except OptionError:  # more than the limit
            return None

    def _too_few_examples(self, test: FlipTest, effect: float, pilot: Pilot) -> Answer:
        factor = test.examples_factor(effect, power=self.power, confidence=self.confidence)
        correlation = 1 - (1 - self.example_correlation) / factor
        return Answer(
            "flip_rate",
            effect,
            None,
            n_examples=math.ceil(pilot.n_examples * factor),
            example_correlation=math.ceil(100 * correlation) / 100,
        )


def _at_the_ends(test: PlannedTest, pilot: Pilot) -> tuple[PlannedTest | None, PlannedTest | None]:
    """Return the test if runs differ as little, and as much, as the pilot's interval allows."""
    if isinstance(test, MeanTest) and pilot.sd and pilot.sd.low and pilot.sd.high:
        return replace(test, sd=pilot.sd.low), replace(test, sd=pilot.sd.high)
    if isinstance(test, FlipTest) and pilot.cv and pilot.cv.low and pilot.cv.high:
        return replace(test, cv=pilot.cv.low), replace(test, cv=pilot.cv.high)
    return None, None
