"""Arms against a baseline: one pass over the examples of all of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.comparison.aligned import Aligned
from seedproof.comparison.arms.explanations import ArmExplanations, compare_explanations
from seedproof.comparison.arms.least_sure import LeastSure
from seedproof.comparison.arms.matched_rates import (
    RATE_ESTIMATED,
    MatchedShards,
    match_thresholds,
    notes_on_matching,
)
from seedproof.comparison.arms.movers import Movers
from seedproof.comparison.arms.result import VOTE_SHARES, ComparedArm, Comparison, MatchedRate
from seedproof.engines import SerialEngine, in_order
from seedproof.errors import DamagedStoreError, LabelConflictError, OptionError, SeedproofError
from seedproof.measurement.choice import asks_for_explanations, narrowed
from seedproof.measurement.examples import StoredExamples
from seedproof.measurement.measure import known, measured, note_on_left_out
from seedproof.measurement.result import Measurement
from seedproof.measurement.tally import Tally, batches
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
class Side:
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

    def is_paired_with(self, other: "Side") -> bool:
        """Whether run r of both was made under the same seeds."""
        return self.seeds is not None and self.seeds == other.seeds

    def partners_in(self, other: "Side") -> tuple[int, ...] | None:
        """For each run the row of the other side's run with the same seeds, or −1.

        None where one of the sides has no seeds.
        """
        if self.seeds is None or other.seeds is None:
            return None
        rows = {seeds: row for row, seeds in enumerate(other.seeds)}
        return tuple(rows.get(seeds, -1) for seeds in self.seeds)


@dataclass(eq=False)
class Beside:
    """What one arm and the baseline share, over the examples so far.

    Args:
        n_base: Runs of the baseline.
        n_arm: Runs of the arm.
        is_paired: Whether they share their seeds.
        partners: Which runs of theirs share their seeds, as `Side.partners_in` has it.
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

    def merge(self, other: "Beside") -> None:
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
class ComparedPart:
    """What a part of the examples gives: for each side a tally and rows, for each arm more.

    Shards that are damaged in some run may be left out: of all sides, with the reason.
    """

    tallies: list[Tally]
    tables: list[pa.Table]
    besides: list[Beside]
    left_out: list[tuple[int, SeedproofError]] = field(default_factory=list)

    def merge(self, other: "ComparedPart") -> None:
        """Add other examples; their rows are written elsewhere."""
        self.left_out += other.left_out
        for mine, theirs in zip(self.tallies, other.tallies, strict=True):
            mine.merge(theirs)
        for beside, another in zip(self.besides, other.besides, strict=True):
            beside.merge(another)


@dataclass(frozen=True, eq=False)
class CompareShard:
    """Compares one shard; frozen, so that it can travel to another process."""

    aligned: Aligned
    paired: tuple[bool, ...]
    partners: tuple[tuple[int, ...] | None, ...]
    skip_damaged: bool = False
    metrics: Collection[str] | None = None

    def empty(self) -> ComparedPart:
        """A part without examples."""
        sources = self.aligned.sources
        tallies = [
            Tally(len(one.runs), len(one.classes), known(one), self.metrics) for one in sources
        ]
        besides = [
            Beside(len(sources[0].runs), len(source.runs), is_paired, partners)
            for source, is_paired, partners in zip(
                sources[1:], self.paired, self.partners, strict=True
            )
        ]
        return ComparedPart(tallies, [], besides)

    def __call__(self, index: int) -> ComparedPart:
        """Partial results of shard `index`."""
        try:
            return self._compared(index)
        except DamagedStoreError as error:
            if not self.skip_damaged:
                raise
            return replace(self.empty(), left_out=[(index, error)])

    def _compared(self, index: int) -> ComparedPart:
        part = self.empty()
        first = self.aligned.shard(index)
        n_rows = batch_rows(max(_width(source) for source in self.aligned.sources))
        base = list(batches(first, len(self.aligned.sources[0].classes), n_rows))
        values = [part.tallies[0].add(batch) for batch in base]
        part.tables.append(part.tallies[0].close(first, self.aligned.sources[0].classes).table())
        for side, beside in enumerate(part.besides, start=1):
            source, tally = self.aligned.sources[side], part.tallies[side]
            shard = self.aligned.beside(side, first)
            cut = batches(shard, len(source.classes), n_rows)
            for batch, mine, my_values in zip(cut, base, values, strict=True):
                beside.update((mine, my_values), (batch, tally.add(batch)))
            part.tables.append(tally.close(shard, source.classes).table())
            beside.movers.update(
                (first, part.tables[0], self.aligned.sources[0].classes),
                (shard, part.tables[side], source.classes),
            )
        return part


def _width(source: ShardSource) -> int:
    """Values of one example over all runs, about."""
    of_kind = {Kind.PROBS: len(source.classes), Kind.TOP: USUAL_TOP, Kind.LABELS: 1}
    return len(source.runs) * of_kind[source.kind]


