"""Arms against a baseline: one pass over the examples of all of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.arms.explanations import ArmExplanations, compare_explanations
from seedproof.comparison.arms.high_entropy import LeastSure
from seedproof.comparison.arms.matched_rates import (
    RATE_ESTIMATED,
    MatchedShards,
    match_thresholds,
    notes_on_matching,
)
from seedproof.comparison.arms.most_changed import Movers
from seedproof.comparison.arms.result import VOTE_SHARES, ComparedArm, Comparison, MatchedRate
from seedproof.engines import Engine
from seedproof.errors import DamagedStoreError, LabelConflictError, OptionError, SeedproofError
from seedproof.measurement.accumulators import MetricAccumulators, batches
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
from seedproof.measurement.result import Measurement
from seedproof.measurement.selection import asks_for_explanations, known, narrowed
from seedproof.messages import Message
from seedproof.metrics.batch import Batch, batch_rows
from seedproof.metrics.entropy import rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.records.location import Location
from seedproof.records.reader import as_reason
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross, add_crosses, crosses
from seedproof.stats.effect import Effect, each_tail
from seedproof.typing import IntArray, Progress

# How many top classes are kept of very many, more or less.
USUAL_TOP = 20


@dataclass(frozen=True, eq=False)
class ArmData:
    """One arm of a comparison, as it comes in.

    Args:
        name: Its name.
        source: Its aligned runs.
        seeds: What tells which runs of two sides belong together, in the order of the runs; None
            if nothing does.
        costs: What its runs took, the median of each cost.
        notes: How it was read.
    """

    name: str
    source: ShardSource
    seeds: tuple[str, ...] | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Message, ...] = ()


@dataclass(eq=False)
class ArmContrast:
    """What one arm and the baseline share, over the examples so far.

    Args:
        n_base: Runs of the baseline.
        n_arm: Runs of the arm.
        is_paired: Whether they share their seeds.
        partners: For each run of the arm the row of the baseline's run with the same seeds, or −1;
            None where one of them has no seeds.
    """

    n_base: int
    n_arm: int
    is_paired: bool
    partners: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.crosses: dict[str, Cross] = {}
        self.entropies = ExampleSums(), ExampleSums()
        self.votes: IntArray = np.zeros((len(VOTE_SHARES),) * 2, dtype=np.int64)
        self.least_sure = LeastSure(self.n_base, self.n_arm, self.partners)
        self.movers = Movers()

    def update(
        self,
        base: tuple[Batch, dict[str, ExampleValues]],
        arm: tuple[Batch, dict[str, ExampleValues]],
    ) -> None:
        """Add one batch, as both arms see it."""
        both = [dict(base[1]), dict(arm[1])]
        if self.n_base != self.n_arm:
            for one, (batch, _), sums in zip(both, (base, arm), self.entropies, strict=True):
                one["label_entropy"] = self._rarefied(batch)
                sums.update(one["label_entropy"])
        add_crosses(self.crosses, crosses(both[0], both[1], is_paired=self.is_paired))
        places = [_vote_places(batch) for batch, _ in (base, arm)]
        flat = places[1] * len(VOTE_SHARES) + places[0]
        self.votes += np.bincount(flat, minlength=self.votes.size).reshape(self.votes.shape)
        self.least_sure.update(base[0], arm[0])

    def _rarefied(self, batch: Batch) -> ExampleValues:
        fewer = min(self.n_base, self.n_arm)
        return batch.of_contested(rarefied_entropy(batch.contested_agreement, fewer))

    def merge(self, other: "ArmContrast") -> None:
        """Add other examples."""
        add_crosses(self.crosses, other.crosses)
        (base, arm), (other_base, other_arm) = self.entropies, other.entropies
        self.entropies = base + other_base, arm + other_arm
        self.votes += other.votes
        self.least_sure.merge(other.least_sure)
        self.movers.merge(other.movers)

    def effects(
        self, base: Mapping[str, Statistic], arm: Mapping[str, Statistic], *, tail: float
    ) -> dict[str, Effect]:
        """What the arm changes in each metric."""
        base, arm = dict(base), dict(arm)
        if self.n_base != self.n_arm:
            for one, sums in zip((base, arm), self.entropies, strict=True):
                one["label_entropy"] = sums.mean_over_examples(is_count=True)
        return {
            name: compared(
                name,
                base[name],
                arm[name],
                cross=self.crosses.get(name),
                is_paired=self.is_paired,
                tail=tail,
            )
            for name in base
            if name in arm
        }


def _vote_places(batch: Batch) -> IntArray:
    """Row of `VOTE_SHARES` that each example belongs to."""
    limits = np.array(VOTE_SHARES[::-1])
    reached = np.searchsorted(limits, batch.majority / batch.n_runs + 1e-9, side="right")
    return len(VOTE_SHARES) - reached


@dataclass(eq=False)
class ArmPart:
    """What a part of the examples gives of one arm.

    Args:
        tally: Its own metrics.
        beside: What it shares with the baseline; None for the baseline itself.
        rows: The examples of one shard, packed if they have a way to go.
    """

    tally: MetricAccumulators
    beside: ArmContrast | None
    rows: ExampleRows | bytes | None = None


@dataclass(eq=False)
class ComparedPart:
    """What a part of the examples gives of all arms, the baseline first.

    Shards that are damaged in some run may be left out: of all arms, with the reason.
    """

    arms: list[ArmPart]
    left_out: list[tuple[int, SeedproofError]] = field(default_factory=list)

    def merge(self, other: "ComparedPart") -> None:
        """Add other examples; their rows are written elsewhere."""
        self.left_out += other.left_out
        for mine, theirs in zip(self.arms, other.arms, strict=True):
            mine.tally.merge(theirs.tally)
            if mine.beside is not None and theirs.beside is not None:
                mine.beside.merge(theirs.beside)


@dataclass(frozen=True, eq=False)
class CompareShard:
    """Compares one shard; frozen, so that it can travel to another process.

    Args:
        aligned: The arms, the baseline first.
        seeds: What pairs the runs of each arm with those of the others, as `ArmData.seeds`.
        skip_damaged: Whether a shard that is damaged in some run is left out.
        metrics: Names of metrics; everything that the data allows without them.
        packs_rows: Whether the examples of a shard are packed as a Parquet file.
    """

    aligned: ArmAlignment
    seeds: tuple[tuple[str, ...] | None, ...]
    skip_damaged: bool = False
    metrics: Collection[str] | None = None
    packs_rows: bool = False

    def empty(self) -> ComparedPart:
        """A part without examples."""
        n_base, arms = len(self.aligned.sources[0].runs), []
        for index, (source, seeds) in enumerate(zip(self.aligned.sources, self.seeds, strict=True)):
            n_runs = len(source.runs)
            tally = MetricAccumulators(n_runs, len(source.classes), known(source), self.metrics)
            is_paired = seeds is not None and seeds == self.seeds[0]
            partners = partners_in(seeds, self.seeds[0])
            beside = ArmContrast(n_base, n_runs, is_paired, partners) if index else None
            arms.append(ArmPart(tally, beside))
        return ComparedPart(arms)

    def __call__(self, index: int) -> ComparedPart:
        """Partial results of shard `index`."""
        try:
            return self._compared(index)
        except DamagedStoreError as error:
            if not self.skip_damaged:
                raise
            return replace(self.empty(), left_out=[(index, error)])

    def _compared(self, index: int) -> ComparedPart:
        part, sources = self.empty(), self.aligned.sources
        n_rows = batch_rows(max(_width(source) for source in sources))
        first, tally = self.aligned.shard(index), part.arms[0].tally
        base = list(batches(first, len(sources[0].classes), n_rows))
        values = [tally.add(batch) for batch in base]
        rows = tally.close(first, sources[0].classes)
        part.arms[0].rows = packed(rows) if self.packs_rows else rows
        for side, (source, arm) in enumerate(zip(sources, part.arms, strict=True)):
            if arm.beside is None:
                continue
            shard = self.aligned.beside(side, first)
            cut = batches(shard, len(source.classes), n_rows)
            for mine, my_values, batch in zip(base, values, cut, strict=True):
                arm.beside.update((mine, my_values), (batch, arm.tally.add(batch)))
            own = arm.tally.close(shard, source.classes)
            arm.beside.movers.update((first, rows), (shard, own))
            arm.rows = packed(own) if self.packs_rows else own
        return part


def partners_in(
    mine: tuple[str, ...] | None, theirs: tuple[str, ...] | None
) -> tuple[int, ...] | None:
    """Return for each run of an arm the row of the baseline's run with the same seeds, or −1.

    None where one of the arms has no seeds.
    """
    if mine is None or theirs is None:
        return None
    rows = {seeds: row for row, seeds in enumerate(theirs)}
    return tuple(rows.get(seeds, -1) for seeds in mine)


def _width(source: ShardSource) -> int:
    """Values of one example over all runs, about."""
    of_kind = {Kind.PROBS: len(source.classes), Kind.TOP: USUAL_TOP, Kind.LABELS: 1}
    return len(source.runs) * of_kind[source.kind]


def compare_sides(
    sides: Sequence[ArmData],
    folder: Location,
    *,
    gold: str | None = None,
    metrics: Collection[str] | None = None,
    match_rates: bool = False,
    skip_damaged: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Every arm against the first, by the workers of an engine if there is one."""
    if len(sides) < 2:
        raise OptionError(
            "One arm alone cannot be compared. Give at least two arms or targets.",
            n_arms=len(sides),
        )
    names = tuple(side.name for side in sides)
    if gold is not None and gold not in names[1:]:
        raise OptionError(
            "No arm {gold!r} is compared. Known: {known}.", gold=gold, known=names[1:]
        )
    aligned = ArmAlignment(names, tuple(narrowed(side.source, metrics) for side in sides))
    _check_labels(sides)
    notes: list[Message] = []
    if match_rates:
        matched = match_thresholds(aligned, skip_damaged=skip_damaged)
        aligned, notes = ArmAlignment(names, tuple(matched)), notes_on_matching(names, matched)
    seeds = tuple(side.seeds for side in sides)
    task = CompareShard(aligned, seeds, skip_damaged, metrics, packs_rows=engine is not None)
    whole, tables = _whole(task, folder, engine, progress)
    tail = each_tail(len(sides) - 1)
    lost = _notes_on_left_out(sides, whole.left_out)
    found = [
        _Arm(side, source, part, measured(source, part.tally, table, (*side.notes, *lost)))
        for side, source, part, table in zip(
            sides, aligned.sources, whole.arms, tables, strict=True
        )
    ]
    notes += [note for side in sides for note in side.notes] + lost
    if asks_for_explanations(metrics):
        notes += compare_explanations(
            [arm.explanations for arm in found], tail=tail, skip_damaged=skip_damaged
        )
    missing = _n_missing(sides[0].source, [index for index, _ in whole.left_out])
    base = whole.arms[0].tally.result()
    baseline, *arms = [arm.result(base, missing, tail=tail) for arm in found]
    return Comparison(
        baseline=baseline,
        arms=tuple(_beside_gold(arms, gold)),
        confidence=1 - 2 * tail,
        notes=tuple(dict.fromkeys(notes)),
        gold=gold,
    )


