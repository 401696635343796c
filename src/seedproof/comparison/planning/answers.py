"""Questions of a plan and their answers, as plain data."""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from seedproof.comparison.planning.pilot import Pilot
from seedproof.errors import OptionError
from seedproof.stats.power import (
    FlipTest,
    MeanTest,
    PlannedTest,
    SpreadTest,
    detectable,
    observed_needed,
    seeds_for,
)

Kind: TypeAlias = Literal["mean", "sd", "flip_rate"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How many seeds an arm one effect needs.

    Args:
        kind: What differs: a `mean`, a standard deviation (`sd`), or a `flip_rate`.
        effect: By how much: a difference of means, or a ratio.
        n_seeds: The fewest that suffice; None if no number does with the pilot's examples.
        low: The same if runs differ as little as the pilot's interval allows; None without one.
        high: If they differ as much; None without an interval, or beyond a million.
        n_examples: More than so many examples it takes, where no number of seeds suffices.
        example_correlation: Or arms whose flips correlate so much over examples.
    """

    kind: Kind
    effect: float
    n_seeds: int | None
    low: int | None = None
    high: int | None = None
    n_examples: int | None = None
    example_correlation: float | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What so many seeds an arm can show.

    Args:
        kind: What differs.
        n_seeds: Seeds an arm.
        given: The standard deviation or the cv that it holds for; None for a mean in units of the
            standard deviation, and for a ratio of standard deviations.
        observed: What a study must observe to call it a difference.
        detectable: What must be true, for the plan's power.
    """

    kind: Kind
    n_seeds: int
    given: float | None
    observed: float
    detectable: float


@dataclass(frozen=True, slots=True)
class Ask:
    """How sure an answer is to be.

    Args:
        power: Probability with which a true effect is to be shown.
        confidence: That of the interval which then excludes that nothing changes.
        example_correlation: That of the two arms' flips over examples.
    """

    power: float
    confidence: float
    example_correlation: float = 0.0

    def answer(self, test: PlannedTest, effect: float, pilot: Pilot | None = None) -> Answer:
        """How many seeds an effect needs."""
        n_seeds = seeds_for(test, effect, power=self.power, confidence=self.confidence)
        if n_seeds is None and isinstance(test, FlipTest) and pilot is not None:
            return self._too_few_examples(test, effect, pilot)
        found = Answer(kind_of(test), effect, n_seeds)
        if pilot is None:
            return found
        low, high = (self._seeds(one, effect) for one in _at_the_ends(test, pilot))
        return replace(found, low=low, high=high)

    def reach(self, test: PlannedTest, n_seeds: int, given: float | None) -> Reach:
        """What a number of seeds can show."""
        return Reach(
            kind_of(test),
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
        except OptionError:  # more than anybody makes
            return None

    def _too_few_examples(self, test: FlipTest, effect: float, pilot: Pilot) -> Answer:
        factor = test.examples_factor(effect, power=self.power, confidence=self.confidence)
        alike = 1 - (1 - self.example_correlation) / factor
        return Answer(
            "flip_rate",
            effect,
            None,
            n_examples=math.ceil(pilot.n_examples * factor),
            example_correlation=math.ceil(100 * alike) / 100,
        )


def kind_of(test: PlannedTest) -> Kind:
    """What a test compares."""
    if isinstance(test, MeanTest):
        return "mean"
    return "sd" if isinstance(test, SpreadTest) else "flip_rate"


def _at_the_ends(test: PlannedTest, pilot: Pilot) -> tuple[PlannedTest | None, PlannedTest | None]:
    """The test if runs differ as little, and as much, as the pilot's interval allows."""
    if isinstance(test, MeanTest) and pilot.sd and pilot.sd.low and pilot.sd.high:
        return replace(test, sd=pilot.sd.low), replace(test, sd=pilot.sd.high)
    if isinstance(test, FlipTest) and pilot.cv and pilot.cv.low and pilot.cv.high:
        return replace(test, cv=pilot.cv.low), replace(test, cv=pilot.cv.high)
    return None, None
