"""The measuring pass over explanations: would another seed have given another reason?"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.engines import Engine, SerialEngine
from seedproof.errors import EmptyInputError
from seedproof.measurement.explanation_curves import MAX_CURVES, Curves, CurveSums
from seedproof.measurement.intervals import Estimate, estimate
from seedproof.measurement.measure import in_order
from seedproof.metrics.explanations import Explanations, RaggedScores
from seedproof.metrics.statistic import MeanOverExamples
from seedproof.records.explanation_shards import (
    ExplanationShard,
    ExplanationShards,
    open_explanations,
)
from seedproof.records.reader import Store
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import FloatArray, Progress

N_KEPT = 50
ORDER = [("explanation_js", "descending"), ("example", "ascending")]


@dataclass(frozen=True, eq=False)
class ExplanationMeasurement:
    """How much of an explanation the seed decided.

    Args:
        arm: Which arm was explained.
        split: Which split.
        method: By which method.
        runs: Names of the runs, in canonical order.
        n_examples: How many examples were compared.
        metrics: Value and interval of each figure between runs, from the first draw of each run.
        noise: The explainer-noise floor: the same figures between draws of one run, averaged over
            runs; None if no example was explained twice, for then nobody knows.
        n_repeated: Over how many examples the floor is.
        curves: Figures by predicted probability; None without predicted probabilities.
        worst: The examples whose explanations differ most, at most 50: `example`, `tokens`,
            `scores` (a list for each run, as logged), and a column for each figure. Tokens are the
            text of examples: show them only to whom they were asked for.
        notes: What a person should know about how the records were read.
    """

    arm: str
    split: str
    method: str
    runs: tuple[str, ...]
    n_examples: int
    metrics: Mapping[str, Estimate]
    noise: Mapping[str, Estimate] | None
    n_repeated: int
    curves: Curves | None
    worst: pa.Table
    notes: tuple[str, ...] = ()

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data: no text, path, time, host or version."""
        return {
            "arm": self.arm,
            "split": self.split,
            "method": self.method,
            "runs": list(self.runs),
            "n_runs": self.n_runs,
            "n_examples": self.n_examples,
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "noise": None
            if self.noise is None
            else {name: asdict(value) for name, value in self.noise.items()},
            "n_repeated": self.n_repeated,
            "curves": None if self.curves is None else _plain_curves(self.curves),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The summary as text; equal records give equal bytes."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, eq=False)
class _Part:
    """What one shard amounts to.

    Args:
        family: Its totals.
        ids: Ids of its examples that have a token.
        figures: What each figure says of them.
        worst: Those whose explanations differ most.
        n_empty: How many more examples have no token.
    """

    family: Explanations
    ids: pa.Array
    figures: Mapping[str, FloatArray]
    worst: pa.Table
    n_empty: int


@dataclass(frozen=True)
class MeasureExplanations:
    """Measures one shard; frozen, so that it can travel to another process."""

    source: ExplanationShards

    def __call__(self, index: int) -> _Part:
        """Partial results of shard `index`."""
        shard = self.source.shard(index)
        family = Explanations(len(self.source.runs))
        lengths = shard.lengths
        values = family.update(RaggedScores(shard.scores, lengths, shard.n_draws))
        figures = {name: one.values for name, one in values.items()}
        places = np.flatnonzero(lengths > 0)
        ids = shard.ids.take(places)
        worst = _with_scores(shard, _most_apart(pa.table({"example": ids, **figures})))
        return _Part(family, ids, figures, worst, len(shard) - len(places))


def measure_explanations(
    store: Store,
    *,
    arm: str,
    split: str,
    method: str,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ExplanationMeasurement:
    """How far the explanations of an arm's runs are apart, in one pass.

    Args:
        store: The store.
        arm: Which arm.
        split: Which split.
        method: Which method; see `explanation_methods`.
        engine: Where shards are measured; here and now without one.
        progress: Told how many shards are done.

    Returns:
        The same bytes whatever the engine, its workers and the order in which they finish.

    Raises:
        EmptyInputError: No example has a token.
    """
    source = open_explanations(store, arm=arm, split=split, method=method)
    predictions = _predictions(store, arm, split)
    curves = None if predictions is None else CurveSums(predictions)
    whole = Explanations(len(source.runs))
    worst: pa.Table | None = None
    n_empty = 0
    outcomes = (engine or SerialEngine()).map(MeasureExplanations(source), range(source.n_shards))
    for index, part in enumerate(in_order(outcomes)):
        whole.merge(part.family)
        n_empty += part.n_empty
        worst = part.worst if worst is None else pa.concat_tables([worst, part.worst])
        worst = _most_apart(worst).combine_chunks()
        if curves is not None:
            curves.update(part.ids, part.figures)
        if progress is not None:
            progress(index + 1, source.n_shards)
    if worst is None or whole.n_examples == 0:
        raise EmptyInputError(f"No explanation by {method!r} on {split!r} has a token.")
    noise = whole.noise()
    return ExplanationMeasurement(
        arm=arm,
        split=split,
        method=method,
        runs=source.runs,
        n_examples=whole.n_examples,
        metrics=_estimates(whole.result()),
        noise=None if noise is None else _estimates(noise),
        n_repeated=whole.n_repeated,
        curves=None
        if predictions is None or curves is None
        else curves.result(predictions.classes),
        worst=worst,
        notes=(f"{n_empty:,} examples have no token and were left out.",) if n_empty else (),
    )


def _predictions(store: Store, arm: str, split: str) -> ShardSource | None:
    """Predictions of the same runs; None if a run has none, or no probabilities."""
    runs = [run for run in store.runs if run.arm == arm and run.status == "finished"]
    prefix = f"predictions/{split}/"
    if not all(any(part.path.startswith(prefix) for part in run.parts) for run in runs):
        return None
    shards = store.shards(arm=arm, split=split)
    few = len(shards.classes) <= MAX_CURVES
    return shards if shards.kind is Kind.PROBS and few else None


def _estimates(statistics: Mapping[str, MeanOverExamples]) -> dict[str, Estimate]:
    return {name: estimate_figure(name, one) for name, one in statistics.items()}


def estimate_figure(name: str, statistic: MeanOverExamples) -> Estimate:
    """The value of a figure of explanations with its interval.

    Args:
        name: Which figure.
        statistic: The figure over all examples.

    Returns:
        As for predictions; a correlation, which may be negative, by way of (1 + τ)/2.
    """
    if name != "explanation_tau":
        return estimate(statistic)
    half = estimate(
        replace(
            statistic,
            value=(1 + statistic.value) / 2,
            without=None if statistic.without is None else (1 + statistic.without) / 2,
            example_variance=statistic.example_variance / 4,
            interaction_variance=statistic.interaction_variance / 4,
        )
    )
    ends = [None if end is None else 2 * end - 1 for end in (half.low, half.high)]
    return Estimate(statistic.value, ends[0], ends[1], half.over)


def _most_apart(table: pa.Table) -> pa.Table:
    """The rows whose explanations differ most, the most first, ties by id."""
    return table.take(pc.sort_indices(table, sort_keys=ORDER)[:N_KEPT])


def _with_scores(shard: ExplanationShard, rows: pa.Table) -> pa.Table:
    """Rows of examples with their tokens, and the scores that each run gave them first."""
    places = pc.index_in(rows.column("example"), value_set=shard.ids).to_numpy()
    lengths = shard.lengths
    ends = np.cumsum(lengths * shard.n_draws)
    starts = ends - lengths * shard.n_draws
    scores = [
        [list(run) for run in shard.scores[:, starts[i] : starts[i] + lengths[i]]] for i in places
    ]
    table = rows.add_column(1, "tokens", shard.tokens.take(places))
    return table.add_column(2, "scores", pa.array(scores, pa.list_(pa.list_(pa.float32()))))


def _plain_curves(curves: Curves) -> dict[str, Any]:
    def plain(arrays: Mapping[str, FloatArray]) -> dict[str, list[list[float | None]]]:
        return {
            name: [[None if np.isnan(x) else float(x) for x in row] for row in values]
            for name, values in arrays.items()
        }

    return {
        "classes": list(curves.classes),
        "counts": curves.counts.tolist(),
        "means": plain(curves.means),
        "errors": plain(curves.errors),
    }
