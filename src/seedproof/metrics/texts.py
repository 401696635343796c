"""Families of metrics of free texts: those of classes that need none, and distinct answers."""

from seedproof.metrics.accumulator import ClassFamily
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.distinct import Distinct
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Disagreement

# Most different answers to an example that entropies allow for: free texts have no limit.
MOST_ANSWERS = 1000

TEXT_FAMILIES: tuple[type[ClassFamily], ...] = (Disagreement, Distinct, Entropy, Accuracy)

TEXT_NAMES: tuple[str, ...] = tuple(name for family in TEXT_FAMILIES for name in family.figures)
