"""Arms against a baseline: one pass over the examples of all of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.arms.arm_contrast import (
    ArmContrast,
    MeasuredBatch,
    PairSums,
    of_all_examples,
    partners_in,
)
from seedproof.comparison.arms.explanations import ArmExplanations, compare_explanations
from seedproof.comparison.arms.judge import judge_together, primary_metric, without_verdicts
from seedproof.comparison.arms.kinds import answer_kind, direction_of_mean
from seedproof.comparison.arms.levels import (
    comparable_metrics,
    levels_of,
    notes_on_judges,
    notes_on_levels,
    notes_on_unequal,
)
from seedproof.comparison.arms.matched_rates import (
    MatchedShards,
    match_thresholds,
    notes_on_matching,
)
from seedproof.comparison.arms.result import ArmPair, ComparedArm, Comparison
from seedproof.engines import Engine
from seedproof.errors import DamagedStoreError, LabelConflictError, OptionError, SeedproofError
from seedproof.measurement.accumulators import Accumulators
from seedproof.measurement.clusters import (
    NOT_IN_EXPLANATIONS,
    NOT_WEIGHTED,
    ClusterKeys,
    blocks_in,
    cluster_hint,
)
from seedproof.measurement.engines import map_shards
from seedproof.measurement.examples import (
    ExampleRows,
    ExampleTable,
    ExampleWriter,
    HeldExamples,
    StoredExamples,
    examples_of,
    packed,
    write_part,
)
from seedproof.measurement.measure import measured, note_on_left_out
from seedproof.measurement.selection import answers_of, asks_for_explanations, narrowed
from seedproof.messages import Message
from seedproof.metrics.batch import batch_rows
from seedproof.metrics.statistic import Statistic
from seedproof.predictions.checks import Check, by_severity, errors_of, of_arms
from seedproof.predictions.duplicates import identical_arms
from seedproof.records.location import Location
from seedproof.records.reader import as_reason
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.stats.intervals import PLAIN, Level
from seedproof.typing import Progress


@dataclass(frozen=True, eq=False)
class ArmData:
    """One arm of a comparison, as it comes in."""

    name: str
    source: ShardSource
    seeds: tuple[str, ...] | None = None  # per run: runs of two arms with equal seeds are paired
    costs: Mapping[str, float] = field(default_factory=dict)  # median over its runs
    notes: tuple[Message, ...] = ()
    checks: tuple[Check, ...] = ()  # that reading alone gave
    clusters: str | None = None  # column of the examples that belong together

    @property
    def is_of_numbers(self) -> bool:
        """True if its runs give numbers, not classes."""
        return self.source.kind is Kind.NUMBERS

    @property
    def answers(self) -> str:
        """The answers of its runs, such as classes or numbers."""
        return answers_of(self.source.kind)


@dataclass(eq=False)
class ArmPart:
    """Partial results of one arm."""

    accumulators: Accumulators[Any]
    contrast: ArmContrast[Any] | None  # None for the baseline
    rows: ExampleRows | bytes | None = None  # examples of one shard; packed to cross processes


@dataclass(eq=False)
class ComparedPart:
    """Partial results of all arms, the baseline first; damaged shards may be left out of all."""

    arms: list[ArmPart]
    left_out: list[tuple[int, SeedproofError]] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    # Two arms other than the baseline, if all pairs are compared.
    pairs: dict[tuple[int, int], PairSums[Any]] = field(default_factory=dict)

    def merge(self, other: "ComparedPart") -> None:
        """Add other examples; their rows are written elsewhere."""
        self.left_out += other.left_out
        self.notes += other.notes
        for arm, further in zip(self.arms, other.arms, strict=True):
            arm.accumulators.merge(further.accumulators)
            if arm.contrast is not None and further.contrast is not None:
                arm.contrast.merge(further.contrast)
        for indices, sums in other.pairs.items():
            self.pairs[indices].merge(sums)


@dataclass(frozen=True, eq=False)
class CompareShard:
    """Compare one shard of all arms; frozen, so that it can be sent to another process."""

    alignment: ArmAlignment  # the baseline first
    seeds: tuple[tuple[str, ...] | None, ...]  # as `ArmData.seeds`, per arm
    skip_damaged: bool = False
    metrics: Collection[str] | None = None  # None: everything that the data allows
    packs_rows: bool = False
    clusters: tuple[int, str] | None = None  # arm and column of the examples that belong together
    all_pairs: bool = False

    def empty(self) -> ComparedPart:
        """Return a part without examples."""
        sources, base_seeds = self.alignment.sources, self.seeds[0]
        kind = answer_kind(sources[0].kind)
        arms: list[ArmPart] = []
        for arm_idx, source in enumerate(sources):
            contrast = None
            if arms:
                contrast = kind.contrast(
                    sources[0],
                    source,
                    is_paired=self._is_paired(0, arm_idx),
                    partners=partners_in(self.seeds[arm_idx], base_seeds),
                )
            arms.append(ArmPart(kind.accumulators(source, self.metrics), contrast))
        pairs = combinations(range(1, len(arms)), 2) if self.all_pairs else ()
        sums = {
            (i, j): kind.pair(sources[i], sources[j], is_paired=self._is_paired(i, j))
            for i, j in pairs
        }
        return ComparedPart(arms, pairs=sums)

    def _is_paired(self, first: int, second: int) -> bool:
        return self.seeds[first] is not None and self.seeds[first] == self.seeds[second]

    def __call__(self, index: int) -> ComparedPart:
        """Return the partial results of shard `index`."""
        try:
            return self._compare(index)
        except DamagedStoreError as error:
            if not self.skip_damaged:
                raise
            return replace(self.empty(), left_out=[(index, error)])

    def _compare(self, index: int) -> ComparedPart:
        part, sources = self.empty(), self.alignment.sources
        kind = answer_kind(sources[0].kind)
        n_rows = batch_rows(max(kind.width(source) for source in sources))
        first, accumulators = self.alignment.shard(index), part.arms[0].accumulators
        clusters = self._clusters(first)
        blocks = blocks_in(first, clusters, sources[0].rows_per_shard)
        hint = cluster_hint(first) if index == 0 and clusters is None else None
        part.notes += [] if hint is None else [hint]
        accumulators.open(clusters)
        base = [
            (batch, accumulators.add(batch))
            for batch in accumulators.batches(first, blocks, n_rows)
        ]
        base_rows = accumulators.close(first, sources[0].classes)
        part.arms[0].rows = packed(base_rows) if self.packs_rows else base_rows
        measured: dict[int, list[MeasuredBatch[Any]]] = {}  # of the arms, if all pairs are compared
        for arm_idx, (source, arm) in enumerate(zip(sources, part.arms, strict=True)):
            if arm.contrast is None:
                continue
            shard = self.alignment.match(arm_idx, first)
            arm.accumulators.open(clusters)
            arm.contrast.open(clusters)
            arm_batches = arm.accumulators.batches(shard, blocks, n_rows)
            for base_batch, batch in zip(base, arm_batches, strict=True):
                arm_batch = batch, arm.accumulators.add(batch)
                arm.contrast.update(base_batch, arm_batch)
                if self.all_pairs:
                    measured.setdefault(arm_idx, []).append(arm_batch)
            rows = arm.accumulators.close(shard, source.classes)
            arm.contrast.add_rows((first, base_rows), (shard, rows))
            arm.rows = packed(rows) if self.packs_rows else rows
        for (i, j), sums in part.pairs.items():
            sums.open(clusters)
            for first_batch, second_batch in zip(measured[i], measured[j], strict=True):
                sums.update(first_batch, second_batch)
        return part

    def _clusters(self, first: Shard) -> ClusterKeys | None:
        """Clusters of the examples of a shard, from the first arm that has them."""
        if self.clusters is None:
            return None
        arm_idx, column = self.clusters
        return ClusterKeys.of(self.alignment.match(arm_idx, first) if arm_idx else first, column)


def compare_arms(
    arms: Sequence[ArmData],
    folder: Location,
    *,
    reference: str | None = None,
    metrics: Collection[str] | None = None,
    primary: str | None = None,
    margins: Mapping[str, float] | None = None,
    level: Level = PLAIN,
    all_pairs: bool = False,
    match_rates: bool = False,
    skip_damaged: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare every arm with the first, on the workers of an engine if there is one.

    Only the first runs of a growing study are to be passed, with the level of their look.
    """
    if len(arms) < 2:
        raise OptionError(
            "A comparison needs at least two arms. Pass another arm or target.", n_arms=len(arms)
        )
    names = tuple(arm.name for arm in arms)
    if reference is not None and reference not in names[1:]:
        raise OptionError(
            "No arm {gold!r} is compared. Known: {known}.", gold=reference, known=names[1:]
        )
    if reference is not None and arms[0].answers != "classes":
        raise OptionError(
            "`{option}` applies to classes, and these arms have {answers}. Remove it.",
            option="gold",
            answers=arms[0].answers,
        )
    alignment = ArmAlignment(names, tuple(narrowed(arm.source, metrics) for arm in arms))
    _check_labels(arms)
    notes: list[Message] = []
    if match_rates:
        matched = match_thresholds(alignment, skip_damaged=skip_damaged)
        alignment, notes = ArmAlignment(names, tuple(matched)), notes_on_matching(names, matched)
    levels = [levels_of(arm.source) for arm in arms]
    notes += notes_on_levels(levels) + notes_on_judges(alignment.sources)
    notes += notes_on_unequal(alignment.sources)
    seeds = tuple(arm.seeds for arm in arms)
    clusters = next(((i, arm.clusters) for i, arm in enumerate(arms) if arm.clusters), None)
    task = CompareShard(
        alignment,
        seeds,
        skip_damaged,
        metrics,
        packs_rows=engine is not None,
        clusters=clusters,
        all_pairs=all_pairs,
    )
    whole, tables = _whole(task, folder, engine, progress)
    lost = _notes_on_left_out(arms, whole.left_out)
    read = [
        replace(
            arm,
            source=source,
            notes=(*arm.notes, *lost),
            clusters=None if clusters is None else clusters[1],
        )
        for arm, source in zip(arms, alignment.sources, strict=True)
    ]
    finished = [_FinishedArm(*parts) for parts in zip(read, whole.arms, tables, strict=True)]
    notes += [note for arm in arms for note in arm.notes] + lost + whole.notes
    if asks_for_explanations(metrics):
        notes += compare_explanations(
            [arm.explanations for arm in finished], skip_damaged=skip_damaged
        )
        if clusters is not None and finished[0].explanations.measured:
            notes.append(NOT_IN_EXPLANATIONS)
        if alignment.sources[0].settings.weights and finished[0].explanations.measured:
            notes.append(NOT_WEIGHTED)
    counts = [arms[0].source.counts(index) for index, _ in whole.left_out]
    n_lost = sum(n_rows for n_rows, _ in counts), sum(n_labeled for _, n_labeled in counts)
    results = [arm.accumulators.result() for arm in whole.arms]
    # Arms with the same seeds are one group of runs, named after the first of them.
    groups = [
        name if own is None else names[seeds.index(own)]
        for name, own in zip(names, seeds, strict=True)
    ]
    baseline, *others = [
        arm.result(_like(results[0], levels[0], levels[i]), own, (groups[0], group), n_lost)
        for i, (arm, own, group) in enumerate(zip(finished, results, groups, strict=True))
    ]
    pairs = [
        ArmPair(
            names[j],
            names[i],
            sums.is_paired,
            contrasts=sums.contrasts(
                _like(results[i], levels[i], levels[j]), results[j], (groups[i], groups[j])
            ),
        )
        for (i, j), sums in whole.pairs.items()
    ]
    kind = answer_kind(alignment.sources[0].kind)
    better = direction_of_mean(alignment.sources[0]) if arms[0].is_of_numbers else "neither"
    compared = dict.fromkeys(metric for arm in others for metric in arm.contrasts)
    left_out = (
        {name for arm in results for name in arm.keys() - of_all_examples(arm).keys()}
        if any(source.settings.are_unequal for source in alignment.sources)
        else ()
    )
    primary = primary_metric(primary, compared or results[0], kind.usual_primary, left_out=left_out)
    quality = kind.quality(primary, compared, better=better)
    judged = judge_together(
        others, pairs, primary, quality=quality, level=level, margins=margins or {}
    )
    sources = {arm.name: arm.source for arm in arms}
    identical = identical_arms(sources, {arm.name: arm.seeds for arm in arms})
    checks = of_arms({arm.name: arm.measurement.checks for arm in (baseline, *others)})
    checks = by_severity([*identical, *checks])
    errors = errors_of(checks, names[1:], baseline.name)
    judged_arms, judged_pairs = without_verdicts(judged.arms, judged.pairs, errors)
    return Comparison(
        baseline=baseline,
        arms=tuple(_with_shares(judged_arms, reference)),
        pairs=judged_pairs if all_pairs else None,
        confidence=judged.confidence,
        primary=primary,
        quality=judged.quality,
        notes=tuple(dict.fromkeys(notes)),
        checks=checks,
        reference=reference,
        better=better,
    )


