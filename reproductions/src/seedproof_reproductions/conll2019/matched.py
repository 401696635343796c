"""Runs whose threshold was moved, so that all of an arm give one answer equally often.

Without averaging, the share of positive answers drifts from run to run. Whether averaging does more
than hold it still shows only where it cannot drift.
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
    """The same arms with the answers that their runs would give at the arm's share.

    Args:
        sides: Arms with probabilities of two classes.

    Returns:
        Arms with answers alone, and no explanations; nothing if there are more classes.
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
        matched_answers(np.concatenate(probs, axis=1)),
        labels=np.concatenate(labels) if source.n_labeled else None,
        ids=[one for shard in shards for one in shard.ids.to_pylist()],
        classes=source.classes,
        runs=source.runs,
    )


def matched_answers(probs: FloatArray) -> IntArray:
    """Answers of runs that all give the second class to as many examples.

    That number is the mean over runs of how many examples have a probability above one half,
    rounded, half up. In each run the examples with the highest probabilities get the class; of
    equal ones those that come first.

    Args:
        probs: Probability of the second class, axes (runs, examples).

    Returns:
        0 or 1, with the same axes.
    """
    n_second = int(np.floor((probs > 0.5).sum(axis=1).mean() + 0.5))
    # A stable order, so that ties do not depend on the sort.
    highest = np.argsort(-probs, axis=1, kind="stable")[:, :n_second]
    answers = np.zeros(probs.shape, dtype=np.int64)
    np.put_along_axis(answers, highest, 1, axis=1)
    return answers
