"""Number of distinct answers that runs give to an example."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import comb
from typing import ClassVar

import numpy as np

from seedproof.metrics.accumulator import ClassFamily, Detail
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.typing import FloatArray, IntArray

# Number of runs for which the figure is also given, so that unlike numbers of runs are comparable.
DRAWN = 5
RAREFIED = f"distinct_answers@{DRAWN}"


def distinct_answers(agreement: IntArray) -> ExampleValues:
    """Return the number of distinct answers per example, from `Batch.agreement`."""
    # Each run counts for its share of those with the same answer.
    whole = np.rint((1 / agreement).sum(axis=0)).astype(np.int64)
    without = whole - (agreement == 1) if len(agreement) > 2 else None
    return ExampleValues(whole, without)


def rarefied_answers(agreement: IntArray, n_drawn: int) -> ExampleValues:
    """Return the mean number of distinct answers per example over all draws of `n_drawn` runs.

    An answer that n of R runs give is among the drawn ones with the chance 1 - C(R-n, k) / C(R, k).
    """
    n_runs = len(agreement)
    if n_drawn >= n_runs:
        return distinct_answers(agreement)
    shares = np.maximum(np.arange(n_runs + 1), 1)
    drawn, left = _drawn(n_runs, n_drawn), np.append(_drawn(n_runs - 1, n_drawn), 1.0)
    whole = (drawn / shares)[agreement].sum(axis=0)
    # With run r left out, its answer has one run less.
    without = (left / shares)[agreement].sum(axis=0) - np.diff(left, prepend=0.0)[agreement]
    return ExampleValues(whole, without)


@lru_cache(maxsize=32)
def _drawn(n_runs: int, n_drawn: int) -> FloatArray:
    """Return the chance that an answer of n = 0..R runs is among the drawn ones."""
    ways = [comb(n_runs - n, n_drawn) for n in range(n_runs + 1)]
    return np.asarray(1 - np.array(ways, dtype=np.float64) / comb(n_runs, n_drawn))


def distinct_by_runs(agreement_counts: IntArray) -> FloatArray:
    """Return the mean number of distinct answers of k = 1..R runs.

    `agreement_counts` says how often n of the R runs agreed, n = 0..R, over runs and examples.
    """
    n_runs = len(agreement_counts) - 1
    shares = np.maximum(np.arange(n_runs + 1), 1)
    n_examples = agreement_counts.sum() / n_runs
    means = [agreement_counts @ (_drawn(n_runs, k) / shares) for k in range(1, n_runs + 1)]
    return np.asarray(np.array(means) / n_examples)


class Distinct(ClassFamily):
    """Distinct answers per example: of all runs, and of a few drawn ones."""

    figures: ClassVar[tuple[str, ...]] = ("distinct_answers", "distinct_answers@k")

    def __init__(self, n_runs: int, n_classes: int) -> None:
        super().__init__(n_runs, n_classes)
        self._agreement_counts = np.zeros(n_runs + 1, dtype=np.int64)

    def values(self, batch: Batch) -> Mapping[str, ExampleValues]:
        """Return the number of distinct answers per example."""
        values = {"distinct_answers": distinct_answers(batch.agreement)}
        if self.n_runs >= DRAWN:
            values[RAREFIED] = rarefied_answers(batch.agreement, DRAWN)
        return values

    def add(self, batch: Batch, values: Mapping[str, ExampleValues]) -> Detail:
        """Add a batch; return the number of distinct answers."""
        super().add(batch, values)
        self._agreement_counts += np.bincount(
            batch.agreement.ravel(), minlength=len(self._agreement_counts)
        )
        return {"distinct_answers": values["distinct_answers"].whole}

    def result(self) -> Mapping[str, Statistic]:
        """Return the mean numbers over all examples so far."""
        return {
            name: replace(
                sums.mean_over_examples(
                    largest=float(min(self.n_runs, DRAWN) if name == RAREFIED else self.n_runs),
                    is_count=True,
                ),
                least=1.0,
            )
            for name, sums in self.sums.items()
        }

    def detail(self) -> Detail:
        """Return the mean number of distinct answers of 1, 2, … runs."""
        return {"distinct_by_runs": distinct_by_runs(self._agreement_counts)}
