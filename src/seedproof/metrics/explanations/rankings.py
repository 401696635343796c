"""Do two runs put the tokens into the same order? Kendall's tau and rank-biased overlap."""

import numpy as np

from seedproof.metrics.explanations.pairs import mean_over_pairs
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray

# How much of its weight the top of a list keeps: Webber, Moffat and Zobel (2010) use 0.9, with
# which the first ten ranks have 86 % of it.
PERSISTENCE = 0.9
# All ranks beyond this one together weigh 0.9^350 = 1e-16, which no sum would show.
DEEPEST = 350


def rank_biased_overlap(ranks: IntArray) -> ExampleValues:
    """Agreement of two rankings that looks most at their top, averaged over all pairs of runs.

    Extrapolated, for two orders of the same n tokens, of which X_d are among the first d of both:
    p^n + (1-p)·sum_{d=1..n} p^(d-1)·X_d/d, p = 0.9 (Webber, Moffat and Zobel 2010, equation 32).
    X_d comes from the number of runs that have a token among their first d, not from pairs.

    Args:
        ranks: See `token_ranks`; axes (runs, examples, tokens).

    Returns:
        Agreements in (0, 1]: 1 where all runs rank alike.
    """
    n_runs, n_examples, n_tokens = ranks.shape
    n_depths = min(n_tokens, DEEPEST)
    depths = np.arange(1, n_depths + 1)
    weights = (1 - PERSISTENCE) * PERSISTENCE ** (depths - 1) / depths
    # One column more for tokens that are below the deepest rank.
    clipped = np.minimum(ranks, n_depths)
    lists = np.arange(n_examples * n_tokens).reshape(n_examples, n_tokens)
    index = (lists * (n_depths + 1) + clipped).reshape(n_runs, -1)
    counts = np.bincount(index.ravel(), minlength=lists.size * (n_depths + 1))
    counts = counts.reshape(lists.size, n_depths + 1)
    # How many other runs have the token among their first d, weighted, from depth d on.
    others = (np.cumsum(counts[:, :-1], axis=1) - 1) * weights
    from_here = np.zeros(counts.shape)
    from_here[:, :-1] = np.cumsum(others[:, ::-1], axis=1)[:, ::-1]
    agreed = from_here.ravel()[index].reshape(ranks.shape).sum(axis=2)
    return mean_over_pairs(agreed + (n_runs - 1) * PERSISTENCE**n_depths)


def kendall_tau(magnitudes: FloatArray) -> ExampleValues:
    """Kendall's rank correlation of the tokens (tau-b), averaged over all pairs of runs.

    Tau-b of two runs is the inner product of two vectors: for every two tokens the sign of the
    difference of their scores, divided by the vector's length. So the mean over pairs of runs comes
    from the sum u of all vectors: (u·u - R) / (R(R-1)). Equal scores count for neither order. A run
    whose scores are all equal has no order: it agrees (1) with another such run, and has 0 with
    any other.

    Args:
        magnitudes: Scores without their signs, axes (runs, examples, tokens).

    Returns:
        Correlations in [-1, 1]: 1 where all runs rank alike, 0 where orders are unrelated.
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
    """How many pairs of tokens have different scores; axes in (tokens, runs, examples)."""
    n_tokens = len(by_token)
    ordered = np.sort(by_token, axis=0)
    changes = ordered[1:] != ordered[:-1]
    count = np.full(by_token.shape[1:], n_tokens * (n_tokens - 1) // 2)
    if not changes.all():
        # A run of equal scores of length t has t(t-1)/2 pairs: 0 + 1 + ... + (t-1).
        before = np.zeros(count.shape, dtype=np.int64)
        for changed in changes:
            before = np.where(changed, 0, before + 1)
            count -= before
    return count
