"""What arms change in the reasons that runs give: one pass over each method that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seedproof.comparison.contrast import compared
from seedproof.comparison.cross import Cross, add_crosses, crosses
from seedproof.comparison.effect import Effect
from seedproof.errors import InputError
from seedproof.measurement.explanations.measure import (
    ExplanationTally,
    measure_explanations,
    measure_part,
)
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.records.explanation_shards import (
    ExplanationShards,
    explanations_beside,
    left_out,
)
from seedproof.records.reader import StoreShards
from seedproof.records.shards import ShardSource


@dataclass(eq=False)
class Reasons:
    """The reasons of one arm.

    Args:
        source: What its runs predicted.
        is_paired: Whether they share their seeds with the baseline's.
    """

    source: ShardSource
    is_paired: bool = False
    measured: dict[str, ExplanationMeasurement] = field(default_factory=dict)
    effects: dict[str, Mapping[str, Effect]] = field(default_factory=dict)


def compare_explanations(
    sources: Sequence[ShardSource], paired: Sequence[bool], *, tail: float
) -> tuple[list[Reasons], tuple[str, ...]]:
    """Every arm against the first, in every method by which both were explained.

    Args:
        sources: What the runs of each arm predicted; only stores have explanations.
        paired: For each arm but the first, whether its runs share their seeds with the first's.
        tail: What an interval leaves out on each side.

    Returns:
        The reasons of each arm, and what had to be left out.
    """
    arms = [Reasons(*one) for one in zip(sources, (False, *paired), strict=True)]
    found: list[dict[str, ExplanationShards]] = []
    notes: list[str] = []
    for source in sources:
        methods, left = explanations_beside(source) if isinstance(source, StoreShards) else ({}, ())
        found.append(methods)
        notes += left
    for method in sorted({name for methods in found for name in methods}):
        explained = [
            (arm, methods[method])
            for arm, methods in zip(arms, found, strict=True)
            if method in methods
        ]
        is_compared = method in found[0]
        if is_compared:
            explained = _alike(explained, notes)
        try:
            _compare(explained, is_compared=is_compared, tail=tail)
        except InputError as error:
            notes.append(left_out(method, error))
    return arms, tuple(dict.fromkeys(notes))


def _alike(
    explained: Sequence[tuple[Reasons, ExplanationShards]], notes: list[str]
) -> list[tuple[Reasons, ExplanationShards]]:
    """The arms that explain the baseline's examples; the others are told of."""
    first = explained[0][1]
    found = [explained[0]]
    for arm, source in explained[1:]:
        try:
            first.check_alike(source)
        except InputError as error:
            notes.append(left_out(source.method, error))
        else:
            found.append((arm, source))
    return found


def _compare(
    explained: Sequence[tuple[Reasons, ExplanationShards]], *, is_compared: bool, tail: float
) -> None:
    """Measure one method in all arms that have it, and compare them if the baseline is one."""
    method = explained[0][1].method
    if not is_compared:
        for arm, source in explained:
            arm.measured[method] = measure_explanations(source, predictions=arm.source)
        return
    first = explained[0][1]
    tallies = [ExplanationTally(source, arm.source) for arm, source in explained]
    shared: list[dict[str, Cross]] = [{} for _ in explained]
    for index in range(first.n_shards):
        part, base = measure_part(first.shard(index), len(first.runs))
        tallies[0].add(index, part)
        for (arm, source), tally, so_far in zip(
            explained[1:], tallies[1:], shared[1:], strict=True
        ):
            part, values = measure_part(source.shard(index), len(source.runs))
            tally.add(index, part)
            add_crosses(so_far, crosses(base, values, is_paired=arm.is_paired))
    for (arm, _), tally in zip(explained, tallies, strict=True):
        arm.measured[method] = tally.result()
    statistics = tallies[0].statistics()
    for (arm, _), tally, so_far in zip(explained[1:], tallies[1:], shared[1:], strict=True):
        of_arm = tally.statistics()
        arm.effects[method] = {
            name: compared(
                name,
                statistics[name],
                of_arm[name],
                cross=so_far[name],
                is_paired=arm.is_paired,
                tail=tail,
            )
            for name in statistics
        }
