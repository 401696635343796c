"""The few examples that show what the figures mean: found by rule, never picked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.measurement.explanations.explained_predictions import Predicted
from seedproof.records.explanation_shards import ExplanationShard, ExplanationShards
from seedproof.typing import BoolArray, FloatArray, IntArray

OTHER_REASONS = "same answer, other reasons"
OTHER_ANSWERS = "other answers, other reasons"
SAME_REASONS = "same answer, same reasons"
RULES = (OTHER_REASONS, OTHER_ANSWERS, SAME_REASONS)
# With fewer tokens there is hardly a choice which of them matters.
MIN_TOKENS = 5
SCHEMA = pa.schema(
    {
        "rule": pa.string(),
        "example": pa.string(),
        "distance": pa.float64(),
        "tokens": pa.list_(pa.string()),
        "scores": pa.list_(pa.list_(pa.float32())),
        "predictions": pa.list_(pa.int64()),
        "confidences": pa.list_(pa.float64()),
    }
)


@dataclass(frozen=True)
class _Found:
    """An example that fits a rule best so far, and where its explanations are."""

    distance: float
    example: pa.Scalar
    shard: int
    predictions: list[int]
    confidences: list[float] | None


class Telling:
    """Looks for one example a rule as the pass goes on.

    All runs agree on the answer and their reasons are farthest apart; they do not agree, and
    reasons are farthest apart; they agree, and reasons are closest. Of equals the first id counts.
    """

    def __init__(self) -> None:
        self._found: dict[str, _Found] = {}

    def update(
        self, shard: int, ids: pa.Array, lengths: IntArray, distances: FloatArray, said: Predicted
    ) -> None:
        """Look at more examples."""
        is_long = lengths >= MIN_TOKENS
        agreed, split = said.is_agreed & is_long, said.is_known & ~said.is_agreed & is_long
        for rule, fits, sign in (
            (OTHER_REASONS, agreed, 1.0),
            (OTHER_ANSWERS, split, 1.0),
            (SAME_REASONS, agreed, -1.0),
        ):
            place = _first_largest(sign * distances, fits)
            if place is None:
                continue
            best = self._found.get(rule)
            if best is None or sign * distances[place] > sign * best.distance:
                sure = said.confidences
                self._found[rule] = _Found(
                    distance=float(distances[place]),
                    example=ids[place],
                    shard=shard,
                    predictions=said.classes[:, place].tolist(),
                    confidences=None if sure is None else sure[:, place].tolist(),
                )

    def rows(self, source: ExplanationShards) -> pa.Table:
        """The examples with their tokens and the scores of each run, by rule; none twice."""
        rows: list[dict[str, Any]] = []
        for rule in RULES:
            found = self._found.get(rule)
            if found is None or found.example in [self._found[row["rule"]].example for row in rows]:
                continue
            shard = source.shard(found.shard)
            place = pc.index(shard.ids, found.example).as_py()
            rows.append(
                {
                    "rule": rule,
                    "example": str(found.example.as_py()),
                    "distance": found.distance,
                    "tokens": shard.tokens[place].as_py(),
                    "scores": first_draws(shard, np.array([place]))[0],
                    "predictions": found.predictions,
                    "confidences": found.confidences,
                }
            )
        return pa.Table.from_pylist(rows, schema=SCHEMA)


def _first_largest(values: FloatArray, fits: BoolArray) -> int | None:
    """Where the largest value is among those that fit."""
    places = np.flatnonzero(fits)
    return int(places[values[places].argmax()]) if len(places) else None


def first_draws(shard: ExplanationShard, places: IntArray) -> list[list[list[float]]]:
    """What each run gave the tokens of some examples first, as logged."""
    lengths = shard.lengths
    starts = np.cumsum(lengths * shard.n_draws) - lengths * shard.n_draws
    return [
        [list(run) for run in shard.scores[:, starts[i] : starts[i] + lengths[i]]] for i in places
    ]
