"""Predictions of an arm's runs, and the entropy within single runs while they train."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seedproof.measurement.dynamics import Traces, read_traces
from seedproof.metrics.statistic import ExampleSums
from seedproof.records.reader import StoreShards
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import BoolArray, IntArray
from seedproof_reproductions.findings2023.comparison import ratio


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of the runs of one arm."""

    final: IntArray  # predicted class in the end, axes (runs, examples)
    traces: Traces | None  # over their steps, as far as they were traced; None if none was

    @classmethod
    def of(cls, source: StoreShards) -> "Predictions":
        """Read the predicted classes of an arm and the traces of its runs."""
        alone = source.predictions_alone()
        shards = [alone.shard(index) for index in range(source.n_shards)]
        final = np.concatenate([np.asarray(shard.predictions) for shard in shards], axis=1)
        ids = pa.concat_arrays([shard.ids for shard in shards])
        labels = np.concatenate([shard.gold for shard in shards])
        return cls(final, read_traces(source, ids, labels))

    @property
    def n_traced(self) -> int:
        """Number of traced runs."""
        return 0 if self.traces is None else len(self.traces.traced)

    @property
    def n_steps(self) -> int | None:
        """Number of traced steps; None if no run was traced."""
        return None if self.traces is None else self.traces.n_steps[1]

    @property
    def not_traced(self) -> IntArray:
        """Final predictions of the other runs, axes (runs, examples)."""
        if self.traces is None:
            return self.final
        return np.delete(self.final, self.traces.traced, axis=0)


def run_entropy(arm: Predictions) -> Estimate | None:
    """Return LE_s, the mean entropy within a traced run; None if none was traced."""
    if arm.traces is None:
        return None
    sums = ExampleSums()
    sums.update(arm.traces.mean_entropy())
    return estimate(sums.mean_over_examples())


def run_entropy_ratio(
    control: Predictions, arm: Predictions, chosen: BoolArray | None = None
) -> Effect | None:
    """Return the ratio of entropies within single runs, arm to control.

    Shared seeds of the few traced runs are not used: intervals are rather wide. None if one was not
    traced, or at other steps, or if no example was chosen.
    """
    both = [side.traces for side in (control, arm) if side.traces is not None]
    if len(both) < 2 or (chosen is not None and not chosen.any()):
        return None
    # With more steps there are more late ones, which vary less.
    if both[0].n_steps != both[1].n_steps or not both[0].ids.equals(both[1].ids):
        return None
    values = [traces.mean_entropy(chosen) for traces in both]
    return ratio("single_run_entropy", values, is_paired=False)
