"""Records of explanations: a score for each token of each example."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa

from seedproof.errors import EmptyInputError
from seedproof.records.location import Location
from seedproof.records.manifest import Part
from seedproof.records.schema import MAX_GROUP_ROWS, Group, ids_digest
from seedproof.records.shards import is_integer
from seedproof.records.writer import PartWriter

ROWS_PER_GROUP = min(4096, MAX_GROUP_ROWS)


def write_explanations(
    folder: Location, split: str, method: str, rows: Sequence[Mapping[str, Any]]
) -> Part:
    """Write the explanations of one run by one method, in canonical order.

    Args:
        folder: The run's folder.
        split: Name of the data split.
        method: Name of the explanation.
        rows: `example`, `tokens`, `scores` and `draw` of each.

    Returns:
        The part, for the manifest that commits it.
    """
    if not rows:
        raise EmptyInputError(f"No explanation was logged for {method!r} on {split!r}.")
    names = [str(row["example"]) for row in rows]
    has_numbers = all(is_integer(name) for name in names)
    keys: list[Any] = [int(name) for name in names] if has_numbers else names
    order = sorted(
        range(len(rows)),
        key=lambda i: (keys[i] if has_numbers else keys[i].encode(), rows[i]["draw"]),
    )
    schema = pa.schema(
        [
            pa.field("example", pa.int64() if has_numbers else pa.string(), nullable=False),
            pa.field("tokens", pa.list_(pa.string()), nullable=False),
            pa.field("scores", pa.list_(pa.float32()), nullable=False),
            pa.field("draw", pa.int32(), nullable=False),
        ]
    )
    name = f"part-{uuid4().hex[:8]}-00000.parquet"
    writer = PartWriter(folder, f"explanations/{split}/{method}/{name}", schema)
    for start in range(0, len(rows), ROWS_PER_GROUP):
        chosen = order[start : start + ROWS_PER_GROUP]
        table = pa.Table.from_arrays(
            [
                pa.array([keys[i] for i in chosen], schema.field("example").type),
                *(
                    pa.array([rows[i][column] for i in chosen], schema.field(column).type)
                    for column in ("tokens", "scores", "draw")
                ),
            ],
            schema=schema,
        )
        digest = ids_digest(table.column("example").chunk(0))
        writer.write(table, Group(len(chosen), 0, digest, ""))
    return writer.close({"kind": "explanations", "method": method})
