"""The measuring pass over explanations: how far those of two runs differ."""

from seedproof.measurement.explanations.curves import Curves
from seedproof.measurement.explanations.result import ExplanationMeasurement

__all__ = ["Curves", "ExplanationMeasurement"]
