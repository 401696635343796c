"""Metrics of two arms that can be compared although their runs have unlike trials or judges."""

from collections.abc import Iterable, Mapping, Sequence

from seedproof.messages import Message
from seedproof.metrics.numbers.levels import Tree
from seedproof.records.shards import ShardSource

# Means over all answers of a run, however many it has.
OF_ANSWERS = frozenset({"accuracy", "bias", "mae", "mean", "r2", "rmse"})
# Of the means of runs, which are steadier with more trials, or of the number of trials.
OF_SIZES = frozenset({"ambiguity", "distinct_answers", "label_entropy", "rank_rho", "rank_tau"})
SPREADS = "_sd", "_sd_excess", "_share"
OF_PAIRS = "example_sd"


def levels_of(source: ShardSource) -> dict[str, int]:
    """Return the number of runs, of trials of each and so on; empty if runs have one answer."""
    tree = Tree.of(source.settings, len(source.runs))
    return tree.sizes if len(tree.names) > 1 else {}


def comparable_metrics(
    metrics: Iterable[str], base: Mapping[str, int], arm: Mapping[str, int]
) -> list[str]:
    """Return the metrics that mean the same in two arms, given their levels of repetition.

    If only one arm has several trials per run, its answers differ inside runs, and those of the
    other between runs.

    Args:
        metrics: Names of the metrics.
        base: Number of runs of the baseline, of trials of each and so on.
        arm: The same for the arm.

    Returns:
        Names of metrics, in the same order.

    >>> metrics = ["mean", "mean_sd", "mean_difference"]
    >>> comparable_metrics(metrics, {"run": 5, "trial": 3}, {"run": 5, "trial": 2})
    ['mean', 'mean_difference']
    >>> comparable_metrics(metrics, {"run": 5, "trial": 3}, {})
    ['mean']
    """
    if list(base) != list(arm):
        return [metric for metric in metrics if metric in OF_ANSWERS]
    if list(base.values())[1:] == list(arm.values())[1:]:
        return list(metrics)
    return [
        metric
        for metric in metrics
        if metric == OF_PAIRS or not (metric in OF_SIZES or metric.endswith(SPREADS))
    ]


def notes_on_judges(sources: Sequence[ShardSource]) -> list[Message]:
    """Return a note on arms whose answers are all graded by the same judges."""
    names = [x.settings.levels.judges if x.settings.levels else () for x in sources]
    if not any(names):
        return []
    if all(of_arm == names[0] for of_arm in names):
        return [
            Message(
                "judges-are-paired",
                "The same judges grade all arms: how strict they are cancels in the differences, "
                "whose intervals are over judges like these.",
            )
        ]
    return [
        Message(
            "judges-differ",
            "Arms are graded by different judges: a difference contains how strict they are, and "
            "its interval is over judges like these. Let the same judges grade all arms.",
        )
    ]


def notes_on_unequal(sources: Sequence[ShardSource]) -> list[Message]:
    """Return a note if examples of an arm have different numbers of trials."""
    if not any(source.settings.are_unequal for source in sources):
        return []
    return [
        Message(
            "unequal-trials-of-arms",
            "Examples have different numbers of trials, and each example counts once. Metrics "
            "that leave out examples with few trials are not compared.",
        )
    ]


def notes_on_levels(levels: Sequence[Mapping[str, int]]) -> list[Message]:
    """Return a note if an arm has other trials or judges per run than the baseline."""
    inner = [list(of_arm.items())[1:] for of_arm in levels]
    if all(of_arm == inner[0] for of_arm in inner):
        return []
    return [
        Message(
            "unlike-levels",
            "Arms have unlike numbers of trials or judges per run. Metrics that depend on them "
            "are not compared.",
        )
    ]
