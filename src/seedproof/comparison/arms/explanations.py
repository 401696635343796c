"""Effects of arms on explanations, in one pass per explanation method."""

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
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.families import MetricContrast


@dataclass(eq=False)
class ArmExplanations:
    """An arm with its predictions (`source`) and the results of its explanations by method.

    `compare_explanations` fills in the results, `measured` and `contrasts`.
    """

    name: str
    source: ShardSource
    is_paired: bool = False
    measured: dict[str, ExplanationMeasurement] = field(default_factory=dict)
    contrasts: dict[str, Mapping[str, MetricContrast]] = field(default_factory=dict)


# An arm, and its explanations by a single method.
ExplainedArm: TypeAlias = tuple[ArmExplanations, ExplanationShards]


def compare_explanations(
    arms: Sequence[ArmExplanations], *, skip_damaged: bool = False
) -> tuple[Message, ...]:
    """Compare every arm with the first, for each explanation method that both have.

    A method that the first arm does not have is measured, but not compared. The results are stored
    in the arms.

    Args:
        arms: The arms, the baseline first.
        skip_damaged: Skip damaged explanations instead of raising an error.

    Returns:
        Notes on what was skipped and on how explanations were read.
    """
    shards_by_arm: list[dict[str, ExplanationShards]] = []
    notes: list[Message] = []
    for arm in arms:
        shards_by_method, arm_notes = explanations_of(arm.source, skip_damaged=skip_damaged)
        shards_by_arm.append(shards_by_method)
        notes += arm_notes
    skipped_errors: tuple[type[SeedproofError], ...] = (InputError,)
    if skip_damaged:
        skipped_errors += (DamagedStoreError,)
    for method in sorted({name for shards_by_method in shards_by_arm for name in shards_by_method}):
        explained = [
            (arm, shards_by_method[method])
            for arm, shards_by_method in zip(arms, shards_by_arm, strict=True)
            if method in shards_by_method
        ]
        try:
            if method in shards_by_arm[0]:
                _compare(explained, notes)
            else:
                _measure(explained)
        except skipped_errors as error:
            notes.append(left_out(method, error, explained[0][0].source))
        notes += _notes(method, [arm for arm in arms if method in arm.measured])
    return tuple(dict.fromkeys(notes))


def _notes(method: str, arms: Sequence[ArmExplanations]) -> list[Message]:
    """Return notes on how explanations were read, each with the arms that it applies to."""
    arms_by_note: dict[Message, list[str]] = {}
    for arm in arms:
        for note in arm.measured[method].notes:
            arms_by_note.setdefault(note, []).append(arm.name)
    return [
        Message(
            "explanations-of-arms",
            "Explanations by {method!r}{where}: {note}",
            method=method,
            where="" if len(names) == len(arms) else f" with {', '.join(names)}",
            note=note,
            arms=tuple(names),
        )
        for note, names in arms_by_note.items()
    ]


def _measure(explained: Sequence[ExplainedArm]) -> None:
    """Store the measured explanations in each arm, without a comparison."""
    for arm, source in explained:
        arm.measured[source.method] = measure_explanations(source, predictions=arm.source)


def _comparable(explained: Sequence[ExplainedArm], notes: list[Message]) -> list[ExplainedArm]:
    """Return the arms that explain the same examples as the baseline; add a note for each other.

    If the numbers of draws differ, all arms are compared by their first draws.
    """
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


def _compare(explained: Sequence[ExplainedArm], notes: list[Message]) -> None:
    """Measure a method in all arms that can be compared with the baseline, and compare them."""
    all_draws = {arm.name: source for arm, source in explained}
    (base, first), *others = _comparable(explained, notes)
    method = first.method
    base_sums = ExplanationAccumulator(first, base.source)
    sums = [ExplanationAccumulator(source, arm.source) for arm, source in others]
    crosses_by_arm: list[dict[str, Cross]] = [{} for _ in others]
    for index in range(first.n_shards):
        part, base_values = measure_part(first.shard(index), len(first.runs))
        base_sums.add(index, part)
        for (arm, source), arm_sums, arm_crosses in zip(others, sums, crosses_by_arm, strict=True):
            part, values = measure_part(source.shard(index), len(source.runs))
            arm_sums.add(index, part)
            add_crosses(arm_crosses, crosses(base_values, values, is_paired=arm.is_paired))
    for (arm, source), arm_sums in zip([(base, first), *others], [base_sums, *sums], strict=True):
        if source is all_draws[arm.name]:
            arm.measured[method] = arm_sums.result()
        else:  # only all draws together show the explainer's own noise
            _measure([(arm, all_draws[arm.name])])
    base_statistics = base_sums.statistics()
    for (arm, source), arm_sums, arm_crosses in zip(others, sums, crosses_by_arm, strict=True):
        statistics = arm_sums.statistics()
        arm.contrasts[method] = {
            name: MetricContrast(
                name,
                (base.name, arm.name),
                base_statistics[name],
                statistics[name],
                arm.is_paired,
                (len(first.runs), len(source.runs)),
                arm_crosses[name],
            )
            for name in base_statistics
        }
