"""What changes between two versions, example by example, and with single runs left out.

A flip between versions is an old and a new run that disagree. What two runs of one version show is
the no-change baseline. What is beyond it, averaged over examples, estimates half the squared
distance of the two distributions of votes: 0 where only the seed changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from seedproof.typing import BoolArray, FloatArray, IntArray

FLIPS = (
    "flip_rate",
    "flip_rate_old",
    "flip_rate_new",
    "flip_rate_no_change",
    "flip_rate_beyond",
)
DIRECTED = (
    "negative_flip_rate",
    "negative_flip_rate_beyond",
    "positive_flip_rate",
    "positive_flip_rate_beyond",
    "directed_flip_rate_no_change",
    "accuracy_old",
    "accuracy_new",
    "accuracy_change",
)


@dataclass(frozen=True, eq=False)
class Change:
    """A quantity of each example, from all runs and with one run left out.

    Args:
        whole: From all runs, axes (examples).
        without_old: From all but old run r, axes (examples, runs); None where too few are left.
        without_new: From all but new run r; None where too few are left.
        stand_ins: Where a version has one run: with run r of the other version in its place, axes
            (examples, runs); None otherwise.
    """

    whole: FloatArray
    without_old: FloatArray | None
    without_new: FloatArray | None
    stand_ins: FloatArray | None = None

    def less(self, other: "Change", stand_ins: FloatArray | None) -> "Change":
        """This less another one."""
        return Change(
            self.whole - other.whole,
            _both(np.subtract, self.without_old, other.without_old),
            _both(np.subtract, self.without_new, other.without_new),
            stand_ins,
        )


def _both(
    join: Callable[[FloatArray, FloatArray], FloatArray],
    one: FloatArray | None,
    other: FloatArray | None,
) -> FloatArray | None:
    return None if one is None or other is None else join(one, other)


@dataclass(frozen=True, eq=False)
class Disagreement:
    """How many runs disagree with each run, on the examples that some run sees differently.

    Args:
        old: Old runs that disagree with an old run, axes (examples, runs).
        new: New runs that disagree with a new run.
        old_across: New runs that disagree with an old run.
        new_across: Old runs that disagree with a new run.
        disagreements: On how many of the examples two runs differ, axes (runs, runs), old first.
    """

    old: FloatArray
    new: FloatArray
    old_across: FloatArray
    new_across: FloatArray
    disagreements: IntArray

    @classmethod
    def count(cls, old: IntArray, new: IntArray) -> "Disagreement":
        """From predicted classes, axes (runs, examples)."""
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
        by_example = [np.ascontiguousarray(one.T, dtype=np.float64) for one in (within, across)]
        same, other = by_example
        return cls(
            old=same[:, :n_old],
            new=same[:, n_old:],
            old_across=other[:, :n_old],
            new_across=other[:, n_old:],
            disagreements=pairs + pairs.T,
        )

    @property
    def agreement(self) -> IntArray:
        """How many runs of both versions predict what this run predicts: (runs, examples)."""
        against = np.concatenate([self.old + self.old_across, self.new + self.new_across], axis=1)
        n_runs = against.shape[1]
        return np.ascontiguousarray((n_runs - against).T, dtype=np.int64)


def flips(opponents: Disagreement) -> dict[str, Change]:
    """Flips between the versions, within each of them, and what is beyond those."""
    n_old, n_new = opponents.old.shape[1], opponents.new.shape[1]
    total = opponents.old_across.sum(axis=1)
    between = Change(
        total / (n_old * n_new),
        _without(total[:, None] - opponents.old_across, (n_old - 1) * n_new),
        _without(total[:, None] - opponents.new_across, n_old * (n_new - 1)),
    )
    found = {"flip_rate": between}
    within = []
    for name, against, other in (("old", opponents.old, n_new), ("new", opponents.new, n_old)):
        if against.shape[1] > 1:
            within.append(_within(against, is_old=name == "old", n_other=other))
            found[f"flip_rate_{name}"] = within[-1]
    found["flip_rate_no_change"] = baseline = _mean(within)
    stand_ins = None
    if len(within) == 1:
        several = opponents.new if n_old == 1 else opponents.old
        stand_ins = _stood_in(several / (several.shape[1] - 1), within[0])
    found["flip_rate_beyond"] = between.less(baseline, stand_ins)
    return found


def _without(values: FloatArray, denominator: int) -> FloatArray | None:
    return values / denominator if denominator > 0 else None


def _within(against: FloatArray, *, is_old: bool, n_other: int) -> Change:
    """The share of the pairs of runs of one version that disagree."""
    n_runs = against.shape[1]
    total = against.sum(axis=1)
    whole = total / (n_runs * (n_runs - 1))
    own = _without(total[:, None] - 2 * against, (n_runs - 1) * (n_runs - 2))
    return _of_one_version(whole, own, is_old=is_old, n_other=n_other)


def _of_one_version(
    whole: FloatArray, own: FloatArray | None, *, is_old: bool, n_other: int
) -> Change:
    """What no run of the other version matters to."""
    same = np.broadcast_to(whole[:, None], (len(whole), n_other))
    return Change(whole, own, same) if is_old else Change(whole, same, own)


def _mean(within: list[Change]) -> Change:
    """The mean of one or two baselines."""
    if len(within) == 1:
        return within[0]
    one, other = within

    def mean(mine: FloatArray, theirs: FloatArray) -> FloatArray:
        return (mine + theirs) / 2

    return Change(
        mean(one.whole, other.whole),
        _both(mean, one.without_old, other.without_old),
        _both(mean, one.without_new, other.without_new),
    )


def _stood_in(between: FloatArray, within: Change) -> FloatArray | None:
    """What is beyond, with each run of the other version in the place of a single one."""
    candidates = (within.without_old, within.without_new)
    left = next((x for x in candidates if x is not None and x.shape == between.shape), None)
    return None if left is None else between - left


def directed_flips(old: BoolArray, new: BoolArray) -> dict[str, Change]:
    """Flips from right to wrong (negative) and from wrong to right (positive)."""
    n_old, n_new = old.shape[1], new.shape[1]
    shares = [_share(old, is_old=True, n_other=n_new), _share(new, is_old=False, n_other=n_old)]
    negative, positive = _negative(old, new), _negative(~old, ~new)
    sides = [(old, True, n_new), (new, False, n_old)]
    within = [_unsure(x, is_old=is_old, n_other=n) for x, is_old, n in sides if x.shape[1] > 1]
    baseline = _mean(within)
    beyond = [negative.less(baseline, None), positive.less(baseline, None)]
    change = shares[1].less(shares[0], None)
    if len(within) == 1:
        several = new if n_old == 1 else ~old  # right → wrong, seen from the version of many runs
        beyond = [
            one.less(baseline, _stood_in(_right_before(runs), baseline))
            for one, runs in ((negative, several), (positive, ~several))
        ]
        change = replace(change, stand_ins=_others_less_one(several))
    return {
        "negative_flip_rate": negative,
        "negative_flip_rate_beyond": beyond[0],
        "positive_flip_rate": positive,
        "positive_flip_rate_beyond": beyond[1],
        "directed_flip_rate_no_change": baseline,
        "accuracy_old": shares[0],
        "accuracy_new": shares[1],
        "accuracy_change": change,
    }


def _share(right: BoolArray, *, is_old: bool, n_other: int) -> Change:
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    own = _without(total[:, None] - right, n_runs - 1)
    return _of_one_version(total / n_runs, own, is_old=is_old, n_other=n_other)


def _negative(old: BoolArray, new: BoolArray) -> Change:
    """The share of the pairs of an old and a new run that are right, then wrong."""
    n_old, n_new = old.shape[1], new.shape[1]
    right, wrong = old.sum(axis=1, dtype=np.float64), (~new).sum(axis=1, dtype=np.float64)
    return Change(
        right * wrong / (n_old * n_new),
        _without((right[:, None] - old) * wrong[:, None], (n_old - 1) * n_new),
        _without((wrong[:, None] - ~new) * right[:, None], n_old * (n_new - 1)),
    )


def _unsure(right: BoolArray, *, is_old: bool, n_other: int) -> Change:
    """The share of the ordered pairs of runs of one version that are right, then wrong."""
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    left = total[:, None] - right
    own = _without(left * (n_runs - 1 - left), (n_runs - 1) * (n_runs - 2))
    whole = total * (n_runs - total) / (n_runs * (n_runs - 1))
    return _of_one_version(whole, own, is_old=is_old, n_other=n_other)


def _others_less_one(right: BoolArray) -> FloatArray | None:
    """Run r in the place of the single one: what the others are right more often than it."""
    n_runs = right.shape[1]
    total = right.sum(axis=1, dtype=np.float64)
    return (total[:, None] - n_runs * right) / (n_runs - 1) if n_runs > 2 else None


def _right_before(right: BoolArray) -> FloatArray:
    """Run r in the place of the single one: the others that are wrong where it is right."""
    wrong = (~right).sum(axis=1, dtype=np.float64)
    return np.asarray(right * wrong[:, None] / (right.shape[1] - 1))
