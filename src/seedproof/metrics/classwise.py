"""Means over classes, in which a rare class counts as much as a frequent one."""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail, Need
from seedproof.metrics.batch import Batch
from seedproof.metrics.block_statistic import BlockJackknife, ClassShares
from seedproof.metrics.calibration import N_BLOCKS, blocks_of
from seedproof.metrics.statistic import ExampleValues, SpreadOverRuns, Statistic, ValueOnly
from seedproof.typing import FloatArray, IntArray

# Most entries of a table of counts. With more runs and classes there are fewer blocks, and a single
# one, which gives no interval, if that is not enough.
MOST_ENTRIES = 2**22
FEWEST_BLOCKS = 16

# Right answers, gold labels and answers of a run: (classes, blocks).
Counts: TypeAlias = tuple[IntArray, IntArray, IntArray]
# Right answers, gold labels and answers of each class, whose axis is the first, to the score of
# each class and the number of examples that it is a share of.
ClassScores: TypeAlias = Callable[[IntArray, IntArray, IntArray], tuple[IntArray, FloatArray]]


def recalls(right: IntArray, gold: IntArray, answers: IntArray) -> tuple[IntArray, FloatArray]:
    """Return right answers and number of gold labels of each class."""
    del answers
    return right, gold.astype(np.float64)


def precisions(right: IntArray, gold: IntArray, answers: IntArray) -> tuple[IntArray, FloatArray]:
    """Return right answers and number of answers of each class."""
    del gold
    return right, answers.astype(np.float64)


def f1_scores(right: IntArray, gold: IntArray, answers: IntArray) -> tuple[IntArray, FloatArray]:
    """Return right answers of each class, and the mean of its gold labels and its answers.

    Their ratio is F1, the harmonic mean of precision and recall.
    """
    return right, (gold + answers) / 2


SCORES: Mapping[str, ClassScores] = {"balanced_accuracy": recalls, "macro_f1": f1_scores}


def mean_over_classes(right: IntArray, sizes: FloatArray) -> FloatArray:
    """Return the mean over classes, the first axis, of the share of right answers.

    Classes without examples do not count, as in scikit-learn; 0 if there is none.
    """
    n_classes = np.count_nonzero(sizes, axis=0)
    shares = np.divide(right, sizes, out=np.zeros(sizes.shape), where=sizes > 0)
    return np.asarray(shares.sum(axis=0) / np.maximum(n_classes, 1))


def n_blocks_for(n_runs: int, n_classes: int) -> int:
    """Return the number of blocks whose counts fit into memory; 1 if there is no interval."""
    n_blocks = N_BLOCKS
    while n_blocks > FEWEST_BLOCKS and n_runs * n_classes * n_blocks > MOST_ENTRIES:
        n_blocks //= 2
    return n_blocks if n_runs * n_classes * n_blocks <= 4 * MOST_ENTRIES else 1


