"""Predictions and reasons together: what measuring a store gives."""

from dataclasses import replace
from typing import TYPE_CHECKING

from seedproof.engines import Engine
from seedproof.errors import DamagedStoreError, InputError, SeedproofError
from seedproof.measurement.explanations.measure import measure_explanations
from seedproof.measurement.result import Measurement
from seedproof.records.explanation_shards import explanations_beside, left_out
from seedproof.records.shards import ShardSource
from seedproof.typing import Progress

if TYPE_CHECKING:
    from seedproof.measurement.explanations.result import ExplanationMeasurement

# Below this, starting workers takes longer than the work.
MIN_SHARDS = 8


def with_explanations(
    measurement: Measurement,
    source: ShardSource,
    *,
    engine: Engine | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Measurement:
    """A measurement of predictions with the explanations of the same runs, by every method."""
    refused: tuple[type[SeedproofError], ...] = (InputError,)
    if skip_damaged:
        refused += (DamagedStoreError,)
    explained, notes = explanations_beside(source, skip_damaged=skip_damaged)
    found: dict[str, ExplanationMeasurement] = {}
    left = list(notes)
    for method, one in explained.items():
        try:
            found[method] = measure_explanations(
                one,
                predictions=source,
                engine=None if one.n_shards < MIN_SHARDS else engine,
                progress=progress,
            )
        except refused as error:
            left.append(left_out(method, error, source))
    return replace(measurement, explanations=found, notes=(*measurement.notes, *left))
