"""Runs whose threshold was moved, so that all of an arm predict one class equally often.

Without averaging, the share of positive predictions drifts from run to run. Whether averaging does
more than stabilize that share shows only where it cannot drift.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seedproof.comparison.arms.compare import Side
from seedproof.records.arrays import ArrayShards
from seedproof.records.schema import UNLABELED, Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import FloatArray, IntArray


def matched_sides(sides: Sequence[Side]) -> list[Side]:
    """Return the arms with the predictions of `matched_predictions`, and without explanations.

    Arms without probabilities of two classes are left out.
    """
    return [
        replace(side, source=_matched(side.source))
        for side in sides
        if len(side.source.classes) == 2 and side.source.kind is Kind.PROBS
    ]


def _matched(source: ShardSource) -> ArrayShards:
    shards = [source.shard(index) for index in range(source.n_shards)]
    probs = [shard.probs[..., 1] for shard in shards if shard.probs is not None]
    labels = [
        np.full(len(shard), UNLABELED) if shard.labels is None else shard.labels for shard in shards
    ]
    return ArrayShards(
        matched_predictions(np.concatenate(probs, axis=1)),
        labels=np.concatenate(labels) if source.n_labeled else None,
        ids=[example for shard in shards for example in shard.ids.to_pylist()],
        classes=source.classes,
        runs=source.runs,
    )


def matched_predictions(probs: FloatArray) -> IntArray:
    """Predict the second class for the same number of examples in each run.

    That number is the mean over runs of how many examples have a probability above one half,
    rounded, half up. In each run the examples with the highest probabilities get the class; ties
    go to the first.

    Args:
        probs: Probability of the second class, axes (runs, examples).

    Returns:
        0 or 1, with the same axes.
    """
    n_second = int(np.floor((probs > 0.5).sum(axis=1).mean() + 0.5))
    highest = np.argsort(-probs, axis=1, kind="stable")[:, :n_second]
    predictions = np.zeros(probs.shape, dtype=np.int64)
    np.put_along_axis(predictions, highest, 1, axis=1)
    return predictions
