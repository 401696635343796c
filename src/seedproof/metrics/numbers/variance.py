"""Parts of the variance of single numbers: runs, examples, and both together with noise."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.block_statistic import VarianceShare, log_ratio
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.crossed import OF_JUDGES, crossed_parts, margins
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.moments import Moments, df_of
from seedproof.metrics.numbers.parts import EXAMPLE, RESIDUAL, Part
from seedproof.metrics.statistic import VERDICT_FROM, ExampleValues, Statistic, ValueOnly
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import FloatArray, IntArray


class MeanSquares(NamedTuple):
    """Mean squares between the units of one level that belong to the same outer unit."""

    main: FloatArray  # of their means over examples
    mixed: FloatArray  # of their numbers on one example, less these means


def run_squares(moments: Moments, n_left_out: int) -> tuple[MeanSquares, FloatArray]:
    """Return the mean squares of runs, and that of the means of examples.

    The variance of the means of runs is always from all of them, as it has an interval of its own.
    """
    squares, products = moments.squares[0], moments.products
    n_runs, df = _n_runs(len(squares), n_left_out), df_of(moments)
    of_sum = products.sum(axis=0, keepdims=True)
    if n_left_out:
        of_sum = np.concatenate([of_sum, of_sum - 2 * products + squares])
    mixed = (_sums(squares, n_left_out) - of_sum / n_runs) / (df * (n_runs - 1))
    main = np.full_like(mixed, moments.means[0][:, 0].var(ddof=1))
    return MeanSquares(main, mixed), of_sum / (n_runs**2 * df)


def inner_squares(moments: Moments, tree: Tree, level: int, n_left_out: int) -> MeanSquares:
    """Return the mean squares of the units of an inner level, averaged over outer units."""
    starts, n_members = tree.starts[level - 1], tree.n_members[level - 1]
    several = n_members > 1
    df = np.maximum(n_members - 1, 1)[:, np.newaxis]
    outer = moments.means[level - 1], moments.squares[level - 1]
    gaps = moments.means[level] - np.repeat(outer[0], n_members, axis=0)
    main = np.add.reduceat(np.square(gaps), starts, axis=0) / df
    mixed = np.add.reduceat(moments.squares[level], starts, axis=0)
    mixed = (mixed - n_members[:, np.newaxis] * outer[1]) / (df * df_of(moments))
    runs, n_runs = tree.runs_of(level - 1)[several], tree.n_runs
    n_units = _sums(np.bincount(runs, minlength=n_runs)[:, np.newaxis], n_left_out)

    def mean(values: FloatArray) -> FloatArray:
        by_run = np.zeros((n_runs, values.shape[1]))
        np.add.at(by_run, runs, values[several])
        return _sums(by_run, n_left_out) / n_units

    return MeanSquares(mean(main), mean(mixed))


def _n_runs(n_runs: int, n_left_out: int) -> IntArray:
    """Return the number of all runs, and of those without each that is left out: (…, 1)."""
    return np.array([n_runs, *[n_runs - 1] * n_left_out])[:, np.newaxis]


def _sums(by_run: FloatArray | IntArray, n_left_out: int) -> FloatArray:
    """Return sums over runs, the first axis: of all, and without each that is left out."""
    whole = by_run.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - by_run[:n_left_out]])


def parts_of(moments: Moments, tree: Tree) -> tuple[Part, ...]:
    """Return the parts, the residual last, from moments over all examples and without each block.

    Trials of one model have no part of their own: no trial is better than another.
    """
    has_runs = tree.n_runs >= VERDICT_FROM and not tree.are_trials
    names, n_left_out = tree.names, tree.n_runs if has_runs else 0
    of_runs, of_examples = run_squares(moments, n_left_out)
    inner = [inner_squares(moments, tree, level, n_left_out) for level in range(1, len(names))]
    n_examples = moments.n_effective
    parts: list[Part] = []
    for level, (name, own) in enumerate(zip(names, (of_runs, *inner), strict=True)):
        added, is_last = own.mixed / n_examples, level == len(inner)
        # A unit has the mean of its members, and with it a share of their variance.
        below = own if is_last else inner[level]
        share = 0.0 if is_last else float((1 / tree.n_members[level]).mean())
        if level > 0 or not tree.are_trials:
            added = added + share * (below.main - below.mixed / n_examples)
            parts.append(Part(f"variance_{name}", own.main, added))
        if not is_last:
            parts.append(Part(f"variance_{name}_example", own.mixed, share * below.mixed))
    parts.append(Part(EXAMPLE, of_examples, of_runs.mixed / _n_runs(tree.n_runs, n_left_out)))
    residual = (of_runs, *inner)[-1].mixed
    return (*parts, Part(RESIDUAL, residual, np.zeros_like(residual)))


def share_of(
    part: Part,
    parts: Sequence[Part],
    sizes: IntArray | FloatArray,
    means: FloatArray | None,
    of_means: str = "",
) -> VarianceShare | None:
    """Return the share of a part with its values without each run and block.

    Args:
        part: One of the parts.
        parts: All of them, the residual last.
        sizes: Number of all examples, or sum of their weights, and the same without each block.
        means: Means of the runs, or of judges who grade every answer; None with trials.
        of_means: The part that is the variance of these means.

    Returns:
        None if there are too few examples for an interval.
    """
    *others, residual = parts
    is_residual, is_of_runs = part is residual, part.name == of_means
    if is_residual:
        # All others may be 0, this part is not: take the ratio of their mean squares to it.
        square, added = (
            np.sum([getattr(x, name) for x in others], axis=0) for name in ("square", "added")
        )
        rest = part.square
    else:
        square, added = part.square, part.added
        total = np.sum([x.variance for x in parts], axis=0)
        rest = np.maximum(total - part.variance, residual.square)
    with np.errstate(divide="ignore", invalid="ignore"):
        jackknife = log_ratio(square / rest, sizes)
    if jackknife is None:
        return None
    ratio, without, blocks = jackknife
    above, below = float(square[0, 0]), float(rest[0, 0])
    spread = 0.0 if means is None else float(means.var(ddof=1))
    return VarianceShare(
        value=part.value / sum(x.value for x in parts),
        ratio=ratio,
        noise=float(added[0, 0]) / below,
        without=without,
        blocks=blocks,
        means=means,
        run_part=spread / above if is_residual or is_of_runs else -min(spread / below, 1.0),
        is_of_others=is_residual,
    )


class Variances(NumberFamily):
    """Shares of the variance of single numbers, by the analysis of variance."""

    figures: ClassVar[tuple[str, ...]] = (
        "variance_run",
        "variance_level",
        "variance_level_example",
        EXAMPLE,
        RESIDUAL,
    )
    memory: ClassVar[str] = "runs × blocks"

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        tree, n_units = self.tree, self.tree.n_units
        if tree.has_same_judges:
            n_units = (tree.n_runs, tree.n_repeats // tree.n_runs, tree.n_repeats)
        self._moments = Moments.empty(n_units)

    @classmethod
    def applies(cls, tree: Tree) -> bool:
        """Return whether there are units to compare: the judges of one trial, or several runs.

        Judges who are the same in the trials of several runs have no parts.
        """
        return len(tree.names) == 2 if tree.has_same_judges else super().applies(tree)

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        of_units = margins(batch, self.tree) if self.tree.has_same_judges else batch.by_level
        self._moments = self._moments + Moments.of(of_units, batch.filled_blocks, batch.weights)
        return super().add(batch, values)

    def result(self) -> Mapping[str, Statistic]:
        """Return the share of each part, over all examples so far; none if all are equal."""
        parts, moments = self.parts(), self._moments.left_out()
        total = sum(part.value for part in parts)
        if not total > 0.0:
            return {}
        has_interval = self.settings.are_trials or self.n_runs >= VERDICT_FROM
        means = None if self.settings.are_trials else moments.means[0][:, 0]
        of_means = parts[0].name
        if self.tree.has_same_judges:
            # Of runs and judges together, there is no interval for two variances of a few means.
            has_interval = self.settings.are_trials
            means, of_means = moments.means[1][:, 0], OF_JUDGES
        results: dict[str, Statistic] = {}
        for part in parts:
            share = None
            if has_interval:
                share = share_of(part, parts, moments.sizes, means, of_means)
            results[part.name] = ValueOnly(part.value / total) if share is None else share
        return results

    def detail(self) -> Detail:
        """Return the standard deviation of each part, in the order of their shares."""
        parts = self.parts()
        return {"variance_part_sd": np.sqrt([part.value for part in parts])} if parts else {}

    def parts(self) -> tuple[Part, ...]:
        """Return the parts over all examples so far; none with fewer than two."""
        moments = self._moments.left_out()
        if not moments.n_effective[0] > 1:
            return ()
        in_parts = crossed_parts if self.tree.has_same_judges else parts_of
        return in_parts(moments, self.tree)
