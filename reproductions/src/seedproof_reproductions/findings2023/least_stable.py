"""What an arm does to the examples that the control is least sure of, with an interval.

Chosen and measured on the same runs, such examples seem to gain stability where nothing changes:
regression to the mean. Here they are chosen on one half of the runs and measured on the other.
Which examples a half chooses is chance, too; it strikes each of them by itself, so that it is in
the variance over examples.

One thing is left. Examples at the control's limits between classes are not quite those at another
arm's, so that whoever chooses them in the control finds every other arm steadier. Chosen in the arm
instead, the same difference counts against it: the two say between them what there is to say.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seedproof.comparison.arms.least_sure import cuts
from seedproof.comparison.contrast import compared
from seedproof.comparison.cross import Cross
from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import TAIL
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, rarefied_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues
from seedproof.typing import BoolArray, FloatArray, IntArray

EVERY_RUN = slice(None)


def entropies_over(predictions: IntArray, n_drawn: int | None = None) -> ExampleValues:
    """Label entropy of each example over some runs.

    Args:
        predictions: Predicted class, axes (runs, examples).
        n_drawn: As so many of the runs would show it; all of them without.

    Returns:
        Nats, of all runs and with each left out; without the latter with fewer than three runs.
    """
    batch = Batch(predictions, n_classes=int(predictions.max(initial=0)) + 1)
    n_drawn = len(predictions) if n_drawn is None else n_drawn
    found = rarefied_entropy(batch.contested_agreement, n_drawn)
    without = None
    if found.without is not None:
        without = np.zeros(predictions.shape)
        without[:, batch.contested] = found.without
    return ExampleValues(batch.over_contested(found.values), without)


def high_in(predictions: IntArray) -> BoolArray:
    """Which examples have a high entropy over some runs: above 0.56, as the paper has it."""
    return np.asarray(entropies_over(predictions).values > HIGH_ENTROPY)


def cross_fitted(
    control: IntArray, arm: IntArray, *, is_paired: bool, by_arm: bool = False
) -> Effect | None:
    """The ratio of label entropies, arm to control, on examples that other runs chose.

    Args:
        control: What the control's runs predict, axes (runs, examples).
        arm: The same of the arm.
        is_paired: Whether run r of both shares its seeds: then no seed chooses and measures.
        by_arm: Whether examples are chosen in the arm in place of the control.

    Returns:
        The ratio with its interval; None if no example was chosen.
    """
    ways = list(_ways(arm if by_arm else control))
    is_chosen = np.zeros(control.shape[1], dtype=np.bool_)
    for way in ways:
        is_chosen |= way.chosen
    rows = np.flatnonzero(is_chosen)
    if not len(rows):
        return None
    sums = _Sum(control[:, rows]), _Sum(arm[:, rows])
    for way in ways:
        # Whoever shares no seed with those that chose may be measured on all runs.
        others = way.runs if is_paired else EVERY_RUN
        runs = (others, way.runs) if by_arm else (way.runs, others)
        n_drawn = min(one.n_runs(some) for one, some in zip(sums, runs, strict=True))
        for one, some in zip(sums, runs, strict=True):
            one.add(some, way.chosen[rows], n_drawn)
    values = [one.values(rows, control.shape[1]) for one in sums]
    return ratio("label_entropy", values, is_paired=is_paired)


class _Way(NamedTuple):
    """One way to choose and to measure: runs to measure on, and the examples that are chosen."""

    runs: slice
    chosen: BoolArray


def _ways(chooser: IntArray) -> Iterator[_Way]:
    for halves in cuts(len(chooser)):
        for choose_on, measure_on in (halves, halves[::-1]):
            yield _Way(measure_on, high_in(chooser[choose_on]))


class _Sum:
    """Entropies of the chosen examples, summed over the ways to choose them."""

    def __init__(self, predictions: IntArray) -> None:
        self._predictions = predictions
        self._whole = np.zeros(predictions.shape[1])
        self._without: FloatArray | None = np.zeros(predictions.shape)

    def n_runs(self, runs: slice) -> int:
        """How many runs these are."""
        return len(self._predictions[runs])

    def add(self, runs: slice, chosen: BoolArray, n_drawn: int) -> None:
        """Add one way: some examples, measured on some runs."""
        found = entropies_over(self._predictions[runs], n_drawn)
        self._whole += np.where(chosen, found.values, 0.0)
        if self._without is None or found.without is None:
            self._without = None
            return
        # Without a run that was not measured on, nothing changes.
        left = np.tile(found.values, (len(self._predictions), 1))
        left[runs] = found.without
        self._without += np.where(chosen, left, 0.0)

    def values(self, rows: IntArray, n_examples: int) -> ExampleValues:
        """What each example adds; all that were never chosen add nothing."""
        n_zeros = n_examples - len(rows)
        return ExampleValues(self._whole, self._without, places=rows, n_zeros=n_zeros)


def ratio(metric: str, values: Sequence[ExampleValues], *, is_paired: bool) -> Effect:
    """The ratio of two means over the same examples.

    Args:
        metric: Whose name it has.
        values: What each example has in the control, and in the arm.
        is_paired: Whether run r of both shares its seeds.

    Returns:
        With an interval over runs × examples, as `compare` makes it.
    """
    control, arm = values
    means = []
    for one in (control, arm):
        sums = ExampleSums()
        sums.update(one)
        means.append(sums.mean_over_examples(is_count=True))
    cross = Cross(is_paired)
    cross.update(control, arm)
    return compared(metric, means[0], means[1], cross=cross, is_paired=is_paired, tail=TAIL)
