"""Make training depend less on its seed: average the weights, or soften the labels."""

from seedproof._optional import require

require("torch", extra="torch", feature="seedproof.stabilize")

from seedproof.stabilize.average import AverageWarning, WeightAverage
from seedproof.stabilize.policy import Decay, Mean, NormRule, Policy, Window
from seedproof.stabilize.presets import (
    ASWA,
    EMA,
    LAWA,
    NASWA,
    PRESETS,
    SWA,
    AverageOptions,
    SwitchEMA,
    build,
)
from seedproof.stabilize.soft_labels import (
    RunningMean,
    Tgtss,
    TgtssSettings,
    codistillation_loss,
    ensemble,
    knn_smoothed,
    mixed,
    raised,
    smoothed,
    soft_cross_entropy,
)

__all__ = [
    "ASWA",
    "EMA",
    "LAWA",
    "NASWA",
    "PRESETS",
    "SWA",
    "AverageOptions",
    "AverageWarning",
    "Decay",
    "Mean",
    "NormRule",
    "Policy",
    "RunningMean",
    "SwitchEMA",
    "Tgtss",
    "TgtssSettings",
    "WeightAverage",
    "Window",
    "build",
    "codistillation_loss",
    "ensemble",
    "knn_smoothed",
    "mixed",
    "raised",
    "smoothed",
    "soft_cross_entropy",
]
