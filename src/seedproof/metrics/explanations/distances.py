"""Distances and agreements between the explanations of two runs, averaged over all pairs.

Kernels take magnitudes, scores without their signs, or ranks of tokens, both with the axes
(runs, examples, tokens).
"""

import numpy as np

from seedproof.metrics.divergence import divergences, smooth
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray

WORD_BYTES = 8
# Sums over pairs are of order one: below this there is only rounding.
ROUNDING = 1e-13
# The share of its weight that the top of a list keeps: Webber, Moffat and Zobel (2010) use 0.9,
# with which the first ten ranks have 86 % of it.
PERSISTENCE = 0.9
# All ranks beyond this one together weigh 0.9^350 = 1e-16, which no sum would show.
DEEPEST = 350


def mean_over_pairs(with_others: FloatArray, *, largest: float = 1.0) -> ExampleValues:
    """Average a symmetric quantity over all pairs of runs, per example.

    `with_others` is the quantity between each run and all others, summed over the others, axes
    (runs, examples). No pair is above `largest`.
    """
    n_runs = len(with_others)
    total = with_others.sum(axis=0)
    whole = _within(total / (n_runs * (n_runs - 1)), largest)
    if n_runs == 2:
        return ExampleValues(whole, None)
    without = (total - 2 * with_others) / ((n_runs - 1) * (n_runs - 2))
    return ExampleValues(whole, _within(without, largest))


def _within(values: FloatArray, largest: float) -> FloatArray:
    """Remove rounding errors at 0 and beyond ±largest."""
    values = np.where(np.abs(values) < ROUNDING, 0.0, values)
    return np.clip(values, -largest, largest)


# ----------------------------------------------------------------------------- token weights


def token_weights(magnitudes: FloatArray) -> FloatArray:
    """Return the share of the explanation that each token has; equal shares if all are 0."""
    # Sums of denormal scores lose their digits: scale the largest to 1 first.
    largest = magnitudes.max(axis=-1, keepdims=True)
    scaled = np.divide(
        magnitudes, largest, out=np.ones(magnitudes.shape), where=largest > 0, dtype=np.float64
    )
    return np.asarray(scaled / (scaled @ np.ones(scaled.shape[-1]))[..., None])


def weight_divergences(magnitudes: FloatArray) -> tuple[ExampleValues, ExampleValues]:
    """Return KL and Jensen-Shannon divergence between explanations as token weights, in nats.

    The formulas are those of predictions, with tokens in place of classes: see
    `metrics.divergence`. JS is at most ln(R)·R/(R-1).
    """
    return divergences(smooth(token_weights(magnitudes)))


# -------------------------------------------------------------------------------- top tokens


def token_ranks(magnitudes: FloatArray) -> IntArray:
    """Return the rank of each token: 0 for the largest score; among equals the earlier first."""
    order = np.argsort(-magnitudes, axis=-1, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int32)
    places = np.arange(order.shape[-1], dtype=np.int32)
    np.put_along_axis(ranks, order, np.broadcast_to(places, order.shape), axis=-1)
    return ranks


