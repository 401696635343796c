"""The least stable examples: a short list with the predictions of every run."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.metrics.batch import Batch
from seedproof.records.arrow import to_arrow
from seedproof.typing import FloatArray, IntArray

N_KEPT = 500
VOTE_COLUMNS = ("predictions", "probs")
KEYS = ("flip_rate", "label_entropy", "probability_sd")


def least_stable(table: pa.Table) -> pa.Table:
    """Return the `N_KEPT` rows on which runs disagree most, the least stable first, ties by id."""
    keys = [(name, "descending") for name in KEYS if name in table.column_names]
    order = pc.sort_indices(table, sort_keys=[*keys, ("example", "ascending")])
    return table.take(order[:N_KEPT])


def least_stable_rows(keys: Sequence[FloatArray]) -> IntArray:
    """Return the positions of the `N_KEPT` largest rows by several keys; ties by position."""
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
        examples = examples.append_column("probs", _lists(batch.reference_probs.T, np.float32))
    return examples.append_column("predictions", _lists(batch.predictions.T, np.int32))


def _lists(values: np.ndarray, kind: npt.DTypeLike) -> pa.Array:
    flat = to_arrow(values.ravel(), kind)
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
