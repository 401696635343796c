"""Files of one kind that a committed run lists, opened one at a time and checked."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.errors import DamagedStoreError
from seedproof.messages import Message
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest
from seedproof.records.schema import Group, check_version, digest, ids_digest
from seedproof.records.writer import FOOTER_KEY

# How advice on damage ends; and how it ends in a note, where the damage was skipped already.
OR_SKIP = ", make the run again, or leave it out with --skip-damaged."
OR_REMAKE = " or make the run again."


class PartFiles:
    """Row groups of some parts of a run, counted over all of them.

    Args:
        store: The store's folder.
        run: The run's manifest.
        prefix: Where the parts are below the run's folder, such as `explanations/test/lime/`.

    Raises:
        DamagedStoreError: A file differs from what was committed.
    """

    def __init__(self, store: Location, run: RunManifest, prefix: str) -> None:
        self.run = run
        self._folder = store / "runs" / run.run_id
        self._parts = [part for part in run.parts if part.path.startswith(prefix)]
        self._open_files: dict[int, pq.ParquetFile] = {}
        footers = [self._footer(part_idx) for part_idx in range(len(self._parts))]
        # What the first footer says of all parts; nothing if there is no part.
        self.facts = {k: v for footer in footers[:1] for k, v in footer.items() if k != "groups"}
        self.groups = [Group(*group) for footer in footers for group in footer["groups"]]
        self._place = [
            (part_idx, group_idx)
            for part_idx, footer in enumerate(footers)
            for group_idx in range(len(footer["groups"]))
        ]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_open_files": {}}

    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(self._open(0).schema_arrow.names)

    def width_of(self, column: str) -> int:
        """Bytes of a value in a column of fixed-size binary."""
        return int(self._open(0).schema_arrow.field(column).type.byte_width)

    def file_of(self, group_idx: int) -> Location:
        """The file that holds a row group, for messages."""
        return self._folder / self._parts[self._place[group_idx][0]].path

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of one row group."""
        part_idx, local_idx = self._place[group_idx]
        try:
            file = self._open(part_idx)
            rows = file.read_row_group(local_idx, columns=list(columns), use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise self.damaged(group_idx) from error
        group = self.groups[group_idx]
        fine = len(rows) == group.rows
        if fine and "example" in rows.column_names:
            ids = pa.concat_arrays(rows.column("example").chunks)
            fine = ids_digest(ids) == group.ids_digest
        if not fine:
            raise self.damaged(group_idx)
        return rows

    def name_of(self, group_idx: int) -> Message:
        """Return a row group with its file and run, for messages."""
        return Message(
            "row-group",
            "row group {row_group} of {path} of run {run!r}",
            row_group=self._place[group_idx][1],
            path=self.file_of(group_idx),
            run=self.run.name,
        )

    def damaged(self, group_idx: int) -> DamagedStoreError:
        """What to raise where a row group is not as it was written."""
        return DamagedStoreError(
            "Row group {row_group} of {path} of run {run!r} differs from what was committed. "
            "Restore the file from a copy{or_else}",
            **self.name_of(group_idx).fields,
            or_else=OR_SKIP,
        )

    def _footer(self, part_idx: int) -> dict[str, Any]:
        content = self._open(part_idx).metadata.metadata[FOOTER_KEY.encode()]
        footer: dict[str, Any] = json.loads(content)
        check_version(footer["schema"], str(self._folder / self._parts[part_idx].path))
        return footer

    def _open(self, part_idx: int) -> pq.ParquetFile:
        if part_idx not in self._open_files:
            # One open file a run: a large study has more parts than a process may hold open.
            for file in self._open_files.values():
                file.close()
            self._open_files.clear()
            place = self._folder / self._parts[part_idx].path
            self._check(place, self._parts[part_idx])
            self._open_files[part_idx] = pq.ParquetFile(
                place.path,
                filesystem=place.files,
                page_checksum_verification=True,
                pre_buffer=False,
            )
        return self._open_files[part_idx]

    def _check(self, place: Location, part: RecordedFile) -> None:
        if not place.is_file():
            raise DamagedStoreError(
                "{path} is missing, but run {run!r} lists it. Restore it from a copy{or_else}",
                path=place,
                run=self.run.name,
                or_else=OR_SKIP,
            )
        size = place.size()
        if (
            size != part.size
            or digest(place.read_bytes(size - part.footer_size)) != part.footer_digest
        ):
            raise DamagedStoreError(
                "{path} of run {run!r} differs from what was committed, so that none "
                "of its row groups can be trusted. Restore it from a copy{or_else}",
                path=place,
                run=self.run.name,
                or_else=OR_SKIP,
            )
