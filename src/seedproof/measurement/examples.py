"""The table with one row per example, in memory or in Parquet files, and its least stable rows."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs

from seedproof.errors import NotFoundError, OptionError
from seedproof.metrics.batch import Batch
from seedproof.records.arrow import texts_to_arrow, to_arrow
from seedproof.records.drafts import is_temporary
from seedproof.records.location import Location
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import ShardSource
from seedproof.typing import FloatArray, IntArray

EXAMPLES_FILE = "examples.parquet"
# First bytes of a Parquet file, which one that was cut off has as well.
MAGIC = b"PAR1"
# Number of the least stable examples that are kept.
N_KEPT = 500
VOTE_COLUMNS = ("predictions", "probs")
KEYS = ("flip_rate", "label_entropy", "probability_sd")
COMPRESSION = "zstd"
# As `write_part` names them and their drafts: other tools write `part-0.parquet`.
PART = re.compile(r"part-\d{6,}\.parquet(\.[0-9a-f]{32})?")


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """The examples of a shard."""

    ids: pa.Array
    labels: IntArray | None  # gold class indices, -1 where unknown; None if no example has one
    extras: pa.Table | None  # further columns of the input
    columns: Mapping[str, np.ndarray]  # columns of the metrics, one value per example
    classes: tuple[str, ...]

    def take(self, places: IntArray) -> "ExampleRows":
        """Return some of the rows."""
        taken = to_arrow(places)
        return replace(
            self,
            ids=self.ids.take(taken),
            labels=None if self.labels is None else self.labels[places],
            extras=None if self.extras is None else self.extras.take(taken),
            columns={name: values[places] for name, values in self.columns.items()},
        )

    def table(self) -> pa.Table:
        """Return the rows with class names instead of indices."""
        names = texts_to_arrow(self.classes)
        table: dict[str, pa.Array | pa.ChunkedArray] = {"example": self.ids}
        if self.labels is not None:
            indices = to_arrow(self.labels, missing=self.labels == UNLABELED)
            table["label"] = names.take(indices)
        for name, values in self.columns.items():
            if name == "consensus":
                table[name] = names.take(to_arrow(values))
            else:
                table[name] = to_arrow(values, missing=np.isnan(values))
        if self.extras is not None:
            for name in self.extras.column_names:
                free = f"extra.{name}" if name in table or name in VOTE_COLUMNS else name
                table[free] = self.extras.column(name)
        return pa.table(table)


class ExampleTable(ABC):
    """One row per example, in the order of their ids."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the table in pieces, with all columns or those of the given ones that it has."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the whole table, or some of its columns."""

    @abstractmethod
    def save(self, place: Location) -> None:
        """Write the table as Parquet in place of an earlier one."""

    def moved(self, where: Callable[[Location], Location]) -> "ExampleTable":
        """Return the same table after its files were moved."""
        del where
        return self


@dataclass(eq=False)
class HeldExamples(ExampleTable):
    """Examples in memory, as arrays until the table is read."""

    parts: list[ExampleRows] = field(default_factory=list)

    @property
    def table(self) -> ExampleTable:
        """The table of all added examples."""
        return self

    def add(self, rows: ExampleRows) -> None:
        """Add the next shard."""
        self.parts.append(rows)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the table shard by shard."""
        for part in self.parts:
            table = part.table()
            kept = None if columns is None else [n for n in columns if n in table.column_names]
            yield from (table if kept is None else table.select(kept)).to_batches()

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the whole table, or some of its columns."""
        table = pa.concat_tables([part.table() for part in self.parts])
        return table if columns is None else table.select(columns)

    def save(self, place: Location) -> None:
        """Write one file."""
        clear_examples(place)
        with ExampleWriter(place) as writer:
            for part in self.parts:
                writer.add(part)


@dataclass(frozen=True)
class StoredExamples(ExampleTable):
    """Examples in a Parquet file, or in a folder with one file per shard."""

    place: Location

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the table in pieces, one in memory at a time."""
        import pyarrow.parquet as pq

        for file in example_files(self.place):
            with file.files.open_input_file(file.path) as opened, pq.ParquetFile(opened) as content:
                has = content.schema_arrow.names
                names = None if columns is None else [name for name in columns if name in has]
                yield from content.iter_batches(columns=names)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the whole table, or some of its columns."""
        files = example_files(self.place)
        if not files:
            raise NotFoundError(
                "{path} was deleted with its report. Save the report first, or keep it in memory.",
                path=self.place,
            )
        return pa.concat_tables([_read_parquet(file, columns) for file in files])

    def save(self, place: Location) -> None:
        """Copy the files; temporary ones on the same disk are linked instead."""
        if self.place == place:  # the report was loaded from there, or written there
            return
        clear_examples(place)
        if place.is_local and self._link(Path(place.path)):
            return
        if self.place.is_folder():
            place.make_folder()
        pyarrow.fs.copy_files(
            self.place.path,
            place.path,
            source_filesystem=self.place.files,
            destination_filesystem=place.files,
        )

    def _link(self, target: Path) -> bool:
        """Link the files if only this process writes to them; False if they must be copied."""
        source = Path(self.place.path)
        if not self.place.is_local or not is_temporary(source):
            return False
        names = [Path(file.path).relative_to(source) for file in example_files(self.place)]
        try:
            if names != [Path()]:
                target.mkdir()
            for name in names:
                os.link(source / name, target / name)
        except OSError:
            clear_examples(Location.of(target))
            return False
        return True

    def moved(self, where: Callable[[Location], Location]) -> "StoredExamples":
        """Return the same table after its files were moved."""
        return StoredExamples(where(self.place))


class ExampleWriter(ExitStack):
    """Writer of examples to one Parquet file, shard by shard."""

    def __init__(self, place: Location) -> None:
        super().__init__()
        self.place = place
        self._writer: Any = None

    def __enter__(self) -> Self:
        self._file = self.enter_context(self.place.open_write())
        return super().__enter__()

    @property
    def table(self) -> ExampleTable:
        """The table of all added examples, once the file is closed."""
        return StoredExamples(self.place)

    def add(self, rows: ExampleRows) -> None:
        """Add the next shard."""
        self.write(rows.table())

    def write(self, table: pa.Table) -> None:
        """Write rows."""
        if self._writer is None:
            import pyarrow.parquet as pq

            self._writer = self.enter_context(
                pq.ParquetWriter(self._file, table.schema, **_encoding(table.schema))
            )
        self._writer.write_table(table)


@contextmanager
def examples_of(source: ShardSource, place: Location) -> Iterator["HeldExamples | ExampleWriter"]:
    """Yield a sink for measured examples: memory if the source is in memory, else a file."""
    if source.is_in_memory:
        yield HeldExamples()
    else:
        with ExampleWriter(place) as writer:
            yield writer


def example_files(place: Location) -> list[Location]:
    """Return the files of a table of examples, in the order of their ids; empty if none."""
    return [place] if place.is_file() else place.files_inside()


def packed(rows: ExampleRows) -> bytes:
    """Return the examples of one shard as a Parquet file, their smallest form to send."""
    import pyarrow.parquet as pq

    content = pa.BufferOutputStream()
    table = rows.table()
    pq.write_table(table, content, **_encoding(table.schema))
    return bytes(content.getvalue())


def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Return how columns are written: a dictionary of numbers takes longer than all the rest."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return {"compression": COMPRESSION, "use_dictionary": texts}


def write_part(content: bytes, folder: Location, index: int) -> None:
    """Write the file of one shard atomically: a second writer leaves the same file."""
    (folder / f"part-{index:06}.parquet").replace(content)


def clear_examples(place: Location) -> None:
    """Remove the table that an earlier pass left, so that two are never mixed."""
    for file in check_replaceable(place):
        file.files.delete_file(file.path)
    if place.is_folder():
        place.files.delete_dir(place.path)


def check_replaceable(place: Location) -> list[Location]:
    """Return the files of an earlier table, even of a damaged one; raise if they are of others."""
    is_file = place.is_file()
    files = example_files(place)
    for file in files:
        if not (_has_examples(file) if is_file else PART.fullmatch(file.name)):
            raise OptionError(
                "{path} already exists and is not a table of examples. Pass another folder.",
                path=file,
            )
    return files


def _has_examples(file: Location) -> bool:
    """Return whether a file is a table of examples, or a Parquet file that was cut off."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(file.path, filesystem=file.files)
    except (pa.ArrowException, OSError):
        if file.name != EXAMPLES_FILE:
            return False
        with file.open_read() as stream:
            return bytes(stream.read(len(MAGIC))) in {b"", MAGIC}
    names = set(schema.names)
    return "example" in names and not names.isdisjoint(
        {"flip_rate", "sd", "jaccard_distance", "p_value"}
    )


