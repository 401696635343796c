"""Check of unequal numbers of trials: do they depend on the outcomes?"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from seedproof.metrics.numbers.unequal import counts_of
from seedproof.predictions.checks import Check
from seedproof.typing import FloatArray

NAME = "trials-depend-on-outcomes"
# Findings are this unlikely if the number of trials does not depend on the outcomes.
LEVEL = 1e-4
# Values of λ in Chernoff's bound, in standard deviations of an example.
STEPS = np.linspace(0.05, 5.0, 100)
REMEDY = (
    "Give every example the same number of trials, or keep the first k trials of each, with the "
    "same k."
)


def trials_by_outcome(trials: Sequence[str], numbers: FloatArray) -> Iterator[Check]:
    """Yield a finding if trials were added or stopped by their outcomes.

    `numbers` have the axes (trials, examples), NaN where there is no trial.
    """
    if numbers.size == 0:
        return
    counts = counts_of(numbers)
    last = _of_last_trials(numbers)
    if abs(last) > 0.0:
        side = "higher" if last > 0.0 else "lower"
        yield Check(
            NAME,
            "error",
            tuple(trials),
            f"The last trial of an example is {side} than its other trials far more often than "
            "chance allows, as if examples were tried again until a result. Such means are biased.",
            REMEDY,
        )
        return
    fewer, more = _of_numbers_of_trials(numbers, counts)
    if fewer is not None and more is not None:
        yield Check(
            NAME,
            "warning",
            tuple(trials),
            f"Examples with more trials have other results: {more:.3g} on average, and {fewer:.3g} "
            "with fewer. If trials were added or stopped by their results, means are biased.",
            REMEDY,
        )


def _of_last_trials(numbers: FloatArray) -> float:
    """Return the sum over examples of the standardized last trial; 0 if chance may give it.

    Trials that were not selected are exchangeable: the last of n is any of them with the chance
    1/n, whatever their values are, so that the distribution of its deviation from their mean is
    known. Deviations are in standard deviations of the example, and equal trials say nothing.
    """
    counts = counts_of(numbers)
    means = np.nansum(numbers, axis=0) / counts
    sds = np.sqrt(np.nansum(np.square(numbers - means), axis=0) / counts)
    is_mixed = sds > 1e-12 * np.maximum(np.abs(means), 1e-300)
    if not is_mixed.any():
        return 0.0
    scaled = ((numbers - means)[:, is_mixed]) / sds[is_mixed]
    trials = np.arange(len(numbers))[:, np.newaxis]
    index = np.where(np.isnan(scaled), -1, trials).max(axis=0)
    total = float(scaled[index, np.arange(scaled.shape[1])].sum())

    def log_mgf(steps: FloatArray) -> FloatArray:
        return np.array([np.log(np.nanmean(np.exp(x * scaled), axis=0)).sum() for x in steps])

    return total if _is_unlikely(total, log_mgf) else 0.0


def _of_numbers_of_trials(
    numbers: FloatArray, counts: np.ndarray
) -> tuple[float, float] | tuple[None, None]:
    """Return mean results of examples with fewer and with more trials; None if chance may be it.

    The ranks of the results of the smaller group are a sample without replacement of all ranks,
    for which the bound holds as with replacement: Hoeffding (1963), JASA 58:13, theorem 4.
    """
    has_more = counts > np.median(counts)
    if not has_more.any():
        has_more = counts == counts.max()
    is_smaller = has_more if 2 * has_more.sum() <= len(counts) else ~has_more
    n_smaller = int(is_smaller.sum())
    means = np.nansum(numbers, axis=0) / counts
    _, place, n_equal = np.unique(means, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(n_equal) - (n_equal - 1) / 2)[place]
    if not n_smaller or len(n_equal) == 1:
        return None, None
    ranks = (ranks - ranks.mean()) / ranks.std()
    total = float(ranks[is_smaller].sum())

    def log_mgf(steps: FloatArray) -> FloatArray:
        return np.array([n_smaller * np.log(np.exp(x * ranks).mean()) for x in steps])

    if not _is_unlikely(total, log_mgf):
        return None, None
    return float(means[~has_more].mean()), float(means[has_more].mean())


def _is_unlikely(total: float, log_mgf: Callable[[FloatArray], FloatArray]) -> bool:
    """Return whether a sum is as far from its mean 0 as chance hardly ever gives, on either side.

    Chernoff's bound, P(S ≥ t) ≤ exp(log E exp(λS) − λt) for every λ > 0, holds for few examples and
    skewed values, where the normal approximation is far off at this level.
    """
    if total == 0.0:
        return False
    steps = STEPS * np.sign(total)
    return bool((log_mgf(steps) - steps * total).min() < np.log(LEVEL / 2))
