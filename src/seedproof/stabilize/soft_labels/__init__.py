"""Soft labels: training targets that make a model depend less on its seed."""

from seedproof.stabilize.soft_labels.losses import codistillation_loss, soft_cross_entropy
from seedproof.stabilize.soft_labels.neighbors import knn_smoothed
from seedproof.stabilize.soft_labels.running_mean import RunningMean
from seedproof.stabilize.soft_labels.targets import ensemble, mixed, raised, smoothed
from seedproof.stabilize.soft_labels.tgtss import Tgtss, TgtssSettings

__all__ = [
    "RunningMean",
    "Tgtss",
    "TgtssSettings",
    "codistillation_loss",
    "ensemble",
    "knn_smoothed",
    "mixed",
    "raised",
    "smoothed",
    "soft_cross_entropy",
]
