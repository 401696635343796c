"""Sums over examples that show which runs are no evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.ranks import Order, Sample
from seedproof.metrics.numbers.unequal import counts_of
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NumberRunSums:
    """Sums that checks of the input need; see `predictions.number_checks`."""

    n_examples: int
    differ: BoolArray  # whether two runs differ on any example: (runs, runs)
    n_varied: IntArray  # examples with another number than most others of the run: (runs)
    n_flips: float | None  # examples on which two runs are expected to differ, if pass or fail
    sample: FloatArray  # numbers of some examples: (runs, examples)
    n_repeated: int = 0  # examples with several trials, if their numbers are unequal

    @cached_property
    def order(self) -> Order:
        """Order of the sample in each run."""
        return Order.of(self.sample)


class RunEquality(NumberFamily):
    """Runs that are equal to each other, or that give one number to every example."""

    least_runs: ClassVar[int] = 1
    takes_unequal: ClassVar[bool] = True

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        self._n_examples = 0
        self._n_flips = 0.0
        self._n_repeated = 0  # examples with several trials, if their numbers are unequal
        n_repeats = self.tree.n_repeats
        self._differ = np.zeros((n_repeats, n_repeats), dtype=np.bool_)
        self._n_varied = np.zeros(n_repeats, dtype=np.int64)
        self._sample = Sample.empty(n_repeats)

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        columns = super().add(batch, values)
        self._n_examples += batch.n_examples
        self._sample = self._sample.with_batch(batch.numbers, batch)
        if self.tree.is_unequal:
            self._add_unequal(batch)
            return columns
        contents = [hash(row.tobytes()) for row in batch.numbers]
        self._differ |= np.not_equal.outer(contents, contents)
        n_other = np.count_nonzero(batch.numbers != batch.numbers[:, :1], axis=1)
        if batch.is_passed is not None:
            n_other = np.minimum(n_other, batch.n_examples - n_other)
            n_passed = batch.is_passed.sum(axis=0)
            n_repeats = len(batch.numbers)
            pairs = n_passed * (n_repeats - n_passed)
            n_pairs = n_repeats * max(n_repeats - 1, 1) / 2
            self._n_flips += float(pairs.sum()) / n_pairs
        self._n_varied += n_other
        return columns

    def _add_unequal(self, batch: NumberBatch) -> None:
        """Add examples with unequal numbers of trials, which are no rows of one run each.

        Trials are all equal, or none: they differ if any example has different ones.
        """
        several = batch.numbers[:, counts_of(batch.numbers) > 1]
        self._n_repeated += several.shape[1]
        if (
            np.nanmax(several, axis=0, initial=-np.inf) > np.nanmin(several, axis=0, initial=np.inf)
        ).any():
            self._differ |= ~np.eye(len(self._differ), dtype=np.bool_)

    def result(self) -> Mapping[str, Statistic]:
        """Return no metric."""
        return {}

    def run_sums(self) -> NumberRunSums:
        """Return the sums that checks of the input need."""
        n_flips = self._n_flips if self.is_pass_or_fail else None
        return NumberRunSums(
            self._n_examples,
            self._differ,
            self._n_varied,
            n_flips,
            self._sample.numbers,
            self._n_repeated,
        )