class _Arm:
    """One arm after the pass.

    Args:
        side: The arm as it came in.
        source: What was read of it.
        part: What all its examples give.
        measurement: The same with intervals.
    """

    def __init__(
        self, side: ArmData, source: ShardSource, part: ArmPart, measurement: Measurement
    ) -> None:
        self._side, self._part, self._measurement = side, part, measurement
        self._rate = source.rate if isinstance(source, MatchedShards) else None
        is_paired = part.beside is not None and part.beside.is_paired
        self.explanations = ArmExplanations(side.name, source, is_paired)

    def result(
        self, base: Mapping[str, Statistic], missing: tuple[int, int], *, tail: float
    ) -> ComparedArm:
        """Return everything of the arm; `missing` are examples, and labeled ones, left out."""
        measurement, beside = self._measurement, self._part.beside
        arm = ComparedArm(
            self._side.name,
            replace(
                measurement,
                n_examples=measurement.n_examples - missing[0],
                n_labeled=measurement.n_labeled - missing[1],
                explanations=self.explanations.measured,
            ),
            costs=self._side.costs,
            matched_rate=self._rate,
        )
        if beside is None:
            return arm
        effects = beside.effects(base, self._part.tally.result(), tail=tail)
        return replace(
            arm,
            effects=_judged(effects, self._rate),
            explanations=self.explanations.effects,
            is_paired=beside.is_paired,
            high_entropy=beside.least_sure.result(),
            votes=beside.votes,
            settled=beside.movers.settled,
            unsettled=beside.movers.unsettled,
        )


