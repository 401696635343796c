"""The measuring pass over explanations: would another seed have given another reason?"""

from seedproof.measurement.explanations.curves import Curves
from seedproof.measurement.explanations.result import ExplanationMeasurement

__all__ = ["Curves", "ExplanationMeasurement"]
