"""Arms against a baseline: one pass over the examples of all of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.arms.explanations import ArmExplanations, compare_explanations
from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.comparison.arms.matched_rates import (
    RATE_ESTIMATED,
    MatchedShards,
    match_thresholds,
    notes_on_matching,
)
from seedproof.comparison.arms.most_changed import MostChanged
from seedproof.comparison.arms.result import VOTE_SHARES, ComparedArm, Comparison
from seedproof.engines import Engine
from seedproof.errors import DamagedStoreError, LabelConflictError, OptionError, SeedproofError
from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.clusters import (
    NOT_IN_EXPLANATIONS,
    ClusterAccumulator,
    ClusterKeys,
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
from seedproof.measurement.selection import asks_for_explanations, known, narrowed
from seedproof.messages import Message
from seedproof.metrics.batch import Batch, batch_rows, batches
from seedproof.metrics.entropy import rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.predictions.checks import Check, by_severity, of_arms
from seedproof.predictions.duplicates import identical_arms
from seedproof.records.location import Location
from seedproof.records.reader import as_reason
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.effect import Effect, each_tail, with_enough_runs
from seedproof.typing import IntArray, Progress

# Usual number of classes kept per example where a model has very many.
USUAL_TOP = 20

# A batch, and what each metric gives for its examples.
MeasuredBatch: TypeAlias = tuple[Batch, dict[str, ExampleValues]]


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


@dataclass(eq=False)
class ArmContrast:
    """Sums over examples that an arm and the baseline share."""

    n_base: int
    n_arm: int
    is_paired: bool  # run r of both has the same seeds
    # Per run of the arm, the row of the baseline's run with the same seeds, or −1.
    partners: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.crosses: dict[str, Cross] = {}  # empty with clusters
        self.entropies = ExampleSums(), ExampleSums()  # rarefied to the smaller number of runs
        self.clusters: tuple[ClusterAccumulator, ClusterAccumulator] | None = None  # of these
        self.votes: IntArray = np.zeros((len(VOTE_SHARES),) * 2, dtype=np.int64)
        self.high_entropy = HighEntropySums(self.n_base, self.n_arm, self.partners)
        self.most_changed = MostChanged()

    def open(self, clusters: ClusterKeys | None) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        if clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for accumulator in self.clusters if self.n_base != self.n_arm else ():
                accumulator.open(clusters)

    def _new_clusters(self) -> tuple[ClusterAccumulator, ClusterAccumulator]:
        return ClusterAccumulator(self.n_base), ClusterAccumulator(self.n_arm)

    def update(self, base: MeasuredBatch, arm: MeasuredBatch) -> None:
        """Add the same batch of both arms."""
        values = [dict(base[1]), dict(arm[1])]
        if self.n_base != self.n_arm:
            n_runs = min(self.n_base, self.n_arm)
            for i, (batch, _) in enumerate((base, arm)):
                rarefied = rarefied_entropy(batch.contested_agreement, n_runs)
                entropy = values[i]["label_entropy"] = batch.of_contested(rarefied)
                self.entropies[i].update(entropy)
                if self.clusters is not None:
                    self.clusters[i].start(batch)
                    self.clusters[i].add({"label_entropy": entropy})
        if self.clusters is None:
            add_crosses(self.crosses, crosses(values[0], values[1], is_paired=self.is_paired))
        flat = _vote_places(arm[0]) * len(VOTE_SHARES) + _vote_places(base[0])
        self.votes += np.bincount(flat, minlength=self.votes.size).reshape(self.votes.shape)
        self.high_entropy.update(base[0], arm[0])

    def merge(self, other: "ArmContrast") -> None:
        """Add other examples."""
        add_crosses(self.crosses, other.crosses)
        (base, arm), (other_base, other_arm) = self.entropies, other.entropies
        self.entropies = base + other_base, arm + other_arm
        if other.clusters is not None:
            self.clusters = self.clusters or self._new_clusters()
            for own, further in zip(self.clusters, other.clusters, strict=True):
                own.merge(further)
        self.votes += other.votes
        self.high_entropy.merge(other.high_entropy)
        self.most_changed.merge(other.most_changed)

    def effects(
        self, base: Mapping[str, Statistic], arm: Mapping[str, Statistic], *, tail: float
    ) -> dict[str, Effect]:
        """Return the effect of the arm on each metric."""
        if self.n_base != self.n_arm:
            entropies: list[Statistic] = [
                sums.mean_over_examples(is_count=True) for sums in self.entropies
            ]
            if self.clusters is not None:
                pairs = zip(self.clusters, entropies, strict=True)
                entropies = [own.result("label_entropy", entropy) for own, entropy in pairs]
            base = {**base, "label_entropy": entropies[0]}
            arm = {**arm, "label_entropy": entropies[1]}
        effects = [
            compared(
                name,
                base[name],
                arm[name],
                cross=self.crosses.get(name),
                is_paired=self.is_paired,
                tail=tail,
            )
            for name in base
            if name in arm
        ]
        n_runs = min(self.n_base, self.n_arm)
        return {effect.metric: with_enough_runs(effect, n_runs) for effect in effects}


def _vote_places(batch: Batch) -> IntArray:
    """Row of `VOTE_SHARES` that each example belongs to."""
    limits = np.array(VOTE_SHARES[::-1])
    reached = np.searchsorted(limits, batch.majority / batch.n_runs + 1e-9, side="right")
    return len(VOTE_SHARES) - reached


@dataclass(eq=False)
class ArmPart:
    """Partial results of one arm."""

    accumulators: MetricAccumulators
    contrast: ArmContrast | None  # None for the baseline
    rows: ExampleRows | bytes | None = None  # examples of one shard; packed to cross processes


@dataclass(eq=False)
class ComparedPart:
    """Partial results of all arms, the baseline first; damaged shards may be left out of all."""

    arms: list[ArmPart]
    left_out: list[tuple[int, SeedproofError]] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)

    def merge(self, other: "ComparedPart") -> None:
        """Add other examples; their rows are written elsewhere."""
        self.left_out += other.left_out
        self.notes += other.notes
        for arm, further in zip(self.arms, other.arms, strict=True):
            arm.accumulators.merge(further.accumulators)
            if arm.contrast is not None and further.contrast is not None:
                arm.contrast.merge(further.contrast)


@dataclass(frozen=True, eq=False)
class CompareShard:
    """Compare one shard of all arms; frozen, so that it can be sent to another process."""

    alignment: ArmAlignment  # the baseline first
    seeds: tuple[tuple[str, ...] | None, ...]  # as `ArmData.seeds`, per arm
    skip_damaged: bool = False
    metrics: Collection[str] | None = None  # None: everything that the data allows
    packs_rows: bool = False
    clusters: tuple[int, str] | None = None  # arm and column of the examples that belong together

    def empty(self) -> ComparedPart:
        """Return a part without examples."""
        n_base, base_seeds = len(self.alignment.sources[0].runs), self.seeds[0]
        arms: list[ArmPart] = []
        for source, seeds in zip(self.alignment.sources, self.seeds, strict=True):
            n_runs, contrast = len(source.runs), None
            if arms:
                is_paired = seeds is not None and seeds == base_seeds
                contrast = ArmContrast(n_base, n_runs, is_paired, partners_in(seeds, base_seeds))
            accumulators = MetricAccumulators(
                n_runs, len(source.classes), known(source), self.metrics
            )
            arms.append(ArmPart(accumulators, contrast))
        return ComparedPart(arms)

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
        n_rows = batch_rows(max(_width(source) for source in sources))
        first, accumulators = self.alignment.shard(index), part.arms[0].accumulators
        clusters = self._clusters(first)
        hint = cluster_hint(first) if index == 0 and clusters is None else None
        part.notes += [] if hint is None else [hint]
        accumulators.open(clusters)
        base = [
            (batch, accumulators.add(batch))
            for batch in batches(first, len(sources[0].classes), n_rows)
        ]
        base_rows = accumulators.close(first, sources[0].classes)
        part.arms[0].rows = packed(base_rows) if self.packs_rows else base_rows
        for arm_idx, (source, arm) in enumerate(zip(sources, part.arms, strict=True)):
            if arm.contrast is None:
                continue
            shard = self.alignment.match(arm_idx, first)
            arm.accumulators.open(clusters)
            arm.contrast.open(clusters)
            arm_batches = batches(shard, len(source.classes), n_rows)
            for base_batch, batch in zip(base, arm_batches, strict=True):
                arm.contrast.update(base_batch, (batch, arm.accumulators.add(batch)))
            rows = arm.accumulators.close(shard, source.classes)
            arm.contrast.most_changed.update((first, base_rows), (shard, rows))
            arm.rows = packed(rows) if self.packs_rows else rows
        return part

    def _clusters(self, first: Shard) -> ClusterKeys | None:
        """Clusters of the examples of a shard, from the first arm that has them."""
        if self.clusters is None:
            return None
        arm_idx, column = self.clusters
        return ClusterKeys.of(self.alignment.match(arm_idx, first) if arm_idx else first, column)


def partners_in(
    seeds: tuple[str, ...] | None, base_seeds: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    """Return for each run of an arm the row of the baseline's run with the same seeds, or −1.

    None if the seeds of either are unknown.
    """
    if seeds is None or base_seeds is None:
        return None
    rows = {of_run: row for row, of_run in enumerate(base_seeds)}
    return tuple(rows.get(of_run, -1) for of_run in seeds)


def _width(source: ShardSource) -> int:
    """Approximate number of values of one example over all runs."""
    of_kind = {Kind.PROBS: len(source.classes), Kind.TOP: USUAL_TOP, Kind.LABELS: 1}
    return len(source.runs) * of_kind[source.kind]


def compare_arms(
    arms: Sequence[ArmData],
    folder: Location,
    *,
    reference: str | None = None,
    metrics: Collection[str] | None = None,
    match_rates: bool = False,
    skip_damaged: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare every arm with the first, on the workers of an engine if there is one."""
    if len(arms) < 2:
        raise OptionError(
            "A comparison needs at least two arms. Give another arm or target.", n_arms=len(arms)
        )
    names = tuple(arm.name for arm in arms)
    if reference is not None and reference not in names[1:]:
        raise OptionError(
            "No arm {gold!r} is compared. Known: {known}.", gold=reference, known=names[1:]
        )
    alignment = ArmAlignment(names, tuple(narrowed(arm.source, metrics) for arm in arms))
    _check_labels(arms)
    notes: list[Message] = []
    if match_rates:
        matched = match_thresholds(alignment, skip_damaged=skip_damaged)
        alignment, notes = ArmAlignment(names, tuple(matched)), notes_on_matching(names, matched)
    seeds = tuple(arm.seeds for arm in arms)
    clusters = next(((i, arm.clusters) for i, arm in enumerate(arms) if arm.clusters), None)
    task = CompareShard(
        alignment,
        seeds,
        skip_damaged,
        metrics,
        packs_rows=engine is not None,
        clusters=clusters,
    )
    whole, tables = _whole(task, folder, engine, progress)
    tail = each_tail(len(arms) - 1)
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
            [arm.explanations for arm in finished], tail=tail, skip_damaged=skip_damaged
        )
        if clusters is not None and finished[0].explanations.measured:
            notes.append(NOT_IN_EXPLANATIONS)
    counts = [arms[0].source.counts(index) for index, _ in whole.left_out]
    n_lost = sum(n_rows for n_rows, _ in counts), sum(n_labeled for _, n_labeled in counts)
    base = whole.arms[0].accumulators.result()
    baseline, *others = [arm.result(base, n_lost, tail=tail) for arm in finished]
    sources = {arm.name: arm.source for arm in arms}
    identical = identical_arms(sources, {arm.name: arm.seeds for arm in arms})
    checks = of_arms({arm.name: arm.measurement.checks for arm in (baseline, *others)})
    return Comparison(
        baseline=baseline,
        arms=tuple(_with_shares(others, reference)),
        confidence=1 - 2 * tail,
        notes=tuple(dict.fromkeys(notes)),
        checks=by_severity([*identical, *checks]),
        reference=reference,
    )


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
        self, base: Mapping[str, Statistic], n_lost: tuple[int, int], *, tail: float
    ) -> ComparedArm:
        """Return all results; `n_lost` are the examples, and the labeled ones, left out."""
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
        effects = contrast.effects(base, self._part.accumulators.result(), tail=tail)
        accuracy = effects.get("accuracy")
        if rate is not None and accuracy is not None:
            # Accuracy follows the rate of the arm, whose variation the interval does not include:
            # it would be called different in 7 to 8 % of studies instead of 5 %.
            plain = Effect("accuracy", accuracy.scale, accuracy.value, note=RATE_ESTIMATED)
            effects["accuracy"] = plain
        return replace(
            arm,
            effects=effects,
            explanations=self.explanations.effects,
            is_paired=contrast.is_paired,
            high_entropy=contrast.high_entropy.result(),
            votes=contrast.votes,
            settled=contrast.most_changed.settled,
            unsettled=contrast.most_changed.unsettled,
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
                "{first!r} has labels for {n_labeled:,} examples and {side!r} for "
                "{other_n_labeled:,}. Give the same labels to all arms, or to none.",
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
