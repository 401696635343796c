"""All arms against the control: each is read once, and compared by itself and among all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seedproof.comparison.aligned import Aligned
from seedproof.comparison.arms.compare import CompareShard, Side
from seedproof.comparison.arms.result import HighEntropy
from seedproof.comparison.effect import Effect, each_tail
from seedproof.measurement.intervals import Estimate, estimate
from seedproof.metrics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class Figures:
    """What one arm predicts, and what it changes.

    Args:
        metrics: Value and interval of each metric.
        effects: Against the first arm, as if no other was compared; empty for the first.
        of_all: The same among all arms: intervals of all of them hold together.
        high_entropy: What it does to the least stable examples; None for the first.
    """

    metrics: Mapping[str, Estimate]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    of_all: Mapping[str, Effect] = field(default_factory=dict)
    high_entropy: HighEntropy | None = None


def compare_once(sides: Sequence[Side]) -> dict[str, Figures]:
    """What `compare_sides` says of each arm beside the first alone, and of all arms together.

    Args:
        sides: At least one arm.

    Returns:
        Figures and effects, by the arms' names.
    """
    sources = tuple(side.source for side in sides)
    aligned = Aligned(tuple(side.name for side in sides), sources)
    paired = tuple(side.is_paired_with(sides[0]) for side in sides[1:])
    partners = tuple(side.partners_in(sides[0]) for side in sides[1:])
    task = CompareShard(aligned, paired, partners)
    whole = task.empty()
    for index in range(aligned.n_shards):
        whole.merge(task(index))
    results = [tally.result() for tally in whole.tallies]
    figures = {sides[0].name: Figures(_estimates(results[0]))}
    for side, result, beside in zip(sides[1:], results[1:], whole.besides, strict=True):
        alone, of_all = (
            beside.effects(results[0], result, tail=each_tail(n)) for n in (1, len(sides) - 1)
        )
        high = beside.least_sure.result()
        figures[side.name] = Figures(_estimates(result), alone, of_all, high)
    return figures


def _estimates(result: Mapping[str, Statistic]) -> dict[str, Estimate]:
    return {name: estimate(statistic) for name, statistic in result.items()}
