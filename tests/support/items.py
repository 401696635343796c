"""Ranked lists and sets of several runs, drawn for tests and benchmarks."""

import numpy as np
import pyarrow as pa

from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.schema import Kind
from seedproof.records.shards import ItemShards
from seedproof.typing import BoolArray, IntArray


def packed(is_given: BoolArray) -> IntArray:
    """Return indicators, whose last axis is the items, as items in ascending order."""
    n_items = is_given.shape[-1]
    width = max(int(is_given.sum(axis=-1).max(initial=0)), 1)
    items = np.where(is_given, np.arange(n_items), n_items)
    items = np.sort(items, axis=-1)[..., :width]
    return np.where(items == n_items, NO_ITEM, items)


def item_shards(
    kind: Kind,
    items: IntArray,
    n_items: int,
    *,
    relevance: Relevance | None = None,
    depth: int = 10,
    extras: pa.Table | None = None,
) -> ItemShards:
    """Return runs s0, s1, … of items i0, i1, … in memory."""
    return ItemShards(
        kind,
        [f"s{run}" for run in range(len(items))],
        pa.array(np.arange(items.shape[1])),
        names=[f"i{item}" for item in range(n_items)],
        items=items,
        relevance=relevance,
        settings=AnswerSettings(depth=depth),
        extras=extras,
    )


def drawn_rankings(
    rng: np.random.Generator,
    *,
    n_runs: int = 5,
    n_examples: int = 60,
    n_items: int = 30,
    n_places: int = 12,
    noise: float = 0.5,
    depth: int = 10,
    extras: pa.Table | None = None,
) -> ItemShards:
    """Return lists by scores with noise of the run; three items of each example are right."""
    scores = rng.normal(size=(n_examples, n_items))
    noisy = scores + noise * rng.normal(size=(n_runs, *scores.shape))
    items = np.argsort(-noisy, axis=2)[:, :, :n_places]
    right = np.argsort(-scores - rng.normal(size=scores.shape), axis=1)[:, :3]
    is_known = np.arange(n_examples) % 7 > 0
    return item_shards(
        Kind.RANKINGS,
        items,
        n_items,
        relevance=Relevance(right, is_known),
        depth=depth,
        extras=extras,
    )


def drawn_sets(
    rng: np.random.Generator,
    *,
    n_runs: int = 5,
    n_examples: int = 60,
    n_labels: int = 6,
    noise: float = 0.5,
    extras: pa.Table | None = None,
) -> ItemShards:
    """Return sets of labels whose scores, with noise of the run, are above a threshold."""
    scores = rng.normal(size=(n_examples, n_labels)) - 0.7
    is_given = scores + noise * rng.normal(size=(n_runs, *scores.shape)) > 0
    is_right = scores + noise * rng.normal(size=scores.shape) > 0
    relevance = Relevance(packed(is_right), np.ones(n_examples, dtype=np.bool_))
    return item_shards(Kind.SETS, packed(is_given), n_labels, relevance=relevance, extras=extras)
