"""Predictions and reasons together: what measuring a store gives."""

from dataclasses import replace
from typing import TYPE_CHECKING

from seedproof.errors import InputError
from seedproof.measurement.explanations.measure import measure_explanations
from seedproof.measurement.result import Measurement
from seedproof.records.explanation_shards import explanations_beside, left_out
from seedproof.records.reader import StoreShards
from seedproof.typing import Progress

if TYPE_CHECKING:
    from seedproof.measurement.explanations.result import ExplanationMeasurement


def with_explanations(
    measurement: Measurement, source: StoreShards, *, progress: Progress | None = None
) -> Measurement:
    """A measurement of predictions with the explanations of the same runs, by every method.

    Args:
        measurement: What the predictions gave.
        source: The predictions.
        progress: Told how many shards of a method are done.

    Returns:
        The same, with explanations as far as they can be measured, and notes on what cannot.
    """
    explained, notes = explanations_beside(source)
    found: dict[str, ExplanationMeasurement] = {}
    left = list(notes)
    for method, one in explained.items():
        try:
            found[method] = measure_explanations(one, predictions=source, progress=progress)
        except InputError as error:
            left.append(left_out(method, error))
    return replace(measurement, explanations=found, notes=(*measurement.notes, *left))
