"""One pass over the explanations of an arm: partial results merged in order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.engines import Engine
from seedproof.errors import EmptyInputError
from seedproof.measurement.engines import map_shards
from seedproof.measurement.explanations.curves import MAX_CURVES, CurveSums
from seedproof.measurement.explanations.explained_predictions import (
    PredictionWalk,
    followed_classes,
)
from seedproof.measurement.explanations.illustrations import Illustrations, first_draws
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message
from seedproof.metrics.explanations import Explanations, RaggedScores
from seedproof.metrics.statistic import ExampleValues, MeanOverExamples
from seedproof.records.explanation_shards import ExplanationShard, ExplanationShards
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import FloatArray, IntArray, Progress

N_KEPT = 50
DISTANCE = "explanation_js"
ORDER = [(DISTANCE, "descending"), ("example", "ascending")]


@dataclass(frozen=True, eq=False)
class ExplanationPart:
    """Partial results of one shard; ids, lengths and figures are of examples that have a token."""

    family: Explanations
    ids: pa.Array
    lengths: IntArray
    figures: Mapping[str, FloatArray]
    unstable_examples: pa.Table
    n_empty: int


def measure_part(
    shard: ExplanationShard, n_runs: int
) -> tuple[ExplanationPart, dict[str, ExampleValues]]:
    """Return the partial results of one shard, and the values of its examples."""
    family, lengths = Explanations(n_runs), shard.lengths
    values = family.update(RaggedScores(shard.scores, lengths, shard.n_draws))
    figures = {name: value.values for name, value in values.items()}
    places = np.flatnonzero(lengths > 0)
    ids = shard.ids.take(places)
    unstable = _with_scores(shard, _most_apart(pa.table({"example": ids, **figures})))
    n_empty = len(shard) - len(places)
    return ExplanationPart(family, ids, lengths[places], figures, unstable, n_empty), values


@dataclass(frozen=True)
class MeasureExplanations:
    """A picklable task that measures one shard."""

    source: ExplanationShards

    def __call__(self, index: int) -> ExplanationPart:
        """Return the partial results of a shard."""
        return measure_part(self.source.shard(index), len(self.source.runs))[0]


class ExplanationAccumulator:
    """All shards of one arm and method, added in their order.

    Args:
        source: Explanations of the runs.
        predictions: Predictions of the same runs; None if there are none.
    """

    def __init__(self, source: ExplanationShards, predictions: ShardSource | None = None) -> None:
        self._source = source
        self._whole = Explanations(len(source.runs))
        self._unstable_examples: pa.Table | None = None
        self._n_empty = 0
        self._n_unpredicted = 0
        self._walk = None if predictions is None else PredictionWalk(predictions)
        self._illustrations = Illustrations()
        self._agreed: dict[str, float] = {}
        self._n_agreed = 0
        self._curves: CurveSums | None = None
        if predictions is not None and predictions.kind is Kind.PROBS:
            followed = followed_classes(predictions.classes)
            self._curves = CurveSums(followed) if len(followed) <= MAX_CURVES else None

    def add(self, index: int, part: ExplanationPart) -> None:
        """Add shard `index`."""
        self._whole.merge(part.family)
        self._n_empty += part.n_empty
        unstable = [] if self._unstable_examples is None else [self._unstable_examples]
        joined = pa.concat_tables([*unstable, part.unstable_examples])
        self._unstable_examples = _most_apart(joined).combine_chunks()
        if self._walk is None:
            return
        predicted = self._walk.of(part.ids)
        self._n_unpredicted += int((~predicted.is_known).sum())
        self._illustrations.update(index, part.ids, part.lengths, part.figures[DISTANCE], predicted)
        self._n_agreed += int(predicted.is_agreed.sum())
        for name, values in part.figures.items():
            total = self._agreed.get(name, 0.0)
            self._agreed[name] = total + float(values[predicted.is_agreed].sum())
        if self._curves is not None and predicted.means is not None:
            self._curves.update(predicted.means, part.figures)

    def statistics(self) -> dict[str, MeanOverExamples]:
        """Return each figure over all examples so far."""
        return self._whole.result()

    def result(self) -> ExplanationMeasurement:
        """Return figures with intervals."""
        source, whole = self._source, self._whole
        if self._unstable_examples is None or whole.n_examples == 0:
            raise EmptyInputError("No explanation by {method!r} has a token.", method=source.method)
        noise = whole.noise()
        return ExplanationMeasurement(
            method=source.method,
            runs=source.runs,
            n_examples=whole.n_examples,
            metrics=_estimates(whole.result()),
            noise=None if noise is None else _estimates(noise),
            n_repeated=whole.n_repeated,
            agreed={name: total / self._n_agreed for name, total in self._agreed.items()}
            if self._n_agreed
            else {},
            n_agreed=self._n_agreed,
            curves=None if self._curves is None else self._curves.result(),
            unstable_examples=self._unstable_examples,
            illustrations=self._illustrations.rows(source),
            notes=(*source.notes, *self._notes()),
        )

    def _notes(self) -> Iterator[Message]:
        if self._n_empty:
            yield Message(
                "examples-without-tokens",
                "{n_examples:,} {have} no token and had to be left out.",
                n_examples=self._n_empty,
                have="example has" if self._n_empty == 1 else "examples have",
            )
        if self._n_unpredicted:
            yield Message(
                "explained-without-prediction",
                "{n_examples:,} explained {have} no prediction and are left out of figures that "
                "need predictions, such as the curves.",
                n_examples=self._n_unpredicted,
                have="example has" if self._n_unpredicted == 1 else "examples have",
            )


def measure_explanations(
    source: ExplanationShards,
    *,
    predictions: ShardSource | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ExplanationMeasurement:
    """Measure how far the explanations of an arm's runs differ, in one pass."""
    total = ExplanationAccumulator(source, predictions)
    parts = map_shards(
        MeasureExplanations(source), source.n_shards, engine=engine, progress=progress
    )
    for index, part in enumerate(parts):
        total.add(index, part)
    return total.result()


def _estimates(statistics: Mapping[str, MeanOverExamples]) -> dict[str, Estimate]:
    return {name: estimate_figure(name, value) for name, value in statistics.items()}


def estimate_figure(name: str, statistic: MeanOverExamples) -> Estimate:
    """Return the value of a figure of explanations with its interval.

    That of tau is made on the scale of (1 + tau)/2, which has a logit where tau is negative.
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
    """Return the rows whose explanations differ most, the most first, ties by id."""
    return table.take(pc.sort_indices(table, sort_keys=ORDER)[:N_KEPT])


def _with_scores(shard: ExplanationShard, rows: pa.Table) -> pa.Table:
    """Add the tokens of examples and the scores of each run's first draw."""
    places = pc.index_in(rows.column("example"), value_set=shard.ids).to_numpy()
    table = rows.add_column(1, "tokens", shard.tokens.take(places))
    scores = pa.array(first_draws(shard, places), pa.list_(pa.list_(pa.float32())))
    return table.add_column(2, "scores", scores)
