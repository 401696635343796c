"""Checks of runs that give numbers, from sums that the measuring pass has anyway."""

from collections.abc import Iterator

import numpy as np

from seedproof.metrics.numbers.batch import number_batches
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.ranks import standardized
from seedproof.metrics.numbers.runs import NumberRunSums, RunEquality
from seedproof.predictions.checks import Check, constant_answers, have_other_values, named
from seedproof.predictions.duplicates import (
    FROM_A_CACHE,
    IMPLAUSIBLE,
    equal_rows,
    explained_copies,
)
from seedproof.predictions.input_checks import CHANCE_AGREEMENT, LONELY, few_runs
from seedproof.predictions.trial_checks import trials_by_outcome
from seedproof.records.shards import ShardSource
from seedproof.typing import FloatArray

# A constant run is reported if every other run gives other numbers at least this often.
LEAST_OTHER_NUMBERS = 10
# With unequal numbers of trials, fewer examples with several of them may be equal by chance.
LEAST_REPEATED = 10
# A run is judged only if so many examples differ from another one, in every run.
LEAST_UNLIKE = 30
# Others must agree by more than chance gives, in standard errors of a correlation.
CHANCE_ERRORS = 4


def number_run_sums(source: ShardSource) -> NumberRunSums:
    """Return the sums over all examples."""
    equality = RunEquality(len(source.runs), source.settings)
    for index in range(source.n_shards):
        for batch in number_batches(source.shard(index), tree=equality.tree):
            equality.update(batch)
    return equality.run_sums()


def number_checks_of(source: ShardSource, sums: NumberRunSums) -> Iterator[Check]:
    """Yield the findings about aligned runs of numbers, given sums over all examples."""
    if not source.settings.are_trials:
        yield from few_runs(Tree.of(source.settings, len(source.runs)).n_runs)
    yield from _constant_numbers(source, sums)
    if source.settings.are_unequal:
        if sums.n_repeated >= LEAST_REPEATED:
            yield from _duplicates(source, sums)
        yield from trials_by_outcome(source.runs, sums.sample)
    elif len(source.runs) > 1:
        yield from _duplicates(source, sums)
        yield from _constant_runs(source, sums)
        yield from _outliers(source, sums)


def _constant_numbers(source: ShardSource, sums: NumberRunSums) -> Iterator[Check]:
    """Yield a finding if no run's numbers depend on the example, while targets do.

    Without targets nothing is yielded: scores, or outcomes, may all be the same with good reason.
    """
    if sums.n_varied.any() or not source.n_labeled:
        return
    shards = (source.shard(index) for index in range(source.n_shards))
    present = (x.targets[~np.isnan(x.targets)] for x in shards if x.targets is not None)
    if have_other_values(targets.tolist() for targets in present):
        yield constant_answers(
            source.runs, source.repeats, sums.n_examples, "their targets are different"
        )


def _duplicates(source: ShardSource, sums: NumberRunSums) -> Iterator[Check]:
    n_runs, noun = len(source.runs), source.repeats
    groups = equal_rows(~sums.differ)
    for group in groups:
        if len(group) == 1 or (len(groups) > 1 and not _is_implausible(sums, len(group))):
            continue
        names = tuple(source.runs[run] for run in group)
        same = f"All {noun}" if len(group) == n_runs else f"{noun.capitalize()} {named(names)}"
        same += " have identical numbers"
        yield explained_copies(source, group, names, same) or Check(
            "duplicate-runs",
            "error",
            names,
            f"{same}. Copies are not evidence of stability.",
            FROM_A_CACHE,
        )


def _is_implausible(sums: NumberRunSums, n_equal: int) -> bool:
    """Return whether chance does not explain that some, not all, runs are equal.

    Numbers that are equal to the last digit are no accident; outcomes of 0 and 1 may be.
    """
    if sums.n_flips is None:
        return True
    n_pairs = len(sums.differ) * (len(sums.differ) - 1) / 2
    return n_pairs * float(np.exp(-sums.n_flips * (n_equal - 1))) < IMPLAUSIBLE


def _constant_runs(source: ShardSource, sums: NumberRunSums) -> Iterator[Check]:
    is_constant = sums.n_varied == 0
    others = sums.n_varied[~is_constant]
    if not is_constant.any() or not len(others) or others.min() < LEAST_OTHER_NUMBERS:
        return
    first = source.shard(0).numbers
    for run in np.flatnonzero(is_constant):
        value = 0.0 if first is None else float(first[run, 0])
        yield Check(
            "constant-run",
            "error",
            (source.runs[run],),
            f"{source.repeats.removesuffix('s').capitalize()} {source.runs[run]} gives {value:g} "
            f"to all {sums.n_examples:,} examples; the others do not.",
            "Look at its log. Make it again, or leave it out.",
        )


def _outliers(source: ShardSource, sums: NumberRunSums) -> Iterator[Check]:
    kept = np.flatnonzero(sums.n_varied > 0)
    if len(kept) < 3:
        return
    sample, ranks = sums.sample[kept], sums.order.ranks[kept]
    n_equal = (sums.order.n_up_to - sums.order.n_below)[kept]
    # Examples that differ from another one, drawn at random.
    n_unlike = (1 - n_equal / ranks.shape[1]).sum(axis=1)
    by_chance = CHANCE_AGREEMENT + CHANCE_ERRORS / float(np.sqrt(max(n_unlike.min(), 1)))
    scaled = standardized(ranks)
    agreement = scaled @ scaled.T
    np.fill_diagonal(agreement, 0.0)
    is_chance = agreement.sum(axis=1) < CHANCE_AGREEMENT * (len(kept) - 1)
    np.fill_diagonal(agreement, -1.0)
    for row in np.flatnonzero(is_chance & (n_unlike.min() >= LEAST_UNLIKE)):
        others = np.delete(np.delete(agreement, row, axis=0), row, axis=1)
        nearest = float(others.max(axis=1).min())
        is_lonely = 1 - agreement[row].max() > LONELY * (1 - nearest)
        if not is_lonely or nearest < by_chance:
            continue
        name, noun = source.runs[kept[row]], source.repeats.removesuffix("s")
        remedy, shuffled = "Look at its log. Make it again, or leave it out.", ""
        if _has_usual_numbers(sample, int(row)):
            shuffled = " It gives the same numbers to other examples, so its rows look shuffled."
            remedy = "Check that its rows are in the order of their ids. Otherwise look at its log."
        yield Check(
            "outlier-run",
            "error",
            (name,),
            f"{noun.capitalize()} {name} ranks the examples no more like the others than chance "
            f"would.{shuffled}",
            remedy,
        )


def _has_usual_numbers(numbers: FloatArray, row: int) -> bool:
    """Return True if a run has the distribution of others, as far as these have the same."""
    ordered = np.sort(numbers, axis=1)
    middle = np.median(np.delete(ordered, row, axis=0), axis=0)
    distances = np.abs(ordered - middle).mean(axis=1)
    return bool(distances[row] <= 2 * np.delete(distances, row).max())
