"""Checks of runs that give lists or sets, from sums that the measuring pass has anyway."""

from collections.abc import Iterator

import numpy as np

from seedproof.metrics.items.batch import item_batches
from seedproof.metrics.items.family import Catalog
from seedproof.metrics.items.runs import ItemEquality, ItemRunSums
from seedproof.predictions.checks import Check, named
from seedproof.predictions.duplicates import IMPLAUSIBLE, equal_rows, explained_copies
from seedproof.predictions.input_checks import LEAST_OTHER_ANSWERS, few_runs
from seedproof.records.shards import ShardSource


def item_run_sums(source: ShardSource) -> ItemRunSums:
    """Return the sums over all examples."""
    equality = ItemEquality(len(source.runs), Catalog(len(source.classes), source.settings.depth))
    for index in range(source.n_shards):
        for batch in item_batches(source.shard(index)):
            equality.update(batch)
    return equality.run_sums()


def item_checks_of(source: ShardSource, sums: ItemRunSums) -> Iterator[Check]:
    """Yield the findings about aligned runs of lists or sets, given sums over all examples."""
    yield from few_runs(len(source.runs), "trials" if source.settings.are_trials else "runs")
    if len(source.runs) > 1:
        yield from _duplicates(source, sums)
        yield from _constant_runs(source, sums)


def _duplicates(source: ShardSource, sums: ItemRunSums) -> Iterator[Check]:
    n_runs, groups = len(source.runs), equal_rows(~sums.differ)
    n_pairs = n_runs * (n_runs - 1) / 2
    for group in groups:
        is_plausible = n_pairs * np.exp(-sums.n_flips * (len(group) - 1)) >= IMPLAUSIBLE
        if len(group) == 1 or (len(groups) > 1 and is_plausible):
            continue
        names = tuple(source.runs[run] for run in group)
        same = "All runs" if len(group) == n_runs else f"Runs {named(names)}"
        same += f" have identical {source.kind}"
        yield explained_copies(source, group, names, same) or Check(
            "duplicate-runs",
            "error",
            names,
            f"{same}. Copies of a run are not evidence of stability.",
            "Check that no run is given twice and that the seed has an effect; "
            "`seedproof doctor` checks the latter.",
        )


def _constant_runs(source: ShardSource, sums: ItemRunSums) -> Iterator[Check]:
    is_constant = sums.n_varied == 0
    others = sums.n_varied[~is_constant]
    if not is_constant.any() or not len(others) or others.min() < LEAST_OTHER_ANSWERS:
        return
    for run in np.flatnonzero(is_constant):
        is_empty = sums.n_empty[run] == sums.n_examples
        same = "no item" if is_empty else f"the same {str(source.kind).removesuffix('s')}"
        yield Check(
            "constant-run",
            "error",
            (source.runs[run],),
            f"Run {source.runs[run]} gives {same} to all {sums.n_examples:,} examples; the other "
            "runs do not.",
            "Look at its training log. Make the run again, or leave it out of all arms.",
        )