def _read_parquet(file: Location, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a file; `pq.read_table` would load pandas for it."""
    import pyarrow.parquet as pq

    with file.files.open_input_file(file.path) as opened, pq.ParquetFile(opened) as content:
        return content.read(columns)


# ------------------------------------------------------------------- least stable examples


def least_stable(table: pa.Table, keys: Sequence[str] = KEYS) -> pa.Table:
    """Return the `N_KEPT` rows on which runs disagree most, the least stable first, ties by id."""
    falling = [(name, "descending") for name in keys if name in table.column_names]
    order = pc.sort_indices(table, sort_keys=[*falling, ("example", "ascending")])
    return table.take(order[:N_KEPT])


def least_stable_rows(keys: Sequence[FloatArray]) -> IntArray:
    """Return the positions of the `N_KEPT` largest rows by several keys; ties by position.

    Rows whose key is NaN, such as the spread of a single trial, come last.
    """
    keys = [np.where(np.isnan(key), -np.inf, key) for key in keys]
    rows = np.arange(len(keys[0]))
    certain: list[IntArray] = []
    n_missing = N_KEPT
    for key in keys:
        if len(rows) <= n_missing:
            break
        values = key[rows]
        limit = np.partition(values, len(values) - n_missing)[len(values) - n_missing]
        certain.append(rows[values > limit])
        rows = rows[values == limit]
        n_missing -= len(certain[-1])
    return np.sort(np.concatenate([*certain, rows[:n_missing]]))


def with_votes(examples: pa.Table, batch: Batch) -> pa.Table:
    """Add the prediction of each run, and its probability where it is known.

    `predictions` are class indices. `probs` are of the gold class or, if there is none, of the
    consensus.
    """
    if batch.probs is not None or batch.top is not None:
        examples = examples.append_column("probs", lists(batch.reference_probs.T, np.float32))
    return examples.append_column("predictions", lists(batch.predictions.T, np.int32))


def lists(values: np.ndarray, kind: npt.DTypeLike) -> pa.Array:
    """Return rows of values, (examples, runs), as one list per example."""
    cells = values.ravel()
    is_missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(len(cells), np.bool_)
    flat = to_arrow(cells, kind, missing=is_missing if is_missing.any() else None)
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
