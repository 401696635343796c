"""Examples that some runs were traced on, beside what all runs predict of them in the end."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seedproof.metrics.batch import Batch
from seedproof.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Watched:
    """The examples that every traced run was looked at on.

    Its size is a float for each traced run and example, and two integers for each run and example
    on which runs differ. To hold a run against the others takes a few floats for each of the
    latter.

    Args:
        entropies: Label entropy within each traced run, axes (traced, examples): LE_s.
        traced: Positions of the traced runs among all runs, ascending.
        contested: Positions of the examples on which runs differ, ascending.
        predictions: What each run predicts of these: (runs, contested).
    """

    entropies: FloatArray
    traced: IntArray
    contested: IntArray
    predictions: IntArray

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.predictions)

    @property
    def n_examples(self) -> int:
        """How many examples there are."""
        return int(self.entropies.shape[1])

    @cached_property
    def agreement(self) -> IntArray:
        """How many runs predict what this run predicts: (runs, contested)."""
        n_classes = int(self.predictions.max(initial=0)) + 1
        return Batch(self.predictions, n_classes=n_classes).contested_agreement

    def n_contested_without(self, run_idx: int) -> int:
        """On how many examples the runs other than `run_idx` differ."""
        is_alone = self.agreement[run_idx] == 1
        others_agree = (self.agreement == self.n_runs - 1).any(axis=0)
        return int((~(is_alone & others_agree)).sum())

    def entropies_without(self, run_idx: int) -> FloatArray:
        """Label entropy over runs (LE_m) without run `run_idx` and one more.

        A run is left out of what it is held against: its last step is also its vote.

        Nats, axes (runs, contested): without that run and run k; in its own row without it alone.
        Exactly 0 where all that are left agree.
        """
        n = self.n_runs
        counts = np.arange(n + 1, dtype=np.float64)
        logs = np.log(np.maximum(counts, 1.0))
        # With S = sum over classes of n ln n, the entropy is ln R - S/R.
        step = np.diff(counts * logs, prepend=0.0)  # what S loses with one run of the class
        mine = self.agreement[run_idx]
        whole = logs[self.agreement].sum(axis=0) - step[mine]
        is_same = self.predictions == self.predictions[run_idx]
        left = whole - np.where(is_same, step[mine - 1], step[self.agreement])
        entropies = np.log(max(n - 2, 1)) - left / max(n - 2, 1)
        entropies[run_idx] = np.log(n - 1) - whole / (n - 1)
        # The smallest entropy that is not 0 is about ln(R)/R; below lies only rounding.
        return np.where(entropies < 1e-9, 0.0, entropies)