def n_top(n_tokens: int, percent: int) -> int:
    """Return the number of top tokens, `ceil(percent/100 · tokens)`, at least one.

    In integers, since 0.1·70 is more than 7 in floating point.
    """
    return -(-n_tokens * percent // 100)


def jaccard_distance(ranks: IntArray, *, percent: int) -> ExampleValues:
    """Return the Jaccard distance between the top tokens of two runs.

    The sets of a pair have equal sizes k, so that the distance of a pair that shares m tokens is
    1 - m/(2k-m). That is not linear in m, so every pair is computed, as bits: 64 tokens per word.
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
    """Pack the bits of each row into 64-bit words: (words, runs, examples)."""
    n_runs, n_examples, n_tokens = chosen.shape
    n_words = -(-n_tokens // (8 * WORD_BYTES))
    padded = np.zeros((n_runs, n_examples, n_words * WORD_BYTES), dtype=np.uint8)
    packed = np.packbits(chosen, axis=2)
    padded[:, :, : packed.shape[2]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).transpose(2, 0, 1))


def top_overlap(ranks: IntArray, *, percent: int) -> ExampleValues:
    """Return the share of a run's top tokens that are also top tokens of another run.

    With c_i runs that have token i among their k top ones: sum_i c_i(c_i-1) / (k·R(R-1)).
    """
    size = n_top(ranks.shape[2], percent)
    top = ranks < size
    counts = top.sum(axis=0, dtype=np.int32)
    shared = np.where(top, counts - 1, 0).sum(axis=2)
    return mean_over_pairs(shared / size)


# ---------------------------------------------------------------------------------- rankings


def rank_biased_overlap(ranks: IntArray) -> ExampleValues:
    """Return the rank-biased overlap of two rankings, an agreement in (0, 1] that favors the top.

    Extrapolated, for two orders of the same n tokens, of which X_d are among the first d of both:
    p^n + (1-p)·sum_{d=1..n} p^(d-1)·X_d/d, p = 0.9 (Webber, Moffat and Zobel 2010, equation 32).
    X_d comes from the number of runs that have a token among their first d, not from pairs.
    """
    n_runs, n_examples, n_tokens = ranks.shape
    n_depths = min(n_tokens, DEEPEST)
    depths = np.arange(1, n_depths + 1)
    weights = (1 - PERSISTENCE) * PERSISTENCE ** (depths - 1) / depths
    # One more column for tokens that are below the deepest rank.
    clipped = np.minimum(ranks, n_depths)
    lists = np.arange(n_examples * n_tokens).reshape(n_examples, n_tokens)
    index = (lists * (n_depths + 1) + clipped).reshape(n_runs, -1)
    counts = np.bincount(index.ravel(), minlength=lists.size * (n_depths + 1))
    counts = counts.reshape(lists.size, n_depths + 1)
    # Number of other runs that have the token among their first d, weighted, from depth d on.
    others = (np.cumsum(counts[:, :-1], axis=1) - 1) * weights
    from_here = np.zeros(counts.shape)
    from_here[:, :-1] = np.cumsum(others[:, ::-1], axis=1)[:, ::-1]
    agreed = from_here.ravel()[index].reshape(ranks.shape).sum(axis=2)
    return mean_over_pairs(agreed + (n_runs - 1) * PERSISTENCE**n_depths)


def kendall_tau(magnitudes: FloatArray) -> ExampleValues:
    """Return Kendall's rank correlation of the tokens (tau-b).

    Tau-b of two runs is the inner product of two vectors: for every two tokens the sign of the
    difference of their scores, divided by the vector's length. So the mean over pairs of runs comes
    from the sum u of all vectors: (u·u - R) / (R(R-1)). Equal scores count for neither order. A run
    whose scores are all equal has no order: its tau is 1 with another such run and 0 with any
    other.
    """
    by_token = np.ascontiguousarray(magnitudes.transpose(2, 0, 1))
    n_ordered = _ordered_pairs(by_token)
    scale = np.divide(1, np.sqrt(n_ordered), out=np.zeros(n_ordered.shape), where=n_ordered > 0)
    flat = (n_ordered == 0).astype(np.float64)
    # The inner product of each run's vector with the sum of all; flat runs share one more axis.
    products = flat * flat.sum(axis=0)
    for place in range(len(by_token) - 1):
        signs = np.sign(by_token[place + 1 :] - by_token[place])
        total = np.einsum("tri,ri->ti", signs, scale)
        products += scale * np.einsum("tri,ti->ri", signs, total)
    return mean_over_pairs(products - 1.0)


def _ordered_pairs(by_token: FloatArray) -> IntArray:
    """Count the pairs of tokens with different scores, from the axes (tokens, runs, examples)."""
    n_tokens = len(by_token)
    ordered = np.sort(by_token, axis=0)
    changes = ordered[1:] != ordered[:-1]
    count = np.full(by_token.shape[1:], n_tokens * (n_tokens - 1) // 2)
    if not changes.all():
        # t equal scores in a row have t(t-1)/2 pairs: 0 + 1 + ... + (t-1).
        before = np.zeros(count.shape, dtype=np.int64)
        for changed in changes:
            before = np.where(changed, 0, before + 1)
            count -= before
    return count
