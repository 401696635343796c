"""Metrics of runs whose answers consist of items: ranked lists, and sets of labels or spans."""

from seedproof.metrics.items.exposure import Exposure
from seedproof.metrics.items.family import ItemFamily
from seedproof.metrics.items.labels import LabelFlips
from seedproof.metrics.items.rankings import RankingOverlap, RankingQuality
from seedproof.metrics.items.runs import ItemEquality
from seedproof.metrics.items.sets import SetOverlap, SetQuality

RANKING_FAMILIES: tuple[type[ItemFamily], ...] = (
    RankingOverlap,
    RankingQuality,
    Exposure,
    ItemEquality,
)
SET_FAMILIES: tuple[type[ItemFamily], ...] = (SetOverlap, SetQuality, LabelFlips, ItemEquality)

# Names of their figures; those of the first items carry the number, such as "ndcg@10".
RANKING_NAMES: tuple[str, ...] = tuple(
    name for family in RANKING_FAMILIES for name in family.figures
)
SET_NAMES: tuple[str, ...] = tuple(name for family in SET_FAMILIES for name in family.figures)
