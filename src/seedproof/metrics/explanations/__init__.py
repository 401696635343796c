"""Figures of explanations: how far the explanations of two runs differ.

Kernels take examples of equal length, `RaggedScores` cuts examples of any length into such blocks,
and `Explanations` adds them up.
"""

from seedproof.metrics.explanations.family import Explanations, explanation_values, noise_values
from seedproof.metrics.explanations.ragged import RaggedScores

EXPLANATION_NAMES: tuple[str, ...] = Explanations.figures

__all__ = [
    "EXPLANATION_NAMES",
    "Explanations",
    "RaggedScores",
    "explanation_values",
    "noise_values",
]
