"""The least stable examples: a short list with what every run said of them."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.metrics.batch import Batch
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.shards import Shard

N_KEPT = 500
VOTE_COLUMNS = ("predictions", "probs")
ORDER = [
    ("flip_rate", "descending"),
    ("label_entropy", "descending"),
    ("probability_sd", "descending"),
    ("example", "ascending"),
]


def least_stable(table: pa.Table) -> pa.Table:
    """The rows on which runs disagree most, then those whose probability moves most."""
    return table.take(_least_stable_rows(table))


def _least_stable_rows(table: pa.Table) -> pa.Array:
    keys = [key for key in ORDER if key[0] in table.column_names]
    return pc.sort_indices(table, sort_keys=keys)[:N_KEPT]


def with_votes(examples: pa.Table, shard: Shard, n_classes: int) -> pa.Table:
    """The least stable rows of a shard, with the prediction and the probability of each run."""
    indices = _least_stable_rows(examples)
    rows = to_numpy(indices)
    table = examples.take(indices)
    labels = None if shard.labels is None else shard.labels[rows]
    if shard.probs is not None:
        batch = Batch.from_probs(shard.probs[:, rows], labels)
    elif shard.top is not None:
        batch = Batch.from_top(shard.top.rows(rows), n_classes, labels)
    elif shard.predictions is not None:
        batch = Batch(shard.predictions[:, rows], n_classes=n_classes, labels=labels)
    if shard.probs is not None or shard.top is not None:
        table = table.append_column("probs", _lists(batch.reference_probs.T, np.float32))
    return table.append_column("predictions", _lists(batch.predictions.T, np.int32))


def _lists(values: np.ndarray, kind: npt.DTypeLike) -> pa.Array:
    """Rows of an array as Arrow lists of one length."""
    flat = to_arrow(values.ravel(), kind)
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
