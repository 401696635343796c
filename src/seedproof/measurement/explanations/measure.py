"""One pass over the explanations of an arm: partial results folded in order."""

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
from seedproof.measurement.explanations.illustrations import Telling, first_draws
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
    """What one shard amounts to.

    Args:
        family: Its totals.
        ids: Ids of its examples that have a token.
        lengths: Tokens of each of them.
        figures: What each figure says of them.
        worst: Those whose explanations differ most.
        n_empty: How many more examples have no token.
    """

    family: Explanations
    ids: pa.Array
    lengths: IntArray
    figures: Mapping[str, FloatArray]
    worst: pa.Table
    n_empty: int


def measure_part(
    shard: ExplanationShard, n_runs: int
) -> tuple[ExplanationPart, dict[str, ExampleValues]]:
    """Return the part of one shard, and each figure of its examples with and without a run."""
    family, lengths = Explanations(n_runs), shard.lengths
    values = family.update(RaggedScores(shard.scores, lengths, shard.n_draws))
    figures = {name: one.values for name, one in values.items()}
    places = np.flatnonzero(lengths > 0)
    ids = shard.ids.take(places)
    worst = _with_scores(shard, _most_apart(pa.table({"example": ids, **figures})))
    n_empty = len(shard) - len(places)
    return ExplanationPart(family, ids, lengths[places], figures, worst, n_empty), values


@dataclass(frozen=True)
class MeasureExplanations:
    """Measures one shard; frozen, so that it can travel to another process."""

    source: ExplanationShards

    def __call__(self, index: int) -> ExplanationPart:
        """Partial results of shard `index`."""
        return measure_part(self.source.shard(index), len(self.source.runs))[0]


class ExplanationTally:
    """All shards of one arm and method, added in their order.

    Args:
        source: Where they come from.
        predictions: What the same runs predicted; None if nothing is known of it.
    """

    def __init__(self, source: ExplanationShards, predictions: ShardSource | None = None) -> None:
        self._source = source
        self._whole = Explanations(len(source.runs))
        self._worst: pa.Table | None = None
        self._n_empty = 0
        self._n_unpredicted = 0
        self._walk = None if predictions is None else PredictionWalk(predictions)
        self._telling = Telling()
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
        known = [] if self._worst is None else [self._worst]
        self._worst = _most_apart(pa.concat_tables([*known, part.worst])).combine_chunks()
        if self._walk is None:
            return
        said = self._walk.of(part.ids)
        self._n_unpredicted += int((~said.is_known).sum())
        self._telling.update(index, part.ids, part.lengths, part.figures[DISTANCE], said)
        self._n_agreed += int(said.is_agreed.sum())
        for name, values in part.figures.items():
            total = self._agreed.get(name, 0.0)
            self._agreed[name] = total + float(values[said.is_agreed].sum())
        if self._curves is not None and said.means is not None:
            self._curves.update(said.means, part.figures)

    def statistics(self) -> dict[str, MeanOverExamples]:
        """Each figure over all examples so far."""
        return self._whole.result()

    def result(self) -> ExplanationMeasurement:
        """Figures with intervals."""
        source, whole = self._source, self._whole
        if self._worst is None or whole.n_examples == 0:
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
            worst=self._worst,
            telling=self._telling.rows(source),
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
                "{n_examples:,} explained {have} no prediction: left out wherever answers count, "
                "such as in the curves.",
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
    """How far the explanations of an arm's runs are apart, in one pass."""
    tally = ExplanationTally(source, predictions)
    parts = map_shards(
        MeasureExplanations(source), source.n_shards, engine=engine, progress=progress
    )
    for index, part in enumerate(parts):
        tally.add(index, part)
    return tally.result()


def _estimates(statistics: Mapping[str, MeanOverExamples]) -> dict[str, Estimate]:
    return {name: estimate_figure(name, one) for name, one in statistics.items()}


def estimate_figure(name: str, statistic: MeanOverExamples) -> Estimate:
    """The value of a figure of explanations with its interval."""
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
    table = rows.add_column(1, "tokens", shard.tokens.take(places))
    scores = pa.array(first_draws(shard, places), pa.list_(pa.list_(pa.float32())))
    return table.add_column(2, "scores", scores)