def _like(
    statistics: Mapping[str, Statistic], own: Mapping[str, int], other: Mapping[str, int]
) -> dict[str, Statistic]:
    """Return the metrics that mean the same in another arm, given the levels of both."""
    return {name: statistics[name] for name in comparable_metrics(statistics, own, other)}


class _FinishedArm:
    """One arm after the pass over all examples."""

    def __init__(self, data: ArmData, part: ArmPart, table: ExampleTable) -> None:
        self._data, self._part = data, part
        self._measurement = measured(
            data.source, part.accumulators, table, data.notes, clusters=data.clusters
        ).with_checks(data.checks)
        is_paired = part.contrast is not None and part.contrast.is_paired
        self.explanations = ArmExplanations(data.name, data.source, is_paired)

    def result(
        self,
        base: Mapping[str, Statistic],
        own: Mapping[str, Statistic],
        seed_groups: tuple[str, str],
        n_lost: tuple[int, int],
    ) -> ComparedArm:
        """Return the results to be judged; `n_lost` are the examples and labeled ones left out."""
        measurement, contrast, source = self._measurement, self._part.contrast, self._data.source
        rate = source.rate if isinstance(source, MatchedShards) else None
        arm = ComparedArm(
            self._data.name,
            replace(
                measurement,
                n_examples=measurement.n_examples - n_lost[0],
                n_labeled=measurement.n_labeled - n_lost[1],
                explanations=self.explanations.measured,
            ),
            costs=self._data.costs,
            matched_rate=rate,
        )
        if contrast is None:
            return arm
        return replace(
            arm,
            contrasts=contrast.contrasts(base, own, seed_groups),
            explanation_contrasts=self.explanations.contrasts,
            is_paired=contrast.is_paired,
            **contrast.results(),
        )


