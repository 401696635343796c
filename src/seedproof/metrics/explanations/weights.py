"""How far apart are two explanations as distributions over tokens?"""

import numpy as np

from seedproof.metrics.divergence import divergences, smooth
from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray


def token_weights(magnitudes: FloatArray) -> FloatArray:
    """What share of the explanation each token has.

    Args:
        magnitudes: Scores without their signs, axes (..., tokens).

    Returns:
        Shares that sum to one over the tokens; the same for all tokens where all scores are 0,
        since such an explanation prefers none.
    """
    # Scores next to the smallest number have sums without digits: the largest becomes 1 first.
    largest = magnitudes.max(axis=-1, keepdims=True)
    scaled = np.divide(
        magnitudes, largest, out=np.ones(magnitudes.shape), where=largest > 0, dtype=np.float64
    )
    return np.asarray(scaled / (scaled @ np.ones(scaled.shape[-1]))[..., None])


def weight_divergences(magnitudes: FloatArray) -> tuple[ExampleValues, ExampleValues]:
    """KL and Jensen-Shannon divergence between the explanations of the runs, in nats.

    The formulas are those of predictions, with tokens in the place of classes: see
    `metrics.divergence`. 1e-10 is added to each share, and shares are renormalized.

    Args:
        magnitudes: Scores without their signs, axes (runs, examples, tokens).

    Returns:
        KL of at least 0, and JS in [0, ln(R)·R/(R-1)]; both 0 where all runs explain alike.
    """
    return divergences(smooth(token_weights(magnitudes)))