class Classwise(ClassFamily):
    """Balanced accuracy and macro F1 of each run, and their spread."""

    figures: ClassVar[tuple[str, ...]] = (
        "balanced_accuracy",
        "balanced_accuracy_sd",
        "macro_f1",
        "macro_f1_sd",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    memory: ClassVar[str] = "runs × classes × blocks"

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self.n_blocks = n_blocks_for(n_runs, n_classes)
        shape = (n_classes, self.n_blocks)
        self._gold = np.zeros(shape, dtype=np.int64)
        # Of the examples on which all runs agree, then of each run on the others.
        self._agreed_answers = np.zeros(shape, dtype=np.int64)
        self._agreed_right = np.zeros(shape, dtype=np.int64)
        self._answers = np.zeros((n_runs, *shape), dtype=np.int32)
        self._right = np.zeros((n_runs, *shape), dtype=np.int32)

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add the labeled examples of a batch; single examples have no classwise figure."""
        del values
        labeled = batch.labeled
        if labeled.labels is None:
            return {}
        blocks = labeled.blocks
        if blocks is None:
            blocks = blocks_of(np.arange(labeled.n_examples))
        blocks = blocks // (N_BLOCKS // self.n_blocks)
        add_counts(self._gold, labeled.labels * np.int64(self.n_blocks) + blocks)
        agreed = np.ones(labeled.n_examples, dtype=np.bool_)
        agreed[labeled.contested] = False
        first = labeled.predictions[0, agreed]
        places = first * np.int64(self.n_blocks) + blocks[agreed]
        add_counts(self._agreed_answers, places)
        add_counts(self._agreed_right, places[first == labeled.labels[agreed]])
        contested = labeled.contested
        answers = labeled.predictions[:, contested].astype(np.int64)
        is_right = labeled.correct[:, contested]
        answers += np.arange(self.n_runs)[:, None] * self.n_classes
        places = answers * self.n_blocks + blocks[contested]
        add_counts(self._answers, places.ravel())
        add_counts(self._right, places[is_right])
        return {}

    def result(self) -> Mapping[str, Statistic]:
        """Return means and spreads over runs, over all labeled examples so far."""
        results: dict[str, Statistic] = {}
        for name, scores in SCORES.items():
            results[name] = self._mean(scores)
            results[f"{name}_sd"] = SpreadOverRuns(self._by_run(scores), largest=1.0)
        return results

    def detail(self) -> Detail:
        """Return the figures of each run, and the number of gold labels per class."""
        by_run = {f"{name}_by_run": self._by_run(scores) for name, scores in SCORES.items()}
        return {**by_run, "gold_count": self._gold.sum(axis=1)}

    def _counts(self, run_idx: int) -> Counts:
        """Right answers, gold labels and answers of a run: (classes, blocks)."""
        right = self._agreed_right + self._right[run_idx]
        return right, self._gold, self._agreed_answers + self._answers[run_idx]

    def _by_run(self, scores: ClassScores) -> FloatArray:
        return scores_by_run(map(self._counts, range(self.n_runs)), scores)

    def _mean(self, scores: ClassScores) -> Statistic:
        counts = map(self._counts, range(self.n_runs))
        return mean_over_runs_and_classes(counts, self._gold.sum(axis=0), scores)


def scores_by_run(counts: Iterable[Counts], scores: ClassScores) -> FloatArray:
    """Return the mean over classes of each run, given its counts by class and block."""
    totals = ([x.sum(axis=1) for x in of_run] for of_run in counts)
    return np.array([mean_over_classes(*scores(*of_run)) for of_run in totals])


def mean_over_runs_and_classes(
    counts: Iterable[Counts], sizes: IntArray, scores: ClassScores
) -> Statistic:
    """Return the mean over classes and runs, with what each block of examples contributes.

    Args:
        counts: Those of each run.
        sizes: Examples of each block; a single block gives no interval.
        scores: The score of each class.

    Returns:
        The mean; without an interval if there is a single block.
    """
    by_run, without, of_classes = [], [], []
    n_blocks: IntArray = np.zeros(0, dtype=np.int64)
    for of_run in counts:
        totals = [x.sum(axis=1) for x in of_run]
        rest = [x.sum(axis=1, keepdims=True) - x[:, sizes > 0] for x in of_run]
        by_run.append(mean_over_classes(*scores(*totals)))
        without.append(mean_over_classes(*scores(*rest)))
        of_classes.append(scores(*totals))
        n_blocks = np.count_nonzero(of_run[1], axis=1)
    values: FloatArray = np.array(by_run)
    if len(sizes) == 1:
        return ValueOnly(float(values.mean()))
    right, n_examples = (np.array(part, dtype=np.float64) for part in zip(*of_classes, strict=True))
    shares = ClassShares(right, n_examples, n_blocks)
    return BlockJackknife(values, np.stack(without), sizes[sizes > 0], shares)


def add_counts(counts: IntArray, places: IntArray) -> None:
    """Add 1 at each place of a flat table."""
    if len(places) < counts.size:
        # With another type, numpy would convert one count at a time.
        np.add.at(counts.reshape(-1), places, counts.dtype.type(1))
    else:
        counts += np.bincount(places, minlength=counts.size).reshape(counts.shape)
