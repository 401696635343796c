"""Do two runs point at the same tokens? Jaccard distance and overlap of the top few."""

import numpy as np

from seedproof.metrics.explanations.pairs import mean_over_pairs
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray

WORD_BYTES = 8


def token_ranks(magnitudes: FloatArray) -> IntArray:
    """Rank of each token in its explanation: 0 for the largest; among equals the earlier first.

    Args:
        magnitudes: Scores without their signs, axes (..., tokens).

    Returns:
        Each rank once, axes as given.
    """
    order = np.argsort(-magnitudes, axis=-1, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int32)
    places = np.arange(order.shape[-1], dtype=np.int32)
    np.put_along_axis(ranks, order, np.broadcast_to(places, order.shape), axis=-1)
    return ranks


def n_top(n_tokens: int, percent: int) -> int:
    """How many tokens are the top few: `ceil(percent/100 · tokens)`, at least one.

    In whole numbers, since 0.1·70 is more than 7 in floating point.
    """
    return -(-n_tokens * percent // 100)


def jaccard_distance(ranks: IntArray, *, percent: int) -> ExampleValues:
    """One less the shared part of the top tokens of two runs, averaged over all pairs.

    The sets of a pair have equal sizes k, so that a pair that shares m tokens is 1 - m/(2k-m)
    apart. That is not linear in m, so every pair is looked at, as bits: one word for 64 tokens.

    Args:
        ranks: See `token_ranks`; axes (runs, examples, tokens).
        percent: Which share of the tokens are the top ones.

    Returns:
        Distances in [0, 1]: 0 where all runs have the same top tokens.
    """
    n_runs, n_examples, n_tokens = ranks.shape
    size = n_top(n_tokens, percent)
    n_shared = np.arange(size + 1)
    distance = 1 - n_shared / (2 * size - n_shared)
    words = _as_words(ranks < size)
    with_others = np.zeros((n_runs, n_examples))
    for run_idx in range(n_runs - 1):
        both = np.bitwise_count(words[:, run_idx] & words[:, run_idx + 1 :].swapaxes(0, 1))
        apart = distance[both.sum(axis=1, dtype=np.intp)]
        with_others[run_idx] += apart.sum(axis=0)
        with_others[run_idx + 1 :] += apart
    return mean_over_pairs(with_others)


def _as_words(chosen: np.ndarray) -> np.ndarray:
    """Bits of each row as 64-bit words: (words, runs, examples)."""
    n_runs, n_examples, n_tokens = chosen.shape
    n_words = -(-n_tokens // (8 * WORD_BYTES))
    padded = np.zeros((n_runs, n_examples, n_words * WORD_BYTES), dtype=np.uint8)
    packed = np.packbits(chosen, axis=2)
    padded[:, :, : packed.shape[2]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).transpose(2, 0, 1))


def top_overlap(ranks: IntArray, *, percent: int) -> ExampleValues:
    """Share of a run's top tokens that another run has among its own, averaged over all pairs.

    With c_i runs that have token i among their k top ones: sum_i c_i(c_i-1) / (k·R(R-1)).

    Args:
        ranks: See `token_ranks`; axes (runs, examples, tokens).
        percent: Which share of the tokens are the top ones.

    Returns:
        Shares in [0, 1]: 1 where all runs have the same top tokens.
    """
    size = n_top(ranks.shape[2], percent)
    top = ranks < size
    counts = top.sum(axis=0, dtype=np.int32)
    shared = np.where(top, counts - 1, 0).sum(axis=2)
    return mean_over_pairs(shared / size)
