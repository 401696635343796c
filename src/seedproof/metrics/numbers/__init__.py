"""Metrics of runs that give a number for each example: scores, predictions of a regression."""

from seedproof.metrics.numbers.errors import Errors, Explained
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.passes import Passes
from seedproof.metrics.numbers.ranks import Ranks
from seedproof.metrics.numbers.runs import RunEquality
from seedproof.metrics.numbers.spread import Limits, Spread
from seedproof.metrics.numbers.variance import Variances

NUMBER_FAMILIES: tuple[type[NumberFamily], ...] = (
    Means,
    Passes,
    Spread,
    Limits,
    Ranks,
    Variances,
    Errors,
    Explained,
    RunEquality,
)

# Names of their figures; those of limits carry them, such as "flip_rate@0.5".
NUMBER_NAMES: tuple[str, ...] = tuple(name for family in NUMBER_FAMILIES for name in family.figures)
