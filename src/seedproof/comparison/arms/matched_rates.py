"""Match how often the runs of an arm give the second of two classes.

Runs of a binary classifier differ in how often they give one answer: their decision threshold
drifts. Here the threshold of every run is moved, so that all runs of an arm give the second class
to the same number of examples. What then differs between runs is how they rank the examples. Gold
labels play no part.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.arms.result import MatchedRate
from seedproof.errors import ClassesError, DamagedStoreError, OptionError
from seedproof.messages import Message
from seedproof.records.probabilities import most_probable
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource, WrappedShards
from seedproof.typing import BoolArray, FloatArray, IntArray

LEFT_OUT = Message(
    "matched-rates-leave-out",
    "With matched rates, metrics of probabilities are left out, because thresholds do not change "
    "them, and so are explanations.",
)
RATE_ESTIMATED = Message(
    "rate-estimated",
    "the rate of each arm is estimated from its runs",
)


class MatchedShards(WrappedShards):
    """The same shards with the predictions of the runs at their moved thresholds, and no more.

    Per run, `cutoffs` has the lowest probability of the second class that still gets this class,
    and `last_tied` the position of the last example that gets it at exactly the cutoff: among equal
    probabilities the first in the records come first.
    """

    def __init__(
        self, source: ShardSource, cutoffs: FloatArray, last_tied: IntArray, rate: MatchedRate
    ) -> None:
        super().__init__(source)
        self.kind = Kind.LABELS
        self.cutoffs, self.last_tied, self.rate = cutoffs, last_tied, rate

    def shard(self, index: int) -> Shard:
        """Read one shard and apply the thresholds."""
        shard = self.source.shard(index)
        second = _probs(shard)[..., 1]
        cutoffs, last_tied = self.cutoffs[:, np.newaxis], self.last_tied[:, np.newaxis]
        positions = index * self.rows_per_shard + np.arange(len(shard))
        gets_second = (second > cutoffs) | ((second == cutoffs) & (positions <= last_tied))
        return replace(shard, probs=None, predictions=gets_second.astype(np.int32))


def match_thresholds(arms: ArmAlignment, *, skip_damaged: bool = False) -> list[MatchedShards]:
    """Move the threshold of each run to the rate of its arm: the mean over runs, rounded half up.

    This reads every arm once more, one after the other. Memory holds one number per run and example
    of one arm; of a finished arm, two numbers per run. With `skip_damaged` all arms are read yet
    again to find damaged shards, so that rates are those of the examples that are compared.
    """
    for name, source in zip(arms.names, arms.sources, strict=True):
        _check(name, source, baseline=arms.sources[0])
    is_compared = np.ones(arms.sources[0].n_examples, dtype=np.bool_)
    if skip_damaged:
        _leave_out_damaged(is_compared, arms.sources)
    return [_matched(source, is_compared) for source in arms.sources]


def notes_on_matching(names: Sequence[str], arms: Sequence[MatchedShards]) -> list[Message]:
    """Return notes on the matched rates of each arm, and on what is left out."""
    rates = "; ".join(
        f"{name} {_percent(arm.rate.lowest_before)} to {_percent(arm.rate.highest_before)} "
        f"before, {_percent(arm.rate.after)} after"
        for name, arm in zip(names, arms, strict=True)
    )
    matched = Message(
        "rates-matched",
        "Rates are matched: the threshold of every run is moved, so that all runs of an arm give "
        "{answer!r} to the same number of examples. Share of the examples that get {answer!r}: "
        "{rates}. Intervals take these rates as given, so accuracy is not judged.",
        answer=arms[0].rate.answer,
        rates=rates,
        arms=tuple(names),
    )
    return [matched, LEFT_OUT]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _check(name: str, source: ShardSource, *, baseline: ShardSource) -> None:
    if source.kind is not Kind.PROBS:
        has = "predicted classes" if source.kind is Kind.LABELS else "those of its top classes"
        raise OptionError(
            "Matching rates needs the probabilities of both classes, and {arm!r} has only {has}. "
            "Pass probabilities, or leave --match-rates out.",
            arm=name,
            has=has,
            kind=str(source.kind),
        )
    if len(source.classes) != 2:
        raise ClassesError(
            "Matching rates needs two classes, and {arm!r} has {n_classes:,}. Leave --match-rates "
            "out.",
            arm=name,
            n_classes=len(source.classes),
        )
    if source.classes != baseline.classes:
        raise ClassesError(
            "{arm!r} has the classes {classes!r} and the baseline {baseline_classes!r}, so the "
            "second class is not the same. Use the same class names in all arms.",
            arm=name,
            classes=source.classes,
            baseline_classes=baseline.classes,
        )


def _probs(shard: Shard) -> FloatArray:
    if shard.probs is None:
        raise ValueError("this shard holds no probabilities")
    return shard.probs


def _rows(source: ShardSource, index: int) -> slice:
    """Positions of the examples of one shard."""
    start = index * source.rows_per_shard
    return slice(start, min(start + source.rows_per_shard, source.n_examples))


def _leave_out_damaged(is_compared: BoolArray, sources: Sequence[ShardSource]) -> None:
    """Unmark the examples of damaged shards, in whole shards of the baseline."""
    size = sources[0].rows_per_shard
    for source in sources:
        for index in range(source.n_shards):
            try:
                source.shard(index)
            except DamagedStoreError:
                rows = _rows(source, index)
                is_compared[rows.start // size * size : -(-rows.stop // size) * size] = False


def _matched(source: ShardSource, is_compared: BoolArray) -> MatchedShards:
    n_runs, n_examples = len(source.runs), int(is_compared.sum())
    second = np.empty((n_runs, source.n_examples), dtype=np.float32)
    counts = np.zeros(n_runs, dtype=np.int64)
    for index in range(source.n_shards):
        rows = _rows(source, index)
        if is_compared[rows].any():
            probs = _probs(source.shard(index))
            second[:, rows] = probs[..., 1]
            counts += most_probable(probs)[:, is_compared[rows]].sum(axis=1)
    # In integers, so that a half is exact.
    n_second = (2 * int(counts.sum()) + n_runs) // (2 * n_runs)
    positions = np.flatnonzero(is_compared)
    pairs = [_cutoff(of_run, positions, n_second) for of_run in second]
    shares = counts / max(n_examples, 1)
    return MatchedShards(
        source,
        cutoffs=np.array([cutoff for cutoff, _ in pairs], dtype=np.float32),
        last_tied=np.array([position for _, position in pairs], dtype=np.int64),
        rate=MatchedRate(
            answer=source.classes[1],
            lowest_before=float(shares.min()),
            highest_before=float(shares.max()),
            after=n_second / max(n_examples, 1),
        ),
    )


def _cutoff(second: FloatArray, positions: IntArray, n_second: int) -> tuple[float, int]:
    """Return the lowest probability that gets the second class, and the last example there."""
    if n_second == 0:
        return np.inf, -1
    values = second[positions]
    cutoff = np.partition(values, len(values) - n_second)[len(values) - n_second]
    n_tied = n_second - int((values > cutoff).sum())
    return float(cutoff), int(positions[np.flatnonzero(values == cutoff)[n_tied - 1]])
