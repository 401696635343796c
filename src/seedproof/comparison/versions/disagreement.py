"""Changes between two versions, example by example, and with single runs left out.

A flip between versions is an old and a new run that disagree. Two runs of one version show the
no-change baseline. The flips beyond it, averaged over examples, estimate half the squared distance
of the two distributions of votes: 0 where the versions do not differ.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from seedproof.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Change:
    """A quantity of each example, from all runs and with one run left out.

    Leaving out a run gives axes (examples, runs); None where too few runs are left.
    """

    whole: FloatArray
    without_old: FloatArray | None
    without_new: FloatArray | None
    # If a version has one run: the same with run r of the other version in its place.
    swapped: FloatArray | None = None

    def scaled(self, factors: FloatArray | None) -> "Change":
        """Return the quantity of each example times a factor; the same if there are none."""
        if factors is None:
            return self

        def times(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values * factors[:, np.newaxis]

        without = map(times, (self.without_old, self.without_new, self.swapped))
        return Change(self.whole * factors, *without)

    def joined(
        self, join: Callable[[FloatArray, FloatArray], FloatArray], other: "Change"
    ) -> "Change":
        """Join each value with that of another change."""

        def both(here: FloatArray | None, there: FloatArray | None) -> FloatArray | None:
            return None if here is None or there is None else join(here, there)

        return Change(
            join(self.whole, other.whole),
            both(self.without_old, other.without_old),
            both(self.without_new, other.without_new),
        )

    def less(self, other: "Change", swapped: FloatArray | None = None) -> "Change":
        """Subtract another change."""
        return replace(self.joined(np.subtract, other), swapped=swapped)


@dataclass(frozen=True, eq=False)
class Disagreement:
    """Number of runs that disagree with each run, or differences, axes (examples, runs)."""

    old: FloatArray  # old runs against an old run
    new: FloatArray  # new runs against a new run
    old_across: FloatArray  # new runs against an old run
    new_across: FloatArray  # old runs against a new run
    # Examples on which two runs differ, or their differences, axes (runs, runs), old first.
    disagreements: IntArray | FloatArray

    @classmethod
    def count(cls, old: IntArray, new: IntArray) -> "Disagreement":
        """Count disagreements of predicted classes, axes (runs, examples)."""
        n_old = len(old)
        pooled = np.concatenate([old, new])
        within = np.zeros(pooled.shape, dtype=np.int32)
        across = np.zeros(pooled.shape, dtype=np.int32)
        pairs = np.zeros((len(pooled), len(pooled)), dtype=np.int64)
        for run_idx in range(len(pooled) - 1):
            differ = pooled[run_idx] != pooled[run_idx + 1 :]
            pairs[run_idx, run_idx + 1 :] = differ.sum(axis=1)
            n_own = n_old - run_idx - 1 if run_idx < n_old else len(differ)
            for counts, part, start in (
                (within, differ[:n_own], run_idx + 1),
                (across, differ[n_own:], run_idx + 1 + n_own),
            ):
                counts[run_idx] += part.sum(axis=0, dtype=np.int32)
                counts[start : start + len(part)] += part
        same, other = (np.ascontiguousarray(x.T, dtype=np.float64) for x in (within, across))
        return cls(
            old=same[:, :n_old],
            new=same[:, n_old:],
            old_across=other[:, :n_old],
            new_across=other[:, n_old:],
            disagreements=pairs + pairs.T,
        )

    @classmethod
    def of_numbers(
        cls, old: FloatArray, new: FloatArray, weights: FloatArray | None = None
    ) -> "Disagreement":
        """Add up absolute differences of numbers, axes (runs, examples)."""
        pooled = np.concatenate([old, new])
        return cls.of_distances(
            pooled.shape, len(old), lambda run: np.abs(pooled - pooled[run]), weights
        )

    @classmethod
    def of_distances(
        cls,
        shape: tuple[int, int],
        n_old: int,
        distances_of: Callable[[int], FloatArray],
        weights: FloatArray | None = None,
    ) -> "Disagreement":
        """Add up distances, given those of each run to all runs, axes (runs, examples)."""
        sums = np.zeros((2, *shape))  # within a version, and across
        pairs = np.zeros((shape[0], shape[0]))
        for run_idx in range(shape[0]):
            apart = distances_of(run_idx)
            pairs[run_idx] = apart.sum(axis=1) if weights is None else apart @ weights
            own, other = (apart[:n_old], apart[n_old:])[:: 1 if run_idx < n_old else -1]
            sums[:, run_idx] = own.sum(axis=0), other.sum(axis=0)
        within, across = (np.ascontiguousarray(x.T) for x in sums)
        return cls(
            old=within[:, :n_old],
            new=within[:, n_old:],
            old_across=across[:, :n_old],
            new_across=across[:, n_old:],
            disagreements=pairs,
        )

    @property
    def agreement(self) -> IntArray:
        """Runs of both versions that predict what this run predicts, axes (runs, examples)."""
        against = np.concatenate([self.old + self.old_across, self.new + self.new_across], axis=1)
        n_runs = against.shape[1]
        return np.ascontiguousarray((n_runs - against).T, dtype=np.int64)


def flips(counts: Disagreement) -> dict[str, Change]:
    """Return flips between the versions, within each of them, and beyond those."""
    return distances(counts, "flip_rate")


def distances(counts: Disagreement, name: str) -> dict[str, Change]:
    """Return the same for any distance between two answers, whose name begins the figures."""
    n_old, n_new = counts.old.shape[1], counts.new.shape[1]
    total = counts.old_across.sum(axis=1)
    between = Change(
        total / (n_old * n_new),
        _divided(total[:, None] - counts.old_across, (n_old - 1) * n_new),
        _divided(total[:, None] - counts.new_across, n_old * (n_new - 1)),
    )
    within = {}
    if n_old > 1:
        within[f"{name}_old"] = _within(counts.old, is_old=True, n_other=n_new)
    if n_new > 1:
        within[f"{name}_new"] = _within(counts.new, is_old=False, n_other=n_old)
    baseline = _mean(list(within.values()))
    swapped = None
    if len(within) == 1:
        several = counts.new if n_old == 1 else counts.old
        swapped = _swapped(several / (several.shape[1] - 1), baseline)
    return {
        name: between,
        **within,
        f"{name}_no_change": baseline,
        f"{name}_beyond": between.less(baseline, swapped),
    }


def _divided(values: FloatArray, denominator: int) -> FloatArray | None:
    return values / denominator if denominator > 0 else None


def _within(against: FloatArray, *, is_old: bool, n_other: int) -> Change:
    """Share of the pairs of runs of one version that disagree."""
    n_runs = against.shape[1]
    total = against.sum(axis=1)
    whole = total / (n_runs * (n_runs - 1))
    own = _divided(total[:, None] - 2 * against, (n_runs - 1) * (n_runs - 2))
    return _of_one_version(whole, own, is_old=is_old, n_other=n_other)


def _of_one_version(
    whole: FloatArray, own: FloatArray | None, *, is_old: bool, n_other: int
) -> Change:
    """Quantity that does not depend on the runs of the other version."""
    same = np.broadcast_to(whole[:, None], (len(whole), n_other))
    return Change(whole, own, same) if is_old else Change(whole, same, own)


def _mean(within: list[Change]) -> Change:
    """Mean of one or two baselines."""
    if len(within) == 1:
        return within[0]
    return within[0].joined(lambda old, new: (old + new) / 2, within[1])


def _swapped(between: FloatArray, within: Change) -> FloatArray | None:
    """Flips beyond the baseline, with each run of the other version as the single run."""
    candidates = (within.without_old, within.without_new)
    left = next((x for x in candidates if x is not None and x.shape == between.shape), None)
    return None if left is None else between - left


def directed_flips(old: BoolArray, new: BoolArray) -> dict[str, Change]:
    """Return flips from right to wrong (negative) and from wrong to right (positive)."""
    n_old, n_new = old.shape[1], new.shape[1]
    versions = [(old, True, n_new), (new, False, n_old)]
    accuracies = [_share(x, is_old=is_old, n_other=n) for x, is_old, n in versions]
    within = [_unsure(x, is_old=is_old, n_other=n) for x, is_old, n in versions if x.shape[1] > 1]
    negative, positive, baseline = _negative(old, new), _negative(~old, ~new), _mean(within)
    change = accuracies[1].less(accuracies[0])
    swapped: list[FloatArray | None] = [None, None]
    if len(within) == 1:
        several = new if n_old == 1 else ~old  # right → wrong, seen from the version of many runs
        swapped = [_swapped(_right_before(runs), baseline) for runs in (several, ~several)]
        change = replace(change, swapped=_others_less_one(several))
    return {
        "negative_flip_rate": negative,
        "negative_flip_rate_beyond": negative.less(baseline, swapped[0]),
        "positive_flip_rate": positive,
        "positive_flip_rate_beyond": positive.less(baseline, swapped[1]),
        "directed_flip_rate_no_change": baseline,
        "accuracy_old": accuracies[0],
        "accuracy_new": accuracies[1],
        "accuracy_change": change,
    }


def means(old: FloatArray, new: FloatArray, name: str) -> dict[str, Change]:
    """Return means of both versions and their difference, from the axes (examples, runs)."""
    of_old = _share(old, is_old=True, n_other=new.shape[1])
    of_new = _share(new, is_old=False, n_other=old.shape[1])
    change = of_new.less(of_old)
    if 1 in {old.shape[1], new.shape[1]}:
        change = replace(change, swapped=_others_less_one(new if old.shape[1] == 1 else old))
    return {f"{name}_old": of_old, f"{name}_new": of_new, f"{name}_change": change}


def _share(right: BoolArray | FloatArray, *, is_old: bool, n_other: int) -> Change:
    """Mean over the runs of one version: the share that is right, or the mean of numbers."""
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    own = _divided(total[:, None] - right, n_runs - 1)
    return _of_one_version(total / n_runs, own, is_old=is_old, n_other=n_other)


def _negative(old: BoolArray, new: BoolArray) -> Change:
    """Share of the pairs of an old and a new run that are right, then wrong."""
    n_old, n_new = old.shape[1], new.shape[1]
    right, wrong = old.sum(axis=1, dtype=np.float64), (~new).sum(axis=1, dtype=np.float64)
    return Change(
        right * wrong / (n_old * n_new),
        _divided((right[:, None] - old) * wrong[:, None], (n_old - 1) * n_new),
        _divided((wrong[:, None] - ~new) * right[:, None], n_old * (n_new - 1)),
    )


def _unsure(right: BoolArray, *, is_old: bool, n_other: int) -> Change:
    """Share of the ordered pairs of runs of one version that are right, then wrong."""
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    left = total[:, None] - right
    own = _divided(left * (n_runs - 1 - left), (n_runs - 1) * (n_runs - 2))
    whole = total * (n_runs - total) / (n_runs * (n_runs - 1))
    return _of_one_version(whole, own, is_old=is_old, n_other=n_other)


def _others_less_one(right: BoolArray | FloatArray) -> FloatArray | None:
    """Mean of the other runs less that of run r, the single run."""
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    return (total[:, None] - n_runs * right) / (n_runs - 1) if n_runs > 2 else None


def _right_before(right: BoolArray) -> FloatArray:
    """Share of the other runs that are wrong where run r, the single run, is right."""
    wrong = (~right).sum(axis=1, dtype=np.float64)
    return np.asarray(right * wrong[:, None] / (right.shape[1] - 1))