def _judged(effects: dict[str, Effect], rate: MatchedRate | None) -> dict[str, Effect]:
    """Return effects without a verdict on accuracy if rates are matched.

    The accuracy of an arm follows its rate, whose luck the interval does not know: it would be
    called different in 7 to 8 % of studies instead of 5 %.
    """
    if rate is None or "accuracy" not in effects:
        return effects
    accuracy = effects["accuracy"]
    plain = Effect("accuracy", accuracy.scale, accuracy.value, note=RATE_ESTIMATED)
    return effects | {"accuracy": plain}


def _notes_on_left_out(
    sides: Sequence[ArmData], left_out: Sequence[tuple[int, SeedproofError]]
) -> list[Message]:
    """Return a note on each shard that is left out, whichever store is damaged."""
    notes = []
    for index, error in left_out:
        for side in sides:
            error = as_reason(error, side.source.location)  # noqa: PLW2901 - its paths, each in turn
        notes.append(note_on_left_out(sides[0].source, index, error))
    return notes


def _n_missing(first: ShardSource, left_out: Sequence[int]) -> tuple[int, int]:
    """Number of examples in shards that are left out, and how many of them have a label."""
    counts = [first.counts(index) for index in left_out]
    return sum(n_rows for n_rows, _ in counts), sum(n_labeled for _, n_labeled in counts)


