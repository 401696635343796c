"""The first draw of each example of a run, for runs that were not explained equally often."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import DamagedStoreError
from seedproof.records.explanations import ROWS_PER_GROUP
from seedproof.records.location import Location
from seedproof.records.part_files import PartFiles
from seedproof.records.schema import Group, ids_digest

if TYPE_CHECKING:
    from seedproof.typing import IntArray


class FirstDraws:
    """Rows of a run with one draw an example, cut anew: read like the files themselves.

    Args:
        files: All draws of the run, those of an example one after the other.

    Raises:
        DamagedStoreError: A row group is not as it was written.
    """

    def __init__(self, files: PartFiles) -> None:
        self.run = files.run
        self._files = files
        self._rows: list[IntArray] = []
        self.groups = [Group(len(ids), 0, ids_digest(ids), "") for ids in self._cut_ids()]
        # How many first draws there are up to the end of each of the files' row groups.
        self._ends = np.cumsum([len(rows) for rows in self._rows])

    def _cut_ids(self) -> Iterator[pa.Array]:
        """Ids of the first draws, a row group at a time; keeps in which rows they are."""
        last, left = None, pa.array([])
        for group_idx in range(len(self._files.groups)):
            column = self._files.read(group_idx, ["example"]).column("example")
            ids = pa.concat_arrays(column.chunks)
            begins = np.ones(len(ids), dtype=np.bool_)
            begins[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
            begins[0] = ids[0].as_py() != last
            last = ids[-1].as_py()
            self._rows.append(np.flatnonzero(begins))
            found = ids.take(self._rows[-1])
            left = pa.concat_arrays([left, found]) if len(left) else found
            while len(left) >= ROWS_PER_GROUP:
                yield left[:ROWS_PER_GROUP]
                left = left[ROWS_PER_GROUP:]
        if len(left):
            yield left

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of the first draws of a row group."""
        start = group_idx * ROWS_PER_GROUP
        stop = start + self.groups[group_idx].rows
        pieces = []
        for place in range(self._place_of(start), self._place_of(stop - 1) + 1):
            before = int(self._ends[place]) - len(self._rows[place])
            rows = self._rows[place][max(start - before, 0) : stop - before]
            pieces.append(self._files.read(place, columns).take(rows))
        return pa.concat_tables(pieces)

    def _place_of(self, row: int) -> int:
        """Which of the files' row groups has a first draw, counted over all of them."""
        return int(np.searchsorted(self._ends, row, side="right"))

    def file_of(self, group_idx: int) -> Location:
        """The file that holds a row group, for messages."""
        return self._files.file_of(self._place_of(group_idx * ROWS_PER_GROUP))

    def damaged(self, group_idx: int) -> DamagedStoreError:
        """What to raise where a row group is not as it was written."""
        return self._files.damaged(self._place_of(group_idx * ROWS_PER_GROUP))