def _notes_on_left_out(
    arms: Sequence[ArmData], left_out: Sequence[tuple[int, SeedproofError]]
) -> list[Message]:
    """Return a note on each shard that is left out, with the paths of all stores shortened."""
    notes = []
    for index, error in left_out:
        for arm in arms:
            error = as_reason(error, arm.source.location)  # noqa: PLW2901 - each store in turn
        notes.append(note_on_left_out(arms[0].source, index, error))
    return notes


def _check_labels(arms: Sequence[ArmData]) -> None:
    """Refuse arms of which some have labels: figures follow labels or consensus, never both."""
    first = arms[0]
    for arm in arms[1:]:
        if arm.source.n_labeled != first.source.n_labeled:
            raise LabelConflictError(
                "{first!r} has {noun}s for {n_labeled:,} examples and {side!r} for "
                "{other_n_labeled:,}. Give the same {noun}s to all arms, or to none.",
                noun="target" if first.is_of_numbers else "label",
                first=first.name,
                n_labeled=first.source.n_labeled,
                side=arm.name,
                other_n_labeled=arm.source.n_labeled,
            )


def _whole(
    task: CompareShard, folder: Location, engine: Engine | None, progress: Progress | None
) -> tuple[ComparedPart, list[ExampleTable]]:
    """Return the results over all examples, and the table of examples of each arm."""
    whole, sources = task.empty(), task.alignment.sources
    places = [folder / f"{index}.parquet" for index in range(len(sources))]
    with ExitStack() as stack:
        sinks: list[HeldExamples | ExampleWriter] = []
        if engine is None:
            pairs = zip(sources, places, strict=True)
            sinks = [stack.enter_context(examples_of(source, place)) for source, place in pairs]
        parts = map_shards(task, task.alignment.n_shards, engine=engine, progress=progress)
        for shard_idx, part in enumerate(parts):
            whole.merge(part)
            for arm_idx, arm in enumerate(part.arms):
                if isinstance(arm.rows, bytes):
                    write_part(arm.rows, places[arm_idx], shard_idx)
                elif arm.rows is not None:
                    sinks[arm_idx].add(arm.rows)
    return whole, [sink.table for sink in sinks] or [StoredExamples(place) for place in places]


def _with_shares(arms: Sequence[ComparedArm], reference: str | None) -> Sequence[ComparedArm]:
    """Return arms with their gain in label entropy as a share of the reference arm's, if shown."""
    best = next((arm.effects["label_entropy"] for arm in arms if arm.name == reference), None)
    if best is None or best.value is None or best.verdict != "steadier":
        return arms
    gain = 1 - best.value
    ratios = [arm.effects["label_entropy"].value for arm in arms]
    return [
        arm if ratio is None else replace(arm, share_of_gold=(1 - ratio) / gain)
        for arm, ratio in zip(arms, ratios, strict=True)
    ]
