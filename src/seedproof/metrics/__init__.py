"""Formulas: kernels over arrays, and mergeable accumulators that share them.

Each family of metrics has kernels that take arrays and an accumulator that takes batches. The
functions that this package exports take arrays and return a number.
"""

from seedproof.metrics.accumulator import Accumulator, ClassFamily
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch
from seedproof.metrics.calibration import Calibration
from seedproof.metrics.classwise import Classwise
from seedproof.metrics.confidence import Confidence, Truncation
from seedproof.metrics.divergence import Divergence
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.metrics.functional import (
    accuracy_sd,
    ambiguity,
    churn,
    discrepancy,
    ece,
    ece_corrected,
    flip_rate,
    label_entropy,
    net_flip_rate,
    predictive_js,
    predictive_kl,
    probability_sd,
)
from seedproof.metrics.neighbors import nearest_neighbors
from seedproof.metrics.scores import Scores

FAMILIES: tuple[type[ClassFamily], ...] = (
    Flips,
    Entropy,
    Accuracy,
    Classwise,
    Confidence,
    Divergence,
    Calibration,
    Scores,
    Truncation,
)

METRIC_NAMES: tuple[str, ...] = tuple(name for family in FAMILIES for name in family.figures)

__all__ = [
    "FAMILIES",
    "METRIC_NAMES",
    "Accumulator",
    "Batch",
    "ClassFamily",
    "accuracy_sd",
    "ambiguity",
    "churn",
    "discrepancy",
    "ece",
    "ece_corrected",
    "flip_rate",
    "label_entropy",
    "nearest_neighbors",
    "net_flip_rate",
    "predictive_js",
    "predictive_kl",
    "probability_sd",
]
