"""Records of explanations: a score per token of each example."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from seedproof.errors import DtypeError, DuplicateExampleError, EmptyInputError, InputError
from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile
from seedproof.records.normalize import as_ids
from seedproof.records.schema import MAX_GROUP_ROWS, Group, ids_digest
from seedproof.records.writer import PartWriter

ROWS_PER_GROUP = min(4096, MAX_GROUP_ROWS)


def explanation_schema(*, text_ids: bool) -> pa.Schema:
    """Return the columns of a record of explanations."""
    return pa.schema(
        [
            pa.field("example", pa.string() if text_ids else pa.int64(), nullable=False),
            pa.field("tokens", pa.list_(pa.string()), nullable=False),
            pa.field("scores", pa.list_(pa.float32()), nullable=False),
            pa.field("draw", pa.int32(), nullable=False),
        ]
    )


def write_explanations(
    folder: Location, split: str, method: str, rows: Sequence[Mapping[str, Any]]
) -> RecordedFile:
    """Write the explanations of one run by one method, in canonical order."""
    if not rows:
        raise EmptyInputError(
            "No explanation was logged for {method!r} on {split!r}.", method=method, split=split
        )
    ids = as_ids([row["example"] for row in rows], len(rows))
    keys = ids.to_pylist()
    has_numbers = pa.types.is_integer(ids.type)
    order = sorted(
        range(len(rows)),
        key=lambda i: (keys[i] if has_numbers else keys[i].encode(), rows[i]["draw"]),
    )
    for before, i in pairwise(order):
        if (keys[before], rows[before]["draw"]) == (keys[i], rows[i]["draw"]):
            raise DuplicateExampleError(
                "Example {key!r} appears twice among the explanations by {method!r}, in draw "
                "{row}. Log each once, or give repeats their own draw.",
                key=keys[i],
                method=method,
                row=rows[i]["draw"],
            )
    for row in rows:
        _check(row, method)
    schema = explanation_schema(text_ids=not has_numbers)
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


def _check(row: Mapping[str, Any], method: str) -> None:
    example = row["example"]
    if not all(isinstance(token, str) for token in row["tokens"]):
        raise DtypeError(
            "The explanation of example {example!r} by {method!r} has tokens that are not text. "
            "Pass the words, not their ids.",
            example=example,
            method=method,
        )
    if not np.isfinite(row["scores"]).all():
        place = int(np.flatnonzero(~np.isfinite(row["scores"]))[0])
        raise InputError(
            "The explanation of example {example!r} by {method!r} has the score {score} at token "
            "{place}. Scores must be finite: check the model's output, and give 0 to a token "
            "without weight. Tokens must be the same in every run, so omit none.",
            example=example,
            method=method,
            score=row["scores"][place],
            place=place,
        )
