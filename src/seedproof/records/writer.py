"""Write the Parquet files of a run: aligned row groups with digests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.messages import Message
from seedproof.records.checks import (
    SUM_TOLERANCE,
    Where,
    check_ascending,
    check_classes,
    check_items,
    check_numbers,
    check_probs,
    check_targets,
    check_top,
    example_of,
)
from seedproof.records.items import Relevance
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import (
    VALUE_COLUMNS,
    Gold,
    Group,
    Kind,
    Layout,
    Values,
    are_known,
    digest,
    gold_of,
    ids_digest,
    labels_digest,
    predictions_digest,
    references_digest,
    relevance_digest,
    relevance_of,
    values_digest,
    version_text,
)
from seedproof.typing import IntArray

FOOTER_KEY = "seedproof"
# About 1 GB of probabilities per file: few files, each easy to copy.
GROUPS_PER_PART = 256


class PredictionsWriter:
    """Writes the predictions of one run on one split, in canonical order.

    Rows arrive in batches of any size and leave in row groups of one size.
    """

    def __init__(
        self,
        folder: Location,
        layout: Layout,
        *,
        run: str,
        rows_per_group: int,
        split: str = "all",
        tolerance: float = SUM_TOLERANCE,
    ) -> None:
        self.groups: list[Group] = []
        self._run = run
        self._layout = layout
        self._rows_per_group = rows_per_group
        self._split = split
        self._tolerance = tolerance
        self._folder = folder
        # Two attempts at one run must not write into each other's files.
        self._attempt = uuid4().hex[:8]
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._last_id: pa.Scalar | None = None
        self._parts: list[RecordedFile] = []
        self._part: PartWriter | None = None

    def write(
        self,
        ids: pa.Array,
        gold: Gold,
        values: Values,
        extras: Sequence[pa.Array | pa.ChunkedArray] = (),
    ) -> None:
        """Add rows with their gold labels or targets."""
        if len(ids) == 0:
            return

        def where(row: int) -> Message:
            return example_of(self._run, ids[row].as_py())

        check_ascending(ids, self._last_id, where)
        if isinstance(gold, Relevance):
            self._check_items(gold, np.asarray(values), where)
        elif self._layout.kind is Kind.TEXTS:
            pass  # any text is an answer
        elif self._layout.kind is Kind.NUMBERS:
            check_numbers(np.asarray(values), where)
            check_targets(gold, where)
        else:
            self._check_predictions(gold, values, where)
        self._last_id = ids[-1]
        self._waiting.append(self._layout.table(ids, gold, values, extras))
        self._n_waiting += len(ids)
        while self._n_waiting >= self._rows_per_group:
            self._flush(self._rows_per_group)

    def _check_predictions(self, labels: IntArray, values: Values, where: Where) -> None:
        n_classes = len(self._layout.classes)
        check_classes(labels, n_classes, where, least=UNLABELED)
        if self._layout.kind is Kind.PROBS:
            check_probs(np.asarray(values), where, tolerance=self._tolerance)
            return
        predicted = values[0] if isinstance(values, tuple) else values
        check_classes(np.asarray(predicted), n_classes, where)
        if isinstance(values, tuple):
            check_top(values[0], values[1], where, n_classes=n_classes, tolerance=self._tolerance)

    def _check_items(self, right: Relevance, items: IntArray, where: Where) -> None:
        n_items = len(self._layout.classes)
        check_items(items, n_items, where, are_sets=self._layout.kind is Kind.SETS)
        check_items(right.items, n_items, where, are_sets=False)

    def _flush(self, n_rows: int) -> None:
        waiting = pa.concat_tables(self._waiting)
        table = waiting.slice(0, n_rows).combine_chunks()
        self._waiting = [waiting.slice(n_rows)]
        self._n_waiting -= n_rows
        ids = table.column("example").chunk(0)
        gold: Gold
        if self._layout.kind.has_items:
            gold = relevance_of(table)
            gold_digest = relevance_digest(gold, self._layout.classes)
        elif self._layout.kind is Kind.TEXTS:
            gold = table.column("reference").combine_chunks()
            gold_digest = references_digest(gold)
        else:
            gold = gold_of(table.column(self._layout.kind.gold))
            gold_digest = labels_digest(gold)
        value_columns = [n for n in VALUE_COLUMNS[self._layout.kind] if n in table.column_names]
        group = Group(
            n_rows,
            int(are_known(gold).sum()),
            ids_digest(ids),
            gold_digest,
            values_digest(table, value_columns),
            predictions_digest(table.column("prediction")) if self._layout.kind.has_classes else "",
        )
        if self._part is None:
            name = f"part-{self._attempt}-{len(self._parts):05}.parquet"
            path = f"predictions/{self._split}/{name}"
            plain = () if self._layout.kind is Kind.TEXTS else value_columns
            self._part = PartWriter(self._folder, path, self._layout.arrow(), plain=plain)
        self._part.write(table, group)
        self.groups.append(group)
        if len(self._part.groups) == GROUPS_PER_PART:
            self._close_part()

    def _close_part(self) -> None:
        if self._part is not None:
            facts = {"kind": self._layout.kind, "classes": self._layout.classes}
            self._parts.append(self._part.close(facts))
            self._part = None

    def close(self) -> tuple[RecordedFile, ...]:
        """Write the buffered rows, and return the files for the manifest that commits them."""
        if self._n_waiting:
            self._flush(self._n_waiting)
        self._close_part()
        return tuple(self._parts)

    def abandon(self) -> None:
        """Discard the buffered rows: no manifest will list these files."""
        self._n_waiting = 0
        self._close_part()


class RunWriter(PredictionsWriter):
    """Writes and commits a run with predictions on one split only.

    Readers do not see the run before `commit`.
    """

    def __init__(
        self,
        store: Location,
        run: RunManifest,
        layout: Layout,
        *,
        rows_per_group: int,
        split: str = "all",
        tolerance: float = SUM_TOLERANCE,
    ) -> None:
        super().__init__(
            store / "runs" / run.run_id,
            layout,
            run=run.name,
            rows_per_group=rows_per_group,
            split=split,
            tolerance=tolerance,
        )
        self.run = run

    def commit(self) -> RunManifest:
        """Write the buffered rows, then `run.json`, which makes the run visible to readers."""
        committed = replace(self.run, parts=self.close())
        committed.commit(self._folder)
        return committed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit the run, or discard it after an error."""
        if kind is None:
            self.commit()
        else:
            self.abandon()


