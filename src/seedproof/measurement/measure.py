"""The measuring pass: shards in, partial results folded in order, figures with intervals out."""

from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.engines import Engine, SerialEngine, in_order
from seedproof.errors import EmptyInputError
from seedproof.measurement.intervals import estimate
from seedproof.measurement.result import Measurement
from seedproof.measurement.tally import Tally
from seedproof.metrics.accumulator import Need
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import Progress


@dataclass(frozen=True)
class MeasureShard:
    """Measures one shard; frozen, so that it can travel to another process."""

    source: ShardSource

    def __call__(self, index: int) -> tuple[Tally, pa.Table]:
        """Partial results of shard `index`, and the rows of its examples."""
        source = self.source
        tally = Tally(len(source.runs), len(source.classes), known(source))
        return tally, tally.update(source.shard(index), source.classes)


def known(source: ShardSource) -> frozenset[Need]:
    """What is known beside predictions."""
    needs: set[Need] = set()
    if source.n_labeled:
        needs.add("labels")
    if source.kind is Kind.PROBS:
        needs.add("probs")
    return frozenset(needs)


def measure_shards(
    source: ShardSource,
    examples_file: Location,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    notes: tuple[str, ...] = (),
) -> Measurement:
    """Every metric that the data allows, in one pass.

    Args:
        source: Aligned runs.
        examples_file: Where the table of examples is written, as Parquet.
        engine: Where shards are measured; here and now without one.
        progress: Told how many shards are done.
        notes: Passed on to the result.

    Returns:
        The same bytes whatever the engine, its workers and the order in which they finish.
    """
    whole = Tally(len(source.runs), len(source.classes), known(source))
    outcomes = (engine or SerialEngine()).map(MeasureShard(source), range(source.n_shards))
    with ExitStack() as stack:
        file = stack.enter_context(examples_file.open_write())
        writer: pq.ParquetWriter | None = None
        for index, (part, rows) in enumerate(in_order(outcomes)):
            whole.merge(part)
            if writer is None:
                writer = stack.enter_context(
                    pq.ParquetWriter(file, rows.schema, compression="zstd")
                )
            writer.write_table(rows)
            if progress is not None:
                progress(index + 1, source.n_shards)
    return measured(source, whole, examples_file, notes)


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
