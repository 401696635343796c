"""Effects of arms on explanations: one pass over each method that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from seedproof.errors import DamagedStoreError, InputError, SeedproofError
from seedproof.measurement.explanations.measure import (
    ExplanationAccumulator,
    measure_explanations,
    measure_part,
)
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message
from seedproof.records.explanation_shards import (
    ExplanationShards,
    explanations_of,
    left_out,
)
from seedproof.records.shards import ShardSource
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.effect import Effect


@dataclass(eq=False)
class ArmExplanations:
    """The explanations of one arm: its predictions, and results by method."""

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
    """Compare every arm with the first, in every method by which both were explained."""
    methods: list[dict[str, ExplanationShards]] = []
    notes: list[Message] = []
    for arm in arms:
        readable, further_notes = explanations_of(arm.source, skip_damaged=skip_damaged)
        methods.append(readable)
        notes += further_notes
    refused: tuple[type[SeedproofError], ...] = (InputError,)
    if skip_damaged:
        refused += (DamagedStoreError,)
    for method in sorted({name for readable in methods for name in readable}):
        explained = [
            (arm, readable[method])
            for arm, readable in zip(arms, methods, strict=True)
            if method in readable
        ]
        try:
            if method in methods[0]:
                _compare(explained, notes, tail=tail)
            else:
                _measure(explained)
        except refused as error:
            notes.append(left_out(method, error, explained[0][0].source))
        notes += _notes(method, [arm for arm in arms if method in arm.measured])
    return tuple(dict.fromkeys(notes))


def _notes(method: str, arms: Sequence[ArmExplanations]) -> list[Message]:
    """Notes on how explanations were read, each with the arms that it applies to."""
    names_of: dict[Message, list[str]] = {}
    for arm in arms:
        for note in arm.measured[method].notes:
            names_of.setdefault(note, []).append(arm.name)
    return [
        Message(
            "explanations-of-arms",
            "Explanations by {method!r}{where}: {note}",
            method=method,
            where="" if len(names) == len(arms) else f" with {', '.join(names)}",
            note=note,
            arms=tuple(names),
        )
        for note, names in names_of.items()
    ]


def _measure(explained: Sequence[Explained]) -> None:
    for arm, source in explained:
        arm.measured[source.method] = measure_explanations(source, predictions=arm.source)


def _comparable(explained: Sequence[Explained], notes: list[Message]) -> list[Explained]:
    """Return the arms that explain the baseline's examples, in equal draws; note the others."""
    first = explained[0][1]
    if not all(first.is_alike(source) for _, source in explained):
        explained = [(arm, source.of_first_draws()) for arm, source in explained]
        first = explained[0][1]
    comparable = [explained[0]]
    for arm, source in explained[1:]:
        try:
            first.check_alike(source)
        except InputError as error:
            notes.append(left_out(first.method, error, arm.source))
        else:
            comparable.append((arm, source))
    return comparable


def _compare(explained: Sequence[Explained], notes: list[Message], *, tail: float) -> None:
    """Measure one method in all arms that have it like the baseline, and compare them."""
    draws = {arm.name: source for arm, source in explained}
    (base, first), *others = _comparable(explained, notes)
    method = first.method
    base_sums = ExplanationAccumulator(first, base.source)
    sums = [ExplanationAccumulator(source, arm.source) for arm, source in others]
    shared: list[dict[str, Cross]] = [{} for _ in others]
    for index in range(first.n_shards):
        part, base_values = measure_part(first.shard(index), len(first.runs))
        base_sums.add(index, part)
        for (arm, source), arm_sums, so_far in zip(others, sums, shared, strict=True):
            part, values = measure_part(source.shard(index), len(source.runs))
            arm_sums.add(index, part)
            add_crosses(so_far, crosses(base_values, values, is_paired=arm.is_paired))
    for (arm, source), arm_sums in zip([(base, first), *others], [base_sums, *sums], strict=True):
        if source is draws[arm.name]:
            arm.measured[method] = arm_sums.result()
        else:  # first draws alone do not show the explainer's own noise
            _measure([(arm, draws[arm.name])])
    base_statistics = base_sums.statistics()
    for (arm, _), arm_sums, so_far in zip(others, sums, shared, strict=True):
        statistics = arm_sums.statistics()
        arm.effects[method] = {
            name: compared(
                name,
                base_statistics[name],
                statistics[name],
                cross=so_far[name],
                is_paired=arm.is_paired,
                tail=tail,
            )
            for name in base_statistics
        }
