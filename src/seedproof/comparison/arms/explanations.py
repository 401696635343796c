"""What arms change in the reasons that runs give: one pass over each method that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from seedproof.errors import DamagedStoreError, InputError, SeedproofError
from seedproof.measurement.explanations.measure import (
    ExplanationTally,
    measure_explanations,
    measure_part,
)
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message
from seedproof.records.explanation_shards import (
    ExplanationShards,
    explanations_beside,
    left_out,
)
from seedproof.records.shards import ShardSource
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.effect import Effect


@dataclass(eq=False)
class ArmExplanations:
    """The reasons of one arm.

    Args:
        name: Its name.
        source: What its runs predicted.
        is_paired: Whether they share their seeds with the baseline's.
    """

    name: str
    source: ShardSource
    is_paired: bool = False
    measured: dict[str, ExplanationMeasurement] = field(default_factory=dict)
    effects: dict[str, Mapping[str, Effect]] = field(default_factory=dict)


# An arm, and its explanations by one method.
Explained: TypeAlias = tuple[ArmExplanations, ExplanationShards]


def compare_explanations(
    arms: Sequence[ArmExplanations], *, tail: float, skip_damaged: bool = False
) -> tuple[Message, ...]:
    """Every arm against the first, in every method by which both were explained."""
    found: list[dict[str, ExplanationShards]] = []
    notes: list[Message] = []
    for arm in arms:
        methods, left = explanations_beside(arm.source, skip_damaged=skip_damaged)
        notes += left
        found.append(methods)
    refused: tuple[type[SeedproofError], ...] = (InputError,)
    if skip_damaged:
        refused += (DamagedStoreError,)
    for method in sorted({name for methods in found for name in methods}):
        explained = [
            (arm, methods[method])
            for arm, methods in zip(arms, found, strict=True)
            if method in methods
        ]
        try:
            if method in found[0]:
                _compare(explained, notes, tail=tail)
            else:
                _measure(explained)
        except refused as error:
            notes.append(left_out(method, error, explained[0][0].source))
        notes += _notes(method, [arm for arm in arms if method in arm.measured])
    return tuple(dict.fromkeys(notes))


def _notes(method: str, arms: Sequence[ArmExplanations]) -> list[Message]:
    """What is to be said of how explanations were read, each with the arms that it is about."""
    about: dict[Message, list[str]] = {}
    for arm in arms:
        for note in arm.measured[method].notes:
            about.setdefault(note, []).append(arm.name)
    found = []
    for note, names in about.items():
        where = "" if len(names) == len(arms) else f" with {', '.join(names)}"
        found.append(
            Message(
                "explanations-of-arms",
                "Reasons by {method!r}{where}: {note}",
                method=method,
                where=where,
                note=note,
                arms=tuple(names),
            )
        )
    return found


def _measure(explained: Sequence[Explained]) -> None:
    """What each arm has, with nothing to compare it with."""
    for arm, source in explained:
        arm.measured[source.method] = measure_explanations(source, predictions=arm.source)


def _alike(explained: Sequence[Explained], notes: list[Message]) -> list[Explained]:
    """The arms that explain the baseline's examples, in equal draws; the others are told of."""
    first, method = explained[0][1], explained[0][1].method
    if not all(first.is_alike(source) for _, source in explained):
        explained = [(arm, source.of_first_draws()) for arm, source in explained]
        first = explained[0][1]
    found = [explained[0]]
    for arm, source in explained[1:]:
        try:
            first.check_alike(source)
        except InputError as error:
            notes.append(left_out(method, error, arm.source))
        else:
            found.append((arm, source))
    return found


def _compare(explained: Sequence[Explained], notes: list[Message], *, tail: float) -> None:
    """Measure one method in all arms that have it like the baseline, and compare them."""
    draws = {arm.name: source for arm, source in explained}
    explained = _alike(explained, notes)
    first = explained[0][1]
    method = first.method
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
    for (arm, source), tally in zip(explained, tallies, strict=True):
        if source is draws[arm.name]:
            arm.measured[method] = tally.result()
        else:  # first draws alone know nothing of the explainer's own noise
            _measure([(arm, draws[arm.name])])
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
