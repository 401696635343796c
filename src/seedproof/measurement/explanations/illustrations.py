"""A few examples that illustrate the figures, selected by rule."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.measurement.explanations.explained_predictions import Predicted
from seedproof.records.explanation_shards import ExplanationShard, ExplanationShards
from seedproof.typing import FloatArray, IntArray

OTHER_EXPLANATIONS = "same answer, other explanations"
OTHER_ANSWERS = "other answers, other reasons"
SAME_EXPLANATIONS = "same answer, same explanations"
RULES = (OTHER_EXPLANATIONS, OTHER_ANSWERS, SAME_EXPLANATIONS)
# With fewer tokens, runs can hardly differ in which of them matter.
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
class _Candidate:
    """The example that fits a rule best so far, and the shard of its explanations."""

    distance: float
    example: pa.Scalar
    shard: int
    predictions: list[int]
    confidences: list[float] | None


class Illustrations:
    """Search for one example per rule.

    All runs agree on the class and their explanations differ most; they do not agree, and
    explanations differ most; they agree, and explanations differ least. Of equals the first id
    counts.
    """

    def __init__(self) -> None:
        self._best: dict[str, _Candidate] = {}

    def update(
        self,
        shard: int,
        ids: pa.Array,
        lengths: IntArray,
        distances: FloatArray,
        predicted: Predicted,
    ) -> None:
        """Consider more examples."""
        is_long = lengths >= MIN_TOKENS
        agreed = predicted.is_agreed & is_long
        split = predicted.is_known & ~predicted.is_agreed & is_long
        for rule, fits, sign in (
            (OTHER_EXPLANATIONS, agreed, 1.0),
            (OTHER_ANSWERS, split, 1.0),
            (SAME_EXPLANATIONS, agreed, -1.0),
        ):
            places = np.flatnonzero(fits)
            if not len(places):
                continue
            place = int(places[(sign * distances)[places].argmax()])
            best = self._best.get(rule)
            if best is None or sign * distances[place] > sign * best.distance:
                sure = predicted.confidences
                self._best[rule] = _Candidate(
                    distance=float(distances[place]),
                    example=ids[place],
                    shard=shard,
                    predictions=predicted.classes[:, place].tolist(),
                    confidences=None if sure is None else sure[:, place].tolist(),
                )

    def rows(self, source: ExplanationShards) -> pa.Table:
        """Return the examples with tokens and the scores of each run, by rule; none twice."""
        rows: dict[pa.Scalar, dict[str, Any]] = {}
        for rule in RULES:
            best = self._best.get(rule)
            if best is None or best.example in rows:
                continue
            shard = source.shard(best.shard)
            place = pc.index(shard.ids, best.example).as_py()
            rows[best.example] = {
                "rule": rule,
                "example": str(best.example.as_py()),
                "distance": best.distance,
                "tokens": shard.tokens[place].as_py(),
                "scores": first_draws(shard, np.array([place]))[0],
                "predictions": best.predictions,
                "confidences": best.confidences,
            }
        return pa.Table.from_pylist(list(rows.values()), schema=SCHEMA)


def first_draws(shard: ExplanationShard, places: IntArray) -> list[list[list[float]]]:
    """Return the scores of each run's first draw for some examples, as logged."""
    lengths = shard.lengths
    starts = np.cumsum(lengths * shard.n_draws) - lengths * shard.n_draws
    return [
        [list(run) for run in shard.scores[:, starts[i] : starts[i] + lengths[i]]] for i in places
    ]
