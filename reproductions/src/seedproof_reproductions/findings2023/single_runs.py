"""What the runs of an arm predict in the end, and how much single ones waver before."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seedproof.comparison.effect import Effect
from seedproof.measurement.dynamics.reading import Traces, Votes, read_traces
from seedproof.measurement.intervals import Estimate, estimate
from seedproof.metrics.batch import Batch
from seedproof.metrics.statistic import ExampleSums, ExampleValues
from seedproof.records.reader import StoreShards
from seedproof.typing import BoolArray, IntArray
from seedproof_reproductions.findings2023.least_stable import ratio

METRIC = "single_run_entropy"


@dataclass(frozen=True, eq=False)
class Answers:
    """What the runs of one arm predict.

    Args:
        predictions: In the end, axes (runs, examples).
        traces: Over their steps, as far as they were traced; None if none was.
    """

    predictions: IntArray
    traces: Traces | None

    @classmethod
    def of(cls, source: StoreShards) -> "Answers":
        """What an arm's records say; no more than predicted classes is read of the predictions."""
        alone = source.predictions_alone()
        shards = [alone.shard(index) for index in range(source.n_shards)]
        predictions = np.concatenate([np.asarray(one.predictions) for one in shards], axis=1)
        contested = Batch(predictions, n_classes=len(source.classes)).contested
        ids = pa.concat_arrays([one.ids for one in shards])
        labels = np.concatenate([one.gold for one in shards])
        votes = Votes(ids, labels, contested, predictions[:, contested])
        return cls(predictions, read_traces(source, votes))

    @property
    def n_traced(self) -> int:
        """How many runs were traced."""
        return 0 if self.traces is None else len(self.traces.watched.traced)

    @property
    def n_steps(self) -> int | None:
        """How often they were looked at; None if none was traced."""
        return None if self.traces is None else self.traces.n_steps[1]

    @property
    def not_traced(self) -> IntArray:
        """What the other runs predict, axes (runs, examples)."""
        if self.traces is None:
            return self.predictions
        return np.delete(self.predictions, self.traces.watched.traced, axis=0)


def wavering(traces: Traces, chosen: BoolArray | None = None) -> ExampleValues:
    """Entropy within a run of each example, mean over traced runs.

    Args:
        traces: What was recorded.
        chosen: Which examples count; others are 0. All count without it.

    Returns:
        Nats, with each traced run left out if there are at least three.
    """
    entropies = traces.watched.entropies
    if chosen is not None:
        entropies = np.where(chosen, entropies, 0.0)
    n = len(entropies)
    without = (entropies.sum(axis=0) - entropies) / (n - 1) if n > 2 else None
    return ExampleValues(entropies.mean(axis=0), without)


def mean_wavering(answers: Answers) -> Estimate | None:
    """Mean entropy within a run, over examples and traced runs: LE_s; None if none was traced."""
    if answers.traces is None:
        return None
    sums = ExampleSums()
    sums.update(wavering(answers.traces))
    return estimate(sums.mean_over_examples())


def wavering_ratio(
    control: Answers, arm: Answers, chosen: BoolArray | None = None
) -> Effect | None:
    """The ratio of entropies within single runs, arm to control.

    The few traced runs of an arm share their seeds with some of the control's, which is left
    unused: intervals are rather wide.

    Args:
        control: Runs of the control.
        arm: Runs of the arm.
        chosen: Which examples count; all without it.

    Returns:
        With an interval over runs × examples; None if runs of one were not traced, if they were
        looked at more or less often, or if no example was chosen.
    """
    both = [one.traces for one in (control, arm) if one.traces is not None]
    if len(both) < 2 or (chosen is not None and not chosen.any()):
        return None
    # With more steps there are more late ones, which waver less.
    if both[0].n_steps != both[1].n_steps or not both[0].ids.equals(both[1].ids):
        return None
    return ratio(METRIC, [wavering(one, chosen) for one in both], is_paired=False)
