"""Tables that trackers log as JSON: the names of their columns, and their rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from seedproof.errors import ColumnError
from seedproof.records.decoding import LOG_BYTES, DecodingError, decode, parse_log


@dataclass(frozen=True)
class _SplitTable:
    columns: Sequence[str | int]
    data: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        for number, row in enumerate(self.data, 1):
            if len(row) != len(self.columns):
                raise DecodingError(f"row {number} of data has {len(row)} cells")


def read_cells(path: Path) -> dict[str, Sequence[Any]]:
    """Return the cells of each column of a logged table.

    Args:
        path: The file.

    Returns:
        The cells by the name of their column.

    Raises:
        DecodingError: The file is not such a table, or a row has fewer or more cells.
        ColumnError: Two columns have the same name, so one of them would replace the other.
    """
    with path.open("rb") as file:
        table = decode(_SplitTable, parse_log(file.read(LOG_BYTES + 1)), allow_unknown=True)
    names = [str(name) for name in table.columns]
    columns = list(zip(*table.data, strict=True)) or [()] * len(names)
    for name, count in Counter(names).items():
        if count > 1:
            cells = [repr(x) for known, x in zip(names, columns, strict=True) if known == name]
            raise ColumnError(
                "{table} has {n_columns} columns {column!r}, and they {difference}. Log each "
                "column once.",
                table=path.name,
                column=name,
                n_columns=count,
                difference="are equal" if len(set(cells)) == 1 else "differ",
            )
    return dict(zip(names, columns, strict=True))


def column_of(cells: Sequence[Any]) -> pa.Array:
    """Return a column; as text if its values are of several types, or large whole numbers."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])