def compare_sides(
    sides: Sequence[Side],
    folder: Location,
    *,
    gold: str | None = None,
    metrics: Collection[str] | None = None,
    match_rates: bool = False,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Every arm against the first."""
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
    aligned = Aligned(names, tuple(narrowed(side.source, metrics) for side in sides))
    _check_labels(sides)
    notes: list[Message] = []
    if match_rates:
        matched = match_thresholds(aligned, skip_damaged=skip_damaged)
        aligned, notes = Aligned(names, tuple(matched)), notes_on_matching(names, matched)
    paired = tuple(side.is_paired_with(sides[0]) for side in sides[1:])
    partners = tuple(side.partners_in(sides[0]) for side in sides[1:])
    task = CompareShard(aligned, paired, partners, skip_damaged, metrics)
    files = [folder / f"{index}.parquet" for index in range(len(sides))]
    whole = _whole(task, files, progress)
    tail = each_tail(len(sides) - 1)
    reasons = [
        ArmExplanations(name, source, is_paired)
        for name, source, is_paired in zip(names, aligned.sources, (False, *paired), strict=True)
    ]
    stores = [side.source.location for side in sides]
    lost = []
    for index, error in whole.left_out:
        for store in stores:
            error = as_reason(error, store)  # noqa: PLW2901 - its paths, in whichever store
        lost.append(note_on_left_out(sides[0].source, index, error))
    missing = _n_missing(sides[0].source, [index for index, _ in whole.left_out])
    found = [
        _without(measured(source, tally, StoredExamples(file), (*side.notes, *lost)), *missing)
        for side, source, tally, file in zip(
            sides, aligned.sources, whole.tallies, files, strict=True
        )
    ]
    notes += [note for side in sides for note in side.notes] + lost
    if asks_for_explanations(metrics):
        notes += compare_explanations(reasons, tail=tail, skip_damaged=skip_damaged)
    measurements = [
        replace(one, explanations=why.measured) for one, why in zip(found, reasons, strict=True)
    ]
    results = [tally.result() for tally in whole.tallies]
    rates = [one.rate if isinstance(one, MatchedShards) else None for one in aligned.sources]
    baseline = ComparedArm(
        sides[0].name, measurements[0], costs=sides[0].costs, matched_rate=rates[0]
    )
    arms = [
        ComparedArm(
            name=side.name,
            measurement=measurement,
            effects=_judged(beside.effects(results[0], result, tail=tail), rate),
            explanations=why.effects,
            is_paired=beside.is_paired,
            high_entropy=beside.least_sure.result(),
            costs=side.costs,
            votes=beside.votes,
            settled=beside.movers.settled,
            unsettled=beside.movers.unsettled,
            matched_rate=rate,
        )
        for side, measurement, result, beside, why, rate in zip(
            sides[1:],
            measurements[1:],
            results[1:],
            whole.besides,
            reasons[1:],
            rates[1:],
            strict=True,
        )
    ]
    return Comparison(
        baseline=baseline,
        arms=tuple(_beside_gold(arms, gold)),
        confidence=1 - 2 * tail,
        notes=tuple(dict.fromkeys(notes)),
        gold=gold,
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


def _without(measurement: Measurement, n_examples: int, n_labeled: int) -> Measurement:
    """A measurement whose tally lacks some of the source's examples, with as many as it has."""
    return replace(
        measurement,
        n_examples=measurement.n_examples - n_examples,
        n_labeled=measurement.n_labeled - n_labeled,
    )


def _n_missing(first: ShardSource, left_out: Sequence[int]) -> tuple[int, int]:
    """Number of examples in shards that are left out, and how many of them have a label."""
    counts = [first.counts(index) for index in left_out]
    return sum(n_rows for n_rows, _ in counts), sum(n_labeled for _, n_labeled in counts)


def _check_labels(sides: Sequence[Side]) -> None:
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
    task: CompareShard, files: Sequence[Location], progress: Progress | None
) -> ComparedPart:
    whole, n_shards = task.empty(), task.aligned.n_shards
    with ExitStack() as stack:
        writers: list[pq.ParquetWriter] = []
        opened = [stack.enter_context(file.open_write()) for file in files]
        outcomes = SerialEngine().map(task, range(n_shards))
        for index, part in enumerate(in_order(outcomes)):
            whole.merge(part)
            if part.tables and not writers:
                writers = [
                    stack.enter_context(pq.ParquetWriter(file, rows.schema, compression="zstd"))
                    for file, rows in zip(opened, part.tables, strict=True)
                ]
            for writer, rows in zip(writers if part.tables else (), part.tables, strict=True):
                writer.write_table(rows)
            if progress is not None:
                progress(index + 1, n_shards)
    return whole


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