def _check_labels(sides: Sequence[ArmData]) -> None:
    """Some figures follow the gold label, and without one the consensus: never mix the two."""
    first = sides[0]
    for side in sides[1:]:
        if side.source.n_labeled != first.source.n_labeled:
            raise LabelConflictError(
                "{first!r} has labels for {n_labeled:,} examples and "
                "{side!r} for {other_n_labeled:,}. Give the same labels to all, or "
                "none.",
                first=first.name,
                n_labeled=first.source.n_labeled,
                side=side.name,
                other_n_labeled=side.source.n_labeled,
            )


def _whole(
    task: CompareShard, folder: Location, engine: Engine | None, progress: Progress | None
) -> tuple[ComparedPart, list[ExampleTable]]:
    """Return what all examples give, and the table of each arm's examples."""
    whole, sources = task.empty(), task.aligned.sources
    places = [folder / f"{index}.parquet" for index in range(len(sources))]
    with ExitStack() as stack:
        sinks: list[HeldExamples | ExampleWriter] = []
        if engine is None:
            both = zip(sources, places, strict=True)
            sinks = [stack.enter_context(examples_of(source, place)) for source, place in both]
        parts = map_shards(task, task.aligned.n_shards, engine=engine, progress=progress)
        for shard_idx, part in enumerate(parts):
            whole.merge(part)
            for arm_idx, arm in enumerate(part.arms):
                if isinstance(arm.rows, bytes):
                    write_part(arm.rows, places[arm_idx], shard_idx)
                elif arm.rows is not None:
                    sinks[arm_idx].add(arm.rows)
    return whole, [sink.table for sink in sinks] or [StoredExamples(place) for place in places]


def _beside_gold(arms: Sequence[ComparedArm], gold: str | None) -> list[ComparedArm]:
    """Each arm's gain in label entropy as a share of the gold standard's, where that is shown."""
    best = next((arm.effects["label_entropy"] for arm in arms if arm.name == gold), None)
    if best is None or best.value is None or best.verdict != "steadier":
        return list(arms)
    gain = 1 - best.value
    found = []
    for arm in arms:
        ratio = arm.effects["label_entropy"].value
        found.append(arm if ratio is None else replace(arm, share_of_gold=(1 - ratio) / gain))
    return found
