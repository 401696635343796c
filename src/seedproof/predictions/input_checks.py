"""Checks of the runs themselves, from sums that the measuring pass has anyway."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from seedproof.metrics.batch import batches
from seedproof.metrics.flips import Flips, RunSums
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.checks import (
    LEAST_OTHER_LABELS,
    Check,
    constant_answers,
    named,
)
from seedproof.predictions.duplicates import duplicates
from seedproof.records.columns import shown
from seedproof.records.item_cells import SEPARATOR
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import BoolArray, FloatArray, IntArray

# A constant run is reported if every other run gives other answers at least this often.
LEAST_OTHER_ANSWERS = 10
# A run is judged only if chance alone would make it differ from others on this many examples.
LEAST_BY_CHANCE = 30
# Chance-corrected agreement below which a run is no better than chance.
CHANCE_AGREEMENT = 0.1
# An outlier's nearest run is this many times as far away as the nearest run of any other.
LONELY = 1.5
# Fewer classes may be an ordinal scale, such as stars.
MANY_NUMBERS = 20
# The tag of a token, such as O or B-PER.
TAG = re.compile(r"O|[BIESLU]-\S+")
# What answers look like, by the role of the column that they belong into.
LOOKS = {
    "value": "rounded numbers",
    "tags": "tags of tokens",
    "set": "lists of labels",
    "answer": "free text",
}
REMEDIES = {
    "value": "Measure them as numbers: name their column with --value, or pass floats.",
    "tags": "Measure them as spans: name their column with --tags, or columns=sp.Columns(tags=…) "
    "in Python.",
    "set": "Measure them as sets: name their column with --set, or pass lists with kind='sets' in "
    "Python. If their order matters, write one row per item, with --item and --rank; or pass lists "
    "with kind='rankings'.",
    "answer": "Measure them as texts: name their column with --answer, and that of the right ones "
    "with --reference; or pass texts=True in Python.",
}
# Two rounded numbers that differ do so by less than this share of what chance would give.
NEAR_NUMBERS = 0.5


def run_sums(source: ShardSource) -> RunSums:
    """Return the sums over all examples, from predicted classes alone."""
    flips, alone = Flips(len(source.runs), len(source.classes)), source.predictions_alone()
    for index in range(alone.n_shards):
        for batch in batches(alone.shard(index), len(source.classes)):
            flips.update(batch)
    return flips.run_sums()


def checks_of(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    """Yield the findings about aligned runs, given sums over all examples."""
    yield from few_runs(len(source.runs))
    constant = np.asarray(sums.class_counts.max(axis=1) == sums.n_examples)
    yield from _constant_answers(source, sums, constant)
    if len(source.runs) > 1:
        yield from duplicates(source, sums.disagreements)
        yield from _constant_runs(source, sums, constant)
        yield from _outliers(source, sums, constant)
    yield from _unexpected_classes(source, sums)
    yield from _not_categorical(source, sums)


def _constant_answers(source: ShardSource, sums: RunSums, constant: BoolArray) -> Iterator[Check]:
    """Yield a finding if no run's answers depend on the example, while labels do."""
    labels = sums.label_counts
    if constant.all() and labels.sum() - labels.max(initial=0) >= LEAST_OTHER_LABELS:
        n_classes = int(np.count_nonzero(labels))
        right = f"their labels have {n_classes:,} classes"
        yield constant_answers(source.runs, source.repeats, sums.n_examples, right)


def _constant_runs(source: ShardSource, sums: RunSums, constant: BoolArray) -> Iterator[Check]:
    others = sums.class_counts[~constant]
    if not constant.any() or not len(others):
        return
    for run in np.flatnonzero(constant):
        answer = int(sums.class_counts[run].argmax())
        # Where another answer is rare, a healthy run may miss it altogether.
        if (sums.n_examples - others[:, answer]).min() < LEAST_OTHER_ANSWERS:
            continue
        yield Check(
            "constant-run",
            "error",
            (source.runs[run],),
            f"Run {source.runs[run]} gives the answer {source.classes[answer]!r} to all "
            f"{sums.n_examples:,} examples; the other runs do not.{_without(sums, int(run))}",
            "Look at its training log. Make the run again, or leave it out of all arms.",
        )


def _outliers(source: ShardSource, sums: RunSums, constant: BoolArray) -> Iterator[Check]:
    kept = np.flatnonzero(~constant)
    if len(kept) < 3:
        return
    counts, n = sums.class_counts[kept].astype(np.float64), sums.n_examples
    apart = sums.disagreements[np.ix_(kept, kept)].astype(np.float64)
    by_chance = n - counts @ counts.T / n
    np.fill_diagonal(by_chance, 0.0)
    expected = by_chance.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = 1 - apart.sum(axis=1) / expected
    is_chance = (agreement < CHANCE_AGREEMENT) & (expected >= LEAST_BY_CHANCE * (len(kept) - 1))
    np.fill_diagonal(apart, np.inf)
    for row in np.flatnonzero(is_chance):
        others = np.delete(np.delete(apart, row, axis=0), row, axis=1)
        if apart[row].min() <= LONELY * others.min(axis=1).max():
            continue
        run = source.runs[kept[row]]
        remedy = "Look at its training log. Make the run again, or leave it out of all arms."
        shuffled = ""
        if _has_usual_shares(counts / n, int(row)):
            shuffled = " It gives each answer as often as they do, so its rows look shuffled."
            remedy = (
                "Check that its rows are in the order of their ids. Otherwise look at its training "
                "log."
            )
        yield Check(
            "outlier-run",
            "error",
            (run,),
            f"Run {run} agrees with the other runs no more than chance would.{shuffled}"
            f"{_without(sums, int(kept[row]))}",
            remedy,
        )


