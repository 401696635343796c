"""The measuring pass: shards in, partial results merged in order, figures with intervals out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seedproof.engines import Engine
from seedproof.errors import (
    DamagedStoreError,
    EmptyInputError,
    InputError,
    NotFoundError,
    SeedproofError,
)
from seedproof.measurement.accumulators import Accumulators, MetricAccumulators
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
    StoredExamples,
    clear_examples,
    examples_of,
    packed,
    write_part,
)
from seedproof.measurement.explanations.measure import measure_explanations
from seedproof.measurement.group_metrics import GroupAccumulator
from seedproof.measurement.items import ItemAccumulators
from seedproof.measurement.numbers import NumberAccumulators
from seedproof.measurement.result import Measurement
from seedproof.measurement.selection import chosen_families, known
from seedproof.measurement.texts import TextAccumulators
from seedproof.measurement.trend import main_figure, runs_trend
from seedproof.messages import Message
from seedproof.metrics.accuracy import Accuracy
from seedproof.predictions.checks import by_severity
from seedproof.records.explanation_shards import explanations_of
from seedproof.records.explanation_shards import left_out as note_on_method
from seedproof.records.location import Location
from seedproof.records.reader import as_reason
from seedproof.records.schema import ITEMS, Kind
from seedproof.records.shards import ShardSource
from seedproof.stats.intervals import estimate
from seedproof.typing import Progress

if TYPE_CHECKING:
    from seedproof.measurement.explanations.result import ExplanationMeasurement

# Below this, starting workers takes longer than the work.
MIN_EXPLANATION_SHARDS = 8


@dataclass(frozen=True, eq=False)
class MeasuredShard:
    """Partial results of a shard, or the reason why it is left out."""

    index: int
    accumulators: Accumulators[Any] | None = None
    left_out: SeedproofError | None = None
    notes: tuple[Message, ...] = ()


def measure_shard(
    source: ShardSource,
    index: int,
    *,
    requested: Collection[str] | None = None,
    clusters: str | None = None,
    slices: Sequence[str] = (),
    skip_damaged: bool = False,
) -> tuple[MeasuredShard, ExampleRows | None]:
    """Return the partial results of one shard, and the rows of its examples."""
    accumulators = _new_accumulators(source, requested, clusters, slices)
    try:
        shard = source.shard(index)
    except DamagedStoreError as error:
        if not skip_damaged:
            raise
        return MeasuredShard(index, left_out=error), None
    keys = ClusterKeys.of(shard, clusters)
    blocks = blocks_in(shard, keys, source.rows_per_shard)
    rows = accumulators.update(shard, source.classes, keys, blocks)
    hint = cluster_hint(shard) if index == 0 and clusters is None else None
    return MeasuredShard(index, accumulators, notes=() if hint is None else (hint,)), rows


def _new_accumulators(
    source: ShardSource,
    requested: Collection[str] | None,
    clusters: str | None,
    slices: Sequence[str],
) -> Accumulators[Any]:
    if source.kind is Kind.NUMBERS:
        return NumberAccumulators(source, requested, slices)
    if source.kind in ITEMS:
        return ItemAccumulators(source, requested, slices)
    if source.kind is Kind.TEXTS:
        return TextAccumulators(source, requested, slices, has_clusters=clusters is not None)
    n_runs, n_classes, has = len(source.runs), len(source.classes), known(source)
    groups = GroupAccumulator(
        n_runs,
        source.classes,
        slices,
        has_clusters=clusters is not None,
        is_labeled="labels" in has,
        has_accuracy=Accuracy in chosen_families(has, requested),
    )
    return MetricAccumulators(n_runs, n_classes, has, requested, groups)


@dataclass(frozen=True)
class MeasureShard:
    """A picklable task that measures one shard and writes the rows of its examples to a file."""

    source: ShardSource
    folder: Location
    requested: Collection[str] | None = None
    clusters: str | None = None
    slices: Sequence[str] = ()
    skip_damaged: bool = False

    def __call__(self, index: int) -> MeasuredShard:
        """Return the partial results of a shard."""
        part, rows = measure_shard(
            self.source,
            index,
            requested=self.requested,
            clusters=self.clusters,
            slices=self.slices,
            skip_damaged=self.skip_damaged,
        )
        if rows is not None:
            write_part(packed(rows), self.folder, index)
        return part


def measure_shards(
    source: ShardSource,
    examples_file: Location,
    *,
    requested: Collection[str] | None = None,
    clusters: str | None = None,
    slices: Sequence[str] = (),
    skip_damaged: bool = False,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> Measurement:
    """Measure every requested metric that the data allows, in one pass in this process."""
    whole = _Whole(source, requested, clusters, slices)
    with examples_of(source, examples_file) as sink:
        for index in range(source.n_shards):
            part, rows = measure_shard(
                source,
                index,
                requested=requested,
                clusters=clusters,
                slices=slices,
                skip_damaged=skip_damaged,
            )
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
    requested: Collection[str] | None = None,
    clusters: str | None = None,
    slices: Sequence[str] = (),
    skip_damaged: bool = False,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> Measurement:
    """Measure the same on the workers of an engine."""
    clear_examples(examples_folder)
    examples_folder.make_folder()
    task = MeasureShard(source, examples_folder, requested, clusters, slices, skip_damaged)
    whole = _Whole(source, requested, clusters, slices)
    for part in map_shards(task, source.n_shards, engine=engine, progress=progress):
        whole.add(part)
    if len(examples_folder.files_inside()) != source.n_shards - len(whole.left_out):
        raise NotFoundError(
            "Workers wrote rows of examples that are not in {examples_folder} on this machine. "
            "Pass a folder or URL for examples that all machines share.",
            examples_folder=examples_folder,
        )
    return whole.result(StoredExamples(examples_folder), notes)


class _Whole:
    """All partial results, added in the order of the shards."""

    def __init__(
        self,
        source: ShardSource,
        requested: Collection[str] | None,
        clusters: str | None,
        slices: Sequence[str],
    ) -> None:
        self.left_out: dict[int, SeedproofError] = {}
        self._source = source
        self._clusters = clusters
        self._notes: list[Message] = []
        self._accumulators = _new_accumulators(source, requested, clusters, slices)

    def add(self, part: MeasuredShard) -> None:
        """Add the next shard."""
        self._notes += part.notes
        if part.accumulators is not None:
            self._accumulators.merge(part.accumulators)
        elif part.left_out is not None:
            self.left_out[part.index] = part.left_out

    def result(self, examples: ExampleTable, notes: tuple[Message, ...]) -> Measurement:
        """Return figures with intervals, of all shards that were not left out."""
        further = [note_on_left_out(self._source, *shard) for shard in self.left_out.items()]
        return measured(
            self._source,
            self._accumulators,
            examples,
            (*notes, *further, *self._notes),
            clusters=self._clusters,
            left_out=list(self.left_out),
        )


def note_on_left_out(source: ShardSource, index: int, error: SeedproofError) -> Message:
    """Return the note on a shard that is in no figure."""
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
    accumulators: Accumulators[Any],
    examples: ExampleTable,
    notes: tuple[Message, ...] = (),
    *,
    clusters: str | None = None,
    left_out: Sequence[int] = (),
) -> Measurement:
    """Return the measurement of accumulators to which all shards were added."""
    if accumulators.unstable_examples is None:
        raise EmptyInputError(
            "There are no examples to measure.{listed}",
            listed="".join(f" {note}" for note in notes),
            notes=notes,
        )
    lost = [source.counts(index) for index in left_out]
    sums = accumulators.clusters
    statistics = accumulators.result()
    metrics = {name: estimate(value) for name, value in statistics.items()}
    by_class, slices = accumulators.group_metrics(metrics)
    runs, detail = accumulators.run_names(source), accumulators.detail()
    main = main_figure(detail)
    trend = () if main is None else runs_trend(runs, *main, noun=source.repeats)
    return Measurement(
        runs=runs,
        classes=accumulators.class_names(source),
        n_examples=source.n_examples - sum(n_rows for n_rows, _ in lost),
        n_labeled=source.n_labeled - sum(n_labeled for _, n_labeled in lost),
        kind=str(source.kind),
        metrics=metrics,
        detail=detail,
        unstable_examples=accumulators.unstable_examples,
        example_table=examples,
        notes=(*notes, *accumulators.notes),
        left_out=tuple(left_out),
        checks=by_severity([*accumulators.checks(source), *trend]),
        repeats=source.repeats,
        levels=accumulators.levels,
        clusters=None if sums is None or clusters is None else sums.described(clusters),
        weights=source.settings.weights,
        by_class=by_class,
        slices=slices,
        statistics=statistics,
    )


def with_explanations(
    measurement: Measurement,
    source: ShardSource,
    *,
    engine: Engine | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Measurement:
    """Add the explanations of the same runs, by every method, to a measurement of predictions."""
    refused: tuple[type[SeedproofError], ...] = (InputError,)
    if skip_damaged:
        refused += (DamagedStoreError,)
    sources, notes = explanations_of(source, skip_damaged=skip_damaged)
    if sources and measurement.clusters is not None:
        notes = (*notes, NOT_IN_EXPLANATIONS)
    if sources and measurement.weights is not None:
        notes = (*notes, NOT_WEIGHTED)
    explanations: dict[str, ExplanationMeasurement] = {}
    for method, explained in sources.items():
        try:
            explanations[method] = measure_explanations(
                explained,
                predictions=None if source.kind in (Kind.NUMBERS, Kind.TEXTS, *ITEMS) else source,
                engine=None if explained.n_shards < MIN_EXPLANATION_SHARDS else engine,
                progress=progress,
            )
        except refused as error:
            notes = (*notes, note_on_method(method, error, source))
    return replace(measurement, explanations=explanations, notes=(*measurement.notes, *notes))
