"""What the charts of a comparison show, as plain data."""

from seedproof.comparison.arms.result import Comparison
from seedproof.report.comparison.figures.forest import forest
from seedproof.report.comparison.figures.spread import spread_parts
from seedproof.report.comparison.figures.tradeoff import (
    cost_names,
    stability_accuracy,
    stability_cost,
)
from seedproof.report.comparison.figures.votes import MAX_VOTES, moved_examples, vote_legend, votes
from seedproof.report.figures import Figure

__all__ = ["MAX_VOTES", "build_figures", "moved_examples", "vote_legend"]


def build_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Every chart that the data allows, in the order of the page."""
    found = [*forest(comparison)]
    if "accuracy" in comparison.baseline.measurement.metrics:
        found += [stability_accuracy(comparison), spread_parts(comparison)]
    found += [stability_cost(comparison, name) for name in cost_names(comparison)]
    return (*(one for one in found if one.rows), *votes(comparison))
