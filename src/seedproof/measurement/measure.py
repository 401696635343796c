"""The measuring pass: shards in, partial results folded in order, figures with intervals out."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from seedproof.engines import Engine
from seedproof.errors import (
    DamagedStoreError,
    EmptyInputError,
    NotFoundError,
    SeedproofError,
)
from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.engines import map_shards
from seedproof.measurement.examples import (
    ExampleRows,
    ExampleTable,
    StoredExamples,
    clear_examples,
    examples_of,
    packed,
    write_part,
)
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.accumulator import Need
from seedproof.records.location import Location
from seedproof.records.reader import as_reason
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.stats.intervals import estimate
from seedproof.typing import Progress


def known(source: ShardSource) -> frozenset[Need]:
    """What is known beside predictions."""
    needs: set[Need] = set()
    if source.n_labeled:
        needs.add("labels")
    match source.kind:
        case Kind.PROBS:
            needs |= {"confidence", "probs"}
        case Kind.TOP:
            needs |= {"confidence", "truncated"}
    return frozenset(needs)


@dataclass(frozen=True, eq=False)
class MeasuredShard:
    """What a shard amounts to: partial results, or why it is left out."""

    index: int
    tally: MetricAccumulators | None = None
    left_out: SeedproofError | None = None


def measure_shard(
    source: ShardSource,
    index: int,
    *,
    asked: Collection[str] | None = None,
    skip_damaged: bool = False,
) -> tuple[MeasuredShard, ExampleRows | None]:
    """Partial results of one shard, and the rows of its examples."""
    tally = MetricAccumulators(len(source.runs), len(source.classes), known(source), asked)
    try:
        shard = source.shard(index)
    except DamagedStoreError as error:
        if not skip_damaged:
            raise
        return MeasuredShard(index, left_out=error), None
    return MeasuredShard(index, tally), tally.update(shard, source.classes)


@dataclass(frozen=True)
class MeasureShard:
    """Measures a shard where it is called; frozen, so that it can travel.

    Args:
        source: Aligned runs.
        folder: Where the rows of each shard are written, a file each; they do not travel back.
        asked: Names of metrics; everything that the data allows without them.
        skip_damaged: Whether a shard that is damaged in some run is left out.
    """

    source: ShardSource
    folder: Location
    asked: Collection[str] | None = None
    skip_damaged: bool = False

    def __call__(self, index: int) -> MeasuredShard:
        """Return what a shard amounts to."""
        part, rows = measure_shard(
            self.source, index, asked=self.asked, skip_damaged=self.skip_damaged
        )
        if rows is not None:
            write_part(packed(rows), self.folder, index)
        return part


def measure_shards(
    source: ShardSource,
    examples_file: Location,
    *,
    asked: Collection[str] | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> Measurement:
    """Every metric that is asked for and that the data allows, in one pass, here and now."""
    whole = _Whole(source, asked)
    with examples_of(source, examples_file) as sink:
        for index in range(source.n_shards):
            part, rows = measure_shard(source, index, asked=asked, skip_damaged=skip_damaged)
            if rows is not None:
                sink.add(rows)
            whole.add(part)
            if progress is not None:
                progress(index + 1, source.n_shards)
    return whole.result(sink.table, notes)


def measure_on(
    engine: Engine,
    source: ShardSource,
    examples_folder: Location,
    *,
    asked: Collection[str] | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> Measurement:
    """The same pass by the workers of an engine."""
    clear_examples(examples_folder)
    examples_folder.make_folder()
    task = MeasureShard(source, examples_folder, asked, skip_damaged)
    whole = _Whole(source, asked)
    for part in map_shards(task, source.n_shards, engine=engine, progress=progress):
        whole.add(part)
    if len(examples_folder.files_inside()) != source.n_shards - len(whole.left_out):
        raise NotFoundError(
            "Workers wrote rows of examples that are not in {examples_folder} here. Give a folder "
            "or URL for examples that all machines see.",
            examples_folder=examples_folder,
        )
    return whole.result(StoredExamples(examples_folder), notes)


class _Whole:
    """All partial results, added in the order of the shards."""

    def __init__(self, source: ShardSource, asked: Collection[str] | None) -> None:
        self.left_out: list[MeasuredShard] = []
        self._source = source
        self._tally = MetricAccumulators(
            len(source.runs), len(source.classes), known(source), asked
        )

    def add(self, part: MeasuredShard) -> None:
        """Add the next shard."""
        if part.tally is None:
            self.left_out.append(part)
        else:
            self._tally.merge(part.tally)

    def result(self, examples: ExampleTable, notes: tuple[Message, ...]) -> Measurement:
        """Figures with intervals, of what was not left out."""
        further = tuple(self._notes())
        return measured(
            self._source,
            self._tally,
            examples,
            (*notes, *further),
            left_out=[part.index for part in self.left_out],
        )

    def _notes(self) -> Iterator[Message]:
        for part in self.left_out:
            if part.left_out is not None:
                yield note_on_left_out(self._source, part.index, part.left_out)


def note_on_left_out(source: ShardSource, index: int, error: SeedproofError) -> Message:
    """What a person should know of a shard that is in no figure."""
    size = source.rows_per_shard
    n_rows = min(size, source.n_examples - index * size)
    return Message(
        "examples-left-out",
        "{n_examples:,} examples, row group {row_group}, are left out of all runs. {why}",
        n_examples=n_rows,
        row_group=index,
        why=as_reason(error, source.location),
    )


def measured(
    source: ShardSource,
    tally: MetricAccumulators,
    examples: ExampleTable,
    notes: tuple[Message, ...] = (),
    *,
    left_out: Sequence[int] = (),
) -> Measurement:
    """What a tally of all shards amounts to."""
    if tally.worst is None:
        raise EmptyInputError(
            "There are no examples to measure.{listed}",
            listed="".join(f" {note}" for note in notes),
            notes=notes,
        )
    lost = [source.counts(index) for index in left_out]
    return Measurement(
        runs=source.runs,
        classes=source.classes,
        n_examples=source.n_examples - sum(n_rows for n_rows, _ in lost),
        n_labeled=source.n_labeled - sum(n_labeled for _, n_labeled in lost),
        kind=str(source.kind),
        metrics={name: estimate(statistic) for name, statistic in tally.result().items()},
        detail=tally.detail(),
        worst=tally.worst,
        example_table=examples,
        notes=notes,
        left_out=tuple(left_out),
    )
