"""Weights of examples: read from a column, checked, and set in the settings of the source."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from seedproof.errors import DamagedStoreError, WeightError
from seedproof.messages import Message
from seedproof.predictions.shared_examples import SubsetShards, note_on_other_records
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.arrow import to_arrow
from seedproof.records.columns import unusable_column
from seedproof.records.shards import ShardSource, as_weights
from seedproof.typing import FloatArray


def weighted(source: ShardSource) -> tuple[ShardSource, list[Message]]:
    """Return a source with the weights that its settings name, without examples of weight 0."""
    chosen = source.settings.weights
    if chosen is None:
        return source, []
    column, notes = chosen.column, []
    if column not in source.extras:
        raise unusable_column(column, source.extras, "weights")
    parts = list(_parts(source, column))
    ids = pa.concat_arrays([of_shard for of_shard, _ in parts])
    cells = pa.chunked_array([chunk for _, values in parts for chunk in values.chunks])
    weights = _checked(column, ids, cells)
    is_kept = weights > 0.0
    if not is_kept.all():
        source = SubsetShards(source, ids.filter(to_arrow(is_kept)))
        weights = weights[is_kept]
        notes.append(
            Message(
                "weights-of-zero",
                "Left out because of the weight 0: {n_dropped:,} of {n_examples:,} examples.",
                n_dropped=int((~is_kept).sum()),
                n_examples=len(is_kept),
            )
        )
        notes += note_on_other_records(source.manifests)
    # Divided by the largest first, so that squares neither vanish nor overflow.
    largest = float(weights.max())
    shares = weights / largest
    n_effective = float(shares.sum() ** 2 / np.square(shares).sum())
    mean = largest * float(shares.mean())
    source.settings = replace(source.settings, weights=ExampleWeights(column, mean, n_effective))
    notes.append(
        Message(
            "weighted",
            "Figures are weighted by the column {column!r}: {n_examples:,} examples are as "
            "informative as {n_effective:.1f} of equal weight. Rank agreement, and the shares of "
            "solid, flaky and broken examples, count every example once.",
            column=column,
            n_examples=len(weights),
            n_effective=n_effective,
        )
    )
    return source, notes


def _parts(source: ShardSource, column: str) -> Iterator[tuple[pa.Array, pa.ChunkedArray]]:
    """Yield ids and weights of the shards; damaged ones are reported where they are measured."""
    for index in range(source.n_shards):
        with suppress(DamagedStoreError):
            yield source.further_column(index, column)


def _checked(column: str, ids: pa.Array, cells: pa.ChunkedArray) -> FloatArray:
    """Return weights that are numbers from 0 on, of which some are above it."""
    weights = as_weights(cells)
    is_wrong = ~((weights >= 0.0) & (weights < np.inf))
    if is_wrong.any():
        place = int(np.flatnonzero(is_wrong)[0])
        cell = cells[place].as_py()
        raise WeightError(
            "Example {example!r} has {given} in the column {column!r} of weights. Pass a number "
            "from 0 on for each example.",
            example=ids[place].as_py(),
            given="no value" if cell is None else repr(cell),
            column=column,
        )
    if not weights.any():
        raise WeightError(
            "All weights in the column {column!r} are 0. Pass one above 0.", column=column
        )
    return weights
