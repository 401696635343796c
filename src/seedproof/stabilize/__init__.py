"""Make a training depend less on its seed: average its weights while it goes on."""

from seedproof.stabilize.average import AverageWarning, WeightAverage
from seedproof.stabilize.policy import Decay, Mean, NormRule, Policy, Window
from seedproof.stabilize.presets import (
    ASWA,
    EMA,
    LAWA,
    NASWA,
    PRESETS,
    SWA,
    SwitchEMA,
    build,
)

__all__ = [
    "ASWA",
    "EMA",
    "LAWA",
    "NASWA",
    "PRESETS",
    "SWA",
    "AverageWarning",
    "Decay",
    "Mean",
    "NormRule",
    "Policy",
    "SwitchEMA",
    "WeightAverage",
    "Window",
    "build",
]
