"""All arms against the control, and the examples on which the control's entropy is high.

Chosen and measured on the same runs, such examples seem to gain stability where nothing changes:
regression to the mean. Here they are chosen on one half of the runs and measured on the other.
Which examples a half chooses is chance, too; it affects each of them independently, so it is part
of the variance over examples.

One bias is left. Examples near the control's decision boundaries are not quite those near another
arm's, so that every other arm looks more stable on examples that the control chooses. Chosen by the
arm instead, the same difference counts against it: the truth lies between the two.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.arms.arm_contrast import ClassContrast
from seedproof.comparison.arms.compare import ArmData, CompareShard
from seedproof.comparison.arms.high_entropy import cuts
from seedproof.comparison.arms.result import HighEntropy
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import Cross
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import PLAIN, Estimate, estimate
from seedproof.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Figures:
    """Metrics of one arm, and its effects against the first by itself and among all arms."""

    metrics: Mapping[str, Estimate]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    of_all: Mapping[str, Effect] = field(default_factory=dict)
    high_entropy: HighEntropy | None = None


def compare_once(sides: Sequence[ArmData]) -> dict[str, Figures]:
    """Compare each arm with the first, by itself and among all arms, in one pass."""
    sources = tuple(side.source for side in sides)
    aligned = ArmAlignment(tuple(side.name for side in sides), sources)
    task = CompareShard(aligned, tuple(side.seeds for side in sides))
    whole = task.empty()
    for index in range(aligned.n_shards):
        whole.merge(task(index))
    base = whole.arms[0].accumulators.result()
    figures = {}
    for side, arm in zip(sides, whole.arms, strict=True):
        result = arm.accumulators.result()
        figures[side.name] = Figures(_estimates(result))
        if isinstance(arm.contrast, ClassContrast):
            contrasts = arm.contrast.contrasts(base, result, (sides[0].name, side.name))
            alone, of_all = (
                {name: x.effect(PLAIN.divided(n), margin=0.0) for name, x in contrasts.items()}
                for n in (1, len(sides) - 1)
            )
            high = arm.contrast.results()["high_entropy"]
            figures[side.name] = Figures(_estimates(result), alone, of_all, high)
    return figures


def _estimates(result: Mapping[str, Statistic]) -> dict[str, Estimate]:
    return {name: estimate(statistic) for name, statistic in result.items()}


def entropies_over(predictions: IntArray, n_drawn: int | None = None) -> ExampleValues:
    """Return the label entropy of each example over some runs, as `n_drawn` of them show it."""
    batch = Batch(predictions, n_classes=int(predictions.max(initial=0)) + 1)
    n_drawn = len(predictions) if n_drawn is None else n_drawn
    contested = rarefied_entropy(batch.contested_agreement, n_drawn)
    without = None
    if contested.without is not None:
        without = np.zeros(predictions.shape)
        without[:, batch.contested] = contested.without
    return ExampleValues(batch.over_contested(contested.values), without)


def high_in(predictions: IntArray) -> BoolArray:
    """Return which examples have a high entropy over some runs: above 0.56, as in the paper."""
    return np.asarray(entropies_over(predictions).values > HIGH_ENTROPY)


def cross_fitted(
    control: IntArray, arm: IntArray, *, is_paired: bool, by_arm: bool = False
) -> Effect | None:
    """Return the ratio of label entropies, arm to control, on examples that other runs chose.

    Predictions have the axes (runs, examples). If run r of both shares its seeds (`is_paired`), no
    seed chooses and measures. With `by_arm`, the arm chooses the examples in place of the control.
    None if no example was chosen.
    """
    ways = list(_ways(arm if by_arm else control))
    rows = np.flatnonzero(np.any([chosen for _, chosen in ways], axis=0)) if ways else np.array([])
    if not len(rows):
        return None
    sums = _Sum(control[:, rows]), _Sum(arm[:, rows])
    for measured, chosen in ways:
        # Runs that share no seed with those that chose may all be measured on.
        others = measured if is_paired else slice(None)
        runs = (others, measured) if by_arm else (measured, others)
        n_drawn = min(len(side[some]) for side, some in zip((control, arm), runs, strict=True))
        for total, some in zip(sums, runs, strict=True):
            total.add(some, chosen[rows], n_drawn)
    values = [total.values(rows, control.shape[1]) for total in sums]
    return ratio("label_entropy", values, is_paired=is_paired)


def _ways(chooser: IntArray) -> Iterator[tuple[slice, BoolArray]]:
    """Yield each half of the runs, to measure on, with the examples that the other half chooses."""
    for halves in cuts(len(chooser)):
        for choose_on, measure_on in (halves, halves[::-1]):
            yield measure_on, high_in(chooser[choose_on])


class _Sum:
    """Entropies of the chosen examples, summed over the ways to choose them."""

    def __init__(self, predictions: IntArray) -> None:
        self._predictions = predictions
        self._whole = np.zeros(predictions.shape[1])
        self._without: FloatArray | None = np.zeros(predictions.shape)

    def add(self, runs: slice, chosen: BoolArray, n_drawn: int) -> None:
        """Add one way: some examples, measured on some runs."""
        entropies = entropies_over(self._predictions[runs], n_drawn)
        self._whole += np.where(chosen, entropies.values, 0.0)
        if self._without is None or entropies.without is None:
            self._without = None
            return
        # Without a run that was not measured on, nothing changes.
        left = np.tile(entropies.values, (len(self._predictions), 1))
        left[runs] = entropies.without
        self._without += np.where(chosen, left, 0.0)

    def values(self, rows: IntArray, n_examples: int) -> ExampleValues:
        """Return what each example adds; all that were never chosen add nothing."""
        n_zeros = n_examples - len(rows)
        return ExampleValues(self._whole, self._without, places=rows, n_zeros=n_zeros)


def ratio(metric: str, values: Sequence[ExampleValues], *, is_paired: bool) -> Effect:
    """Return the ratio of two means over the same examples."""
    control, arm = values
    means = []
    for side in (control, arm):
        sums = ExampleSums()
        sums.update(side)
        means.append(sums.mean_over_examples(is_count=True))
    cross = Cross(is_paired)
    cross.update(control, arm)
    return compared(metric, means[0], means[1], cross=cross, is_paired=is_paired)
