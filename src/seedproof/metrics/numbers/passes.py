"""Scores that are pass or fail: disagreement, pass^k and pass@k, solid and flaky examples."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from math import comb
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import Detail
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.family import NumberFamily
from seedproof.metrics.numbers.spread import flips_across
from seedproof.metrics.numbers.unequal import (
    all_of_trials,
    any_of_trials,
    counts_of,
    flips_of_trials,
)
from seedproof.metrics.statistic import ExampleValues, MeanOverExamples, Statistic, ValueOnly
from seedproof.records.answer_settings import AnswerSettings
from seedproof.typing import BoolArray, FloatArray, IntArray

# With more runs, only these powers and the number of runs itself.
MOST_POWERS = 16
# Shares of the examples that pass in all, in some and in none of the runs.
SHARES = "solid_share", "flaky_share", "broken_share"


def all_of(passed: BoolArray, k: int) -> ExampleValues:
    """Return the chance that k of these runs, drawn without replacement, all pass, per example.

    It is unbiased for the chance that k new ones pass; the k-th power of the share is not.
    """
    n_runs, n_passed = len(passed), passed.sum(axis=0)
    without = None
    if n_runs > max(k, 2):
        without = _all_pass(n_runs - 1, k)[n_passed - passed]
    return ExampleValues(_all_pass(n_runs, k)[n_passed], without)


def any_of(passed: BoolArray, k: int) -> ExampleValues:
    """Return the chance that at least one of k of these runs passes, per example."""
    none_pass = all_of(~passed, k)
    without = none_pass.without
    return ExampleValues(1.0 - none_pass.whole, None if without is None else 1.0 - without)


@lru_cache(maxsize=256)
def _all_pass(n_runs: int, k: int) -> FloatArray:
    """Return C(c, k) / C(n, k) for c = 0, …, n."""
    total = comb(n_runs, k)
    return np.array([comb(n_passed, k) / total for n_passed in range(n_runs + 1)])


def powers_of(n_runs: int) -> tuple[int, ...]:
    """Return the numbers of runs k that are reported: all, or the first and the last."""
    first = range(1, min(n_runs, MOST_POWERS) + 1)
    return tuple(dict.fromkeys((*first, n_runs))) if n_runs else ()


class Passes(NumberFamily):
    """Examples that pass in all, some or none of the runs; empty unless all numbers are 0 or 1."""

    figures: ClassVar[tuple[str, ...]] = (
        "flip_rate",
        *SHARES,
        "pass^k",
        "pass@k",
    )
    least_runs: ClassVar[int] = 1
    takes_unequal: ClassVar[bool] = True

    def __init__(self, n_runs: int, settings: AnswerSettings) -> None:
        super().__init__(n_runs, settings)
        self._passed_counts = np.zeros(self.tree.n_repeats + 1, dtype=np.int64)

    def quantities(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return disagreement, pass^k and pass@k per example."""
        passed = batch.is_passed
        if passed is None or not self.is_pass_or_fail:
            return {}
        tree, powers = self.tree, powers_of(self.tree.n_answers)
        if tree.is_unequal:
            numbers = batch.numbers
            return {
                "flip_rate": flips_of_trials(passed, numbers),
                **self._counted(passed, counts_of(numbers)),
                **{f"pass^{k}": all_of_trials(passed, numbers, k) for k in powers},
                **{f"pass@{k}": any_of_trials(passed, numbers, k) for k in powers},
            }
        flips = {} if self.n_runs == 1 else {"flip_rate": tree.over_pairs(passed, flips_across)}
        return {
            **flips,
            **self._counted(passed, np.full(passed.shape[1], len(passed))),
            **{f"pass^{k}": tree.over_all(passed, partial(all_of, k=k)) for k in powers},
            **{f"pass@{k}": tree.over_all(passed, partial(any_of, k=k)) for k in powers},
        }

    def values(self, batch: NumberBatch) -> Mapping[str, ExampleValues]:
        """Return each quantity per example; counts of examples have no weights."""
        values = super().values(batch)
        return {
            name: replace(x, weights=None) if name in SHARES else x for name, x in values.items()
        }

    def _counted(self, passed: BoolArray, n_trials: IntArray) -> dict[str, ExampleValues]:
        """Return whether an example is solid, flaky or broken, 0 or 1.

        Only of trials: that other runs as many as these come out so is a matter of runs as well.
        An example with a single trial cannot be flaky: it is in none of the shares.
        """
        if self.n_runs == 1 or not self.settings.are_trials:
            return {}
        places = np.flatnonzero(n_trials > 1)
        n_passed = passed.sum(axis=0)[places]
        solid, broken = n_passed == n_trials[places], n_passed == 0
        shares = zip(SHARES, (solid, ~(solid | broken), broken), strict=True)
        is_subset = self.tree.is_unequal
        listed = places if is_subset else None
        return {
            name: ExampleValues(share.astype(np.int64), None, places=listed, is_subset=is_subset)
            for name, share in shares
        }

    def add(self, batch: NumberBatch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; there are no columns."""
        columns = super().add(batch, values)
        if batch.is_passed is not None:
            n_passed = batch.is_passed.sum(axis=0)
            if self.tree.is_unequal:  # solid are those that pass in all of their own trials
                n_trials = counts_of(batch.numbers)
                n_passed = np.where(n_passed == n_trials, self.tree.n_repeats, n_passed)
                n_passed = n_passed[n_trials > 1]
            self._passed_counts += np.bincount(n_passed, minlength=len(self._passed_counts))
        return columns

    def result(self) -> Mapping[str, Statistic]:
        """Return all figures over all examples so far; empty if any number is not 0 or 1."""
        if not self.is_pass_or_fail:
            return {}
        stability: dict[str, Statistic] = {}
        if self.has_any("flip_rate"):
            n_examples = int(self._passed_counts.sum())
            broken, *flaky, solid = (self._passed_counts / n_examples).tolist()
            shares = dict(zip(SHARES, (solid, sum(flaky), broken), strict=True))
            stability = {
                "flip_rate": self.mean_of("flip_rate", largest=1.0, is_count=True),
                **{
                    name: self._rate_of(name) if name in self.sums else ValueOnly(share)
                    for name, share in shares.items()
                },
            }
        return {
            **stability,
            **{
                name: self._rate_of(name)
                for name in self.sums
                if name != "flip_rate" and name not in SHARES and self.has_any(name)
            },
        }

    def _rate_of(self, name: str) -> MeanOverExamples:
        return self.mean_of(name, scale="logit", largest=1.0, is_count=True)

    def detail(self) -> Detail:
        """Return the number of examples by how many runs pass."""
        return {"passed_counts": self._passed_counts} if self.is_pass_or_fail else {}
