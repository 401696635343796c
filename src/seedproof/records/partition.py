"""Rows of all runs on disk, grouped by run: read once in any order, then sorted run by run.

Each file holds one full buffer, its rows ordered by run. Names of runs, labels and predictions are
kept once; the files hold their indices.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.normalize import accented_names, composed, composed_texts
from seedproof.records.schema import need_double
from seedproof.records.shards import MAX_RUNS
from seedproof.typing import IntArray

# Limit of different labels or predictions; names beyond it are not kept.
MAX_NAMES = 100_000
MISSING = -1
# Size of a record batch, which is read and sorted as a whole.
PIECE_BYTES = 4 * 2**20
# Columns whose values are few and repeat.
NAMED = ("r", "l", "y")


@dataclass
class Partition:
    """Description of the rows on disk, as plain data."""

    # Every run (r), label (l) and prediction (y) that occurs, by index.
    names: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in NAMED})
    # Number of rows without a run (r), an example (e), a prediction (y) or a text (a).
    missing: dict[str, int] = field(default_factory=lambda: dict.fromkeys("reya", 0))
    n_rows: int = 0
    integer_ids: bool = True
    double: bool = False  # single precision would change a number
    schema: list[str] = field(default_factory=list)  # columns in the files
    files: list[str] = field(default_factory=list)
    # Per run its record batches, as (file, batch) indices.
    pieces: list[list[tuple[int, int]]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # per run
    # Ids with other letters than those of ASCII whose spellings differ.
    joined: list[str] = field(default_factory=list)

    def batches(
        self, folder: Path, columns: Sequence[str], run_idx: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of one run, or of all runs with their index as `r`."""
        place = {name: index for index, name in enumerate(self.schema)}
        fields = [place[name] for name in columns]
        # No memory map: its pages would count as memory of this process.
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        runs = range(len(self.pieces)) if run_idx is None else [run_idx]
        for run in runs:
            opened, reader = -1, None
            for file_idx, batch_idx in self.pieces[run]:
                if file_idx != opened or reader is None:
                    source = pa.OSFile(str(folder / self.files[file_idx]))
                    opened, reader = file_idx, pa.ipc.open_file(source, options=options)
                batch = reader.get_batch(batch_idx)
                if run_idx is None:
                    batch = batch.append_column("r", to_arrow(np.full(len(batch), run, np.int32)))
                yield batch


class Spellings:
    """Spellings of ids with other letters than those of ASCII; of very many, the first ones."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def add(self, ids: pa.Array | pa.ChunkedArray) -> None:
        """Take the ids of some rows."""
        if len(self.names) < MAX_NAMES:
            self.names |= accented_names(ids)

    @property
    def joined(self) -> list[str]:
        """Those that are the same name in Unicode's form C."""
        counts = Counter(map(composed, self.names))
        return sorted(name for name in self.names if counts[composed(name)] > 1)


class PartitionWriter:
    """Writes rows in any order to disk, from a buffer of limited size."""

    def __init__(self, folder: Path, *, buffer_bytes: int) -> None:
        self.partition = Partition()
        self._folder = folder
        self._buffer_bytes = buffer_bytes
        self._index: dict[str, dict[str, int]] = {name: {} for name in NAMED}
        self._waiting: list[pa.RecordBatch] = []
        self._n_waiting = 0
        self._spelled = Spellings()

    @property
    def too_many(self) -> str:
        """The column (r, l or y) that exceeds the limit of names; empty if none does."""
        return next((name for name in NAMED if len(self._index[name]) > _most(name)), "")

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        partition = self.partition
        partition.n_rows += len(batch)
        for name in partition.missing:
            if name in batch.schema.names:
                partition.missing[name] += batch.column(name).null_count
        if partition.integer_ids:
            partition.integer_ids = are_integers(batch.column("e"))
        if not partition.double and "v" in batch.schema.names:
            partition.double = need_double(to_numpy(batch.column("v"), missing=0.0))
        self._spelled.add(batch.column("e"))
        batch = batch.set_column(
            batch.schema.get_field_index("e"), "e", composed_texts(batch.column("e"))
        )
        columns = {
            name: self._indices(name, column) if name in NAMED else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        self._waiting.append(pa.RecordBatch.from_pydict(columns))
        self._n_waiting += self._waiting[-1].nbytes
        if self._n_waiting >= self._buffer_bytes:
            self._flush()

    def close(self) -> Partition:
        """Write the rest of the buffer."""
        self._flush()
        self.partition.joined = self._spelled.joined
        return self.partition

    def _indices(self, name: str, column: pa.Array) -> pa.Array:
        encoded = column.dictionary_encode()
        index, names = self._index[name], self.partition.names[name]
        table = []
        for text in encoded.dictionary.to_pylist():
            if text not in index and len(index) <= _most(name):
                index[text] = len(names)
                names.append(text)
            table.append(index.get(text, MISSING))
        positions = to_numpy(encoded.indices, missing=len(table))
        return to_arrow(np.array([*table, MISSING], dtype=np.int32)[positions])

    def _flush(self) -> None:
        if not self._waiting:
            return
        (rows,) = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
        self._waiting, self._n_waiting = [], 0
        runs = to_numpy(rows.column("r"))
        kept = rows.drop_columns("r")
        self.partition.schema = kept.schema.names
        self.partition.files.append(f"rows-{len(self.partition.files):06}.arrow")
        with (
            pa.OSFile(str(self._folder / self.partition.files[-1]), "w") as file,
            pa.ipc.new_file(file, kept.schema) as writer,
        ):
            step = max(1, PIECE_BYTES * len(kept) // max(1, kept.nbytes))
            for n_written, (run, order) in enumerate(_pieces(runs, step)):
                writer.write_batch(kept.take(to_arrow(order)))
                self._note(run, n_written, len(order))

    def _note(self, run: int, batch_idx: int, n_rows: int) -> None:
        partition = self.partition
        while len(partition.pieces) <= run:
            partition.pieces.append([])
            partition.rows.append(0)
        partition.pieces[run].append((len(partition.files) - 1, batch_idx))
        partition.rows[run] += n_rows


def _most(column: str) -> int:
    """Return the limit of the names in a column."""
    return MAX_RUNS if column == "r" else MAX_NAMES


def _pieces(runs: IntArray, step: int) -> Iterator[tuple[int, IntArray]]:
    """Yield each run with the positions of its rows, at most `step` at a time."""
    order = np.argsort(runs, kind="stable")
    ordered = runs[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    for start, stop in pairwise([0, *starts.tolist(), len(order)]):
        run = int(ordered[start]) if stop > start else MISSING
        if run == MISSING:  # a row without a run, which is reported later
            continue
        for at in range(start, stop, step):
            yield run, order[at : min(at + step, stop)]


def are_integers(ids: pa.Array) -> bool:
    """Return whether all ids are 64-bit integers without signs or zeros that would be lost."""
    if pa.types.is_integer(ids.type):
        return True
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    same = pc.all(pc.equal(numbers.cast(ids.type), ids)).as_py() is not False
    least, most = pc.min_max(numbers).as_py().values()
    # Eighteen digits always fit.
    return same and (most is None or (least > -(10**18) and most < 10**18))