class PartWriter:
    """One Parquet file of a run, with digests of its row groups in the footer."""

    def __init__(
        self, folder: Location, path: str, schema: pa.Schema, *, plain: Sequence[str] = ()
    ) -> None:
        self.groups: list[Group] = []
        self._path = path
        self._folder = folder
        self._place = folder / path
        (folder / path.rsplit("/", 1)[0]).make_folder()
        self._file = _HashingFile(self._place)
        coded = [name for name in schema.names if name not in plain]
        self._parquet = pq.ParquetWriter(
            pa.PythonFile(self._file, mode="w"),
            schema,
            # Probabilities hardly compress, and the measuring pass waits for reading them.
            compression={name: "zstd" if name in coded else "none" for name in schema.names},
            use_dictionary=[name for name in coded if name != "example"],
            write_statistics=["example"],
            write_page_checksum=True,
            store_schema=False,
        )

    def write(self, table: pa.Table, group: Group) -> None:
        """Add one row group."""
        self._parquet.write_table(table, row_group_size=len(table))
        self.groups.append(group)

    def close(self, facts: Mapping[str, Any]) -> RecordedFile:
        """Write the footer."""
        footer = {
            "schema": version_text(),
            # Otherwise two runs of the same shape would have equal footers and could be swapped.
            "part": f"{self._folder.name}/{self._path}",
            **facts,
            "groups": self.groups,
        }
        self._parquet.add_key_value_metadata({FOOTER_KEY: json.dumps(footer, ensure_ascii=False)})
        self._parquet.close()
        self._file.close()
        size = self._file.size
        # A Parquet file ends in its footer, the footer's length as 4 bytes, and "PAR1".
        tail = self._place.read_bytes(size - 8)
        footer_size = int.from_bytes(tail[:4], "little") + 8
        return RecordedFile(
            path=self._path,
            rows=sum(group.rows for group in self.groups),
            size=size,
            digest=self._file.digest,
            footer_digest=digest(self._place.read_bytes(size - footer_size)),
            footer_size=footer_size,
        )


class _HashingFile:
    """A file that computes the digest of its content while it is written."""

    def __init__(self, place: Location) -> None:
        self.size = 0
        self.closed = False
        self._hash = blake2b(digest_size=16)
        self._stream = place.files.open_output_stream(place.path)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, content: bytes) -> int:
        self._hash.update(content)
        self._stream.write(content)
        self.size += len(content)
        return len(content)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.close()
