"""The measuring pass: shards in, partial results folded in order, figures with intervals out."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.engines import in_order
from seedproof.errors import EmptyInputError, NotFoundError
from seedproof.measurement.engines import Workers
from seedproof.measurement.examples import clear_examples, part_name
from seedproof.measurement.intervals import estimate
from seedproof.measurement.result import Measurement
from seedproof.measurement.tally import Tally
from seedproof.metrics.accumulator import Need
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import Progress

COMPRESSION = "zstd"


def known(source: ShardSource) -> frozenset[Need]:
    """What is known beside predictions."""
    needs: set[Need] = set()
    if source.n_labeled:
        needs.add("labels")
    if source.kind is Kind.PROBS:
        needs.add("probs")
    return frozenset(needs)


def measure_shard(source: ShardSource, index: int) -> tuple[Tally, pa.Table]:
    """Partial results of one shard, and the rows of its examples."""
    tally = Tally(len(source.runs), len(source.classes), known(source))
    return tally, tally.update(source.shard(index), source.classes)


@dataclass(frozen=True)
class MeasureShards:
    """Measures some shards where it is called; frozen, so that it can travel.

    Args:
        source: Aligned runs.
        folder: Where the rows of each shard are written, a file each; they do not travel back.
    """

    source: ShardSource
    folder: Location

    def __call__(self, indices: Sequence[int]) -> list[Tally]:
        """Partial results of each shard, in order."""
        return [self._measure(index) for index in indices]

    def _measure(self, index: int) -> Tally:
        tally, rows = measure_shard(self.source, index)
        content = pa.BufferOutputStream()
        pq.write_table(rows, content, compression=COMPRESSION)
        # At once, so that somebody who does the same work again leaves the same file.
        (self.folder / part_name(index)).replace(content.getvalue().to_pybytes())
        return tally


def measure_shards(
    source: ShardSource,
    examples_file: Location,
    *,
    progress: Progress | None = None,
    notes: tuple[str, ...] = (),
) -> Measurement:
    """Every metric that the data allows, in one pass, here and now.

    Args:
        source: Aligned runs.
        examples_file: Where the table of examples is written, as Parquet.
        progress: Told how many shards are done.
        notes: Passed on to the result.

    Returns:
        Figures with intervals.
    """
    with ExitStack() as stack:
        file = stack.enter_context(examples_file.open_write())
        writer: pq.ParquetWriter | None = None

        def tallies() -> Iterator[Tally]:
            nonlocal writer
            for index in range(source.n_shards):
                tally, rows = measure_shard(source, index)
                if writer is None:
                    writer = stack.enter_context(
                        pq.ParquetWriter(file, rows.schema, compression=COMPRESSION)
                    )
                writer.write_table(rows)
                yield tally

        whole = _fold(source, tallies(), progress)
    return measured(source, whole, examples_file, notes)


def measure_on(
    workers: Workers,
    source: ShardSource,
    examples_folder: Location,
    *,
    progress: Progress | None = None,
    notes: tuple[str, ...] = (),
) -> Measurement:
    """The same pass by the workers of an engine.

    Args:
        workers: Who measures.
        source: Aligned runs, which every worker can read.
        examples_folder: Where workers write the table of examples, a Parquet file a shard.
        progress: Told how many shards are done.
        notes: Passed on to the result.

    Returns:
        The same bytes whatever the engine, its workers and the order in which they finish.

    Raises:
        NotFoundError: Rows were written to a place that this machine does not see.
    """
    clear_examples(examples_folder)
    examples_folder.make_folder()
    n_shards, at_a_time = source.n_shards, workers.shards_per_task
    items = [range(i, min(i + at_a_time, n_shards)) for i in range(0, n_shards, at_a_time)]
    outcomes = workers.engine.map(MeasureShards(source, examples_folder), items)
    tallies = (tally for some in in_order(outcomes) for tally in some)
    whole = _fold(source, tallies, progress)
    if len(examples_folder.files_inside()) != n_shards:
        raise NotFoundError(
            f"Workers wrote rows of examples that are not in {examples_folder} here. Give a folder "
            "or URL for examples that all machines see."
        )
    return measured(source, whole, examples_folder, notes)


def _fold(source: ShardSource, tallies: Iterator[Tally], progress: Progress | None) -> Tally:
    """All partial results as one, added in the order of the shards."""
    whole = Tally(len(source.runs), len(source.classes), known(source))
    for index, tally in enumerate(tallies):
        whole.merge(tally)
        if progress is not None:
            progress(index + 1, source.n_shards)
    return whole


def measured(
    source: ShardSource, tally: Tally, examples_file: Location, notes: tuple[str, ...] = ()
) -> Measurement:
    """What a tally of all shards amounts to.

    Args:
        source: Where the shards came from.
        tally: All of them.
        examples_file: Where the table of examples was written.
        notes: Passed on.

    Returns:
        Figures with intervals.

    Raises:
        EmptyInputError: There were no examples.
    """
    if tally.worst is None:
        raise EmptyInputError("There are no examples to measure.")
    return Measurement(
        runs=source.runs,
        classes=source.classes,
        n_examples=source.n_examples,
        n_labeled=source.n_labeled,
        kind=str(source.kind),
        metrics={name: estimate(statistic) for name, statistic in tally.result().items()},
        detail=tally.detail(),
        worst=tally.worst,
        examples_file=examples_file,
        notes=notes,
    )