def _without(sums: RunSums, run: int) -> str:
    """Return the effect of one run on the flip rate, in words."""
    total, n_runs = sums.disagreements.sum() / sums.n_examples, len(sums.disagreements)
    if n_runs < 3:
        return ""
    rest = total - 2 * sums.disagreements[run].sum() / sums.n_examples
    rates = rest / ((n_runs - 1) * (n_runs - 2)), total / (n_runs * (n_runs - 1))
    return " If it is left out, the flip rate is {:.1f} % instead of {:.1f} %.".format(
        *(100 * rate for rate in rates)
    )


def _has_usual_shares(shares: FloatArray, row: int) -> bool:
    """Return True if a run's class shares are no farther from the mean than those of others."""
    distances = np.abs(shares - np.delete(shares, row, axis=0).mean(axis=0)).sum(axis=1) / 2
    return bool(distances[row] <= max(0.02, np.delete(distances, row).max()))


def _unexpected_classes(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    predicted, classes = sums.class_counts.sum(axis=0), source.classes
    plain: dict[str, list[str]] = {}
    for index in np.flatnonzero(predicted + sums.label_counts):
        plain.setdefault("".join(classes[index].split()).casefold(), []).append(classes[index])
    for names in plain.values():
        if len(names) > 1:
            yield Check(
                "unexpected-classes",
                "warning",
                (),
                f"The classes {named([repr(name) for name in names])} differ only by case or "
                "spaces, and are measured as different answers.",
                "Write each class in one way.",
            )
    variants = {name for names in plain.values() if len(names) > 1 for name in names}
    if source.kind is not Kind.LABELS or not sums.label_counts.any():
        return
    unknown = [
        classes[index]
        for index in np.flatnonzero((predicted > 0) & (sums.label_counts == 0))
        if classes[index] not in variants
    ]
    if unknown:
        yield Check(
            "unexpected-classes",
            "warning",
            (),
            f"Predicted, but not the label of any example: {shown(unknown)}.",
            "Check the names of the classes in predictions and labels.",
        )


def few_runs(n_runs: int, noun: str = "runs") -> Iterator[Check]:
    """Yield a warning if there are too few runs, or trials, for a verdict."""
    if n_runs < VERDICT_FROM:
        yield Check(
            f"few-{noun}",
            "warning",
            (),
            f"With fewer than {VERDICT_FROM} {noun} (here {n_runs}), there are figures but no "
            "verdicts.",
            f"Use at least {VERDICT_FROM} {noun}.",
        )


def _not_categorical(source: ShardSource, sums: RunSums) -> Iterator[Check]:
    if source.kind is not Kind.LABELS:
        return
    used = np.flatnonzero(sums.class_counts.sum(axis=0))
    names = [source.classes[index] for index in used]
    role = _likely_role(names, used, sums)
    if role is None:
        return
    yield Check(
        "not-categorical",
        "warning",
        (),
        f"The {len(names):,} different answers to {sums.n_examples:,} examples look like "
        f"{LOOKS[role]}, not like classes.",
        REMEDIES[role],
        role=role,
    )


def _likely_role(names: Sequence[str], used: IntArray, sums: RunSums) -> str | None:
    """Return the role of a column of tables with such answers; None if they are classes."""
    numbers = _as_numbers(names)
    if numbers is not None:
        return "value" if _are_rounded(numbers, used, sums) else None
    several = [name.split() for name in names if " " in name.strip()]
    if several and all(TAG.fullmatch(tag) for name in names for tag in name.split()):
        return "tags"
    lists = [name.split(SEPARATOR) for name in names if SEPARATOR in name]
    if len(lists) >= 2 and len({item for items in lists for item in items}) < 2 * len(names):
        return "set"
    are_texts = len(names) >= MANY_NUMBERS and len(names) > sums.n_examples / 2
    return "answer" if are_texts else None


def _as_numbers(names: Sequence[str]) -> FloatArray | None:
    try:
        return np.array([float(name) for name in names])
    except ValueError:
        return None


def _are_rounded(numbers: FloatArray, used: IntArray, sums: RunSums) -> bool:
    """Return True if runs that differ give numbers close to each other."""
    if len(numbers) < MANY_NUMBERS or not np.isfinite(numbers).all():
        return False
    if sums.swaps is None:  # too many classes for a table
        return True
    swaps = sums.swaps[np.ix_(used, used)].astype(np.float64)
    total = swaps.sum()
    if total == 0:
        return False
    distance = np.abs(numbers[:, None] - numbers)
    by_chance = swaps.sum(axis=1) @ distance @ swaps.sum(axis=0) / total
    return bool((swaps * distance).sum() < NEAR_NUMBERS * by_chance)
