"""A measurement from the folder that it was saved to: figures, and one row an example."""

import json
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import SchemaVersionError, UnreadableError
from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.examples import StoredExamples, example_files
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.result import FORMAT, Measurement
from seedproof.measurement.unstable_examples import least_stable
from seedproof.messages import recorded
from seedproof.records.location import Location
from seedproof.stats.intervals import Estimate


def is_saved(folder: Location) -> bool:
    """Whether a folder holds a report."""
    return (folder / "summary.json").is_file() and bool(example_files(folder / "examples.parquet"))


def load_saved(folder: Location) -> Measurement:
    """The measurement that a report was saved from.

    What each run said of single examples is not saved, nor is the map of confidence.
    """
    place = folder / "examples.parquet"
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())
        if summary["format"] > FORMAT:
            raise SchemaVersionError(
                "{folder} was written by a newer seedproof (format {version}; this one "
                "reads up to {newest}). Install a newer one.",
                folder=folder,
                version=summary["format"],
                newest=FORMAT,
            )
        dynamics = summary.get("dynamics")
        return Measurement(
            runs=tuple(summary["runs"]),
            classes=tuple(summary["classes"]),
            n_examples=summary["n_examples"],
            n_labeled=summary["n_labeled"],
            kind=summary["kind"],
            metrics={name: Estimate(**value) for name, value in summary["metrics"].items()},
            detail={name: _array(values) for name, values in summary["detail"].items()},
            worst=_worst(place),
            example_table=StoredExamples(place),
            notes=tuple(map(recorded, summary["notes"])),
            # Reports of the first versions have none.
            explanations={
                method: ExplanationMeasurement.from_summary(method, found)
                for method, found in summary.get("explanations", {}).items()
            },
            dynamics=None if dynamics is None else DynamicsMeasurement.from_summary(dynamics),
        )
    except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
        if isinstance(error, SchemaVersionError):
            raise
        raise UnreadableError(
            "{folder} is not the folder of a report as it was written ({type_name}). "
            "Measure again with --out.",
            folder=folder,
            type_name=type(error).__name__,
        ) from error


def _worst(place: Location) -> pa.Table:
    """The least stable examples, however many there are in all."""
    worst: pa.Table | None = None
    for batch in StoredExamples(place).batches():
        rows = pa.Table.from_batches([batch])
        worst = least_stable(rows if worst is None else pa.concat_tables([worst, rows]))
    if worst is None:
        raise ValueError("no example")
    return worst.combine_chunks()


def _array(values: Any) -> np.ndarray:  # noqa: ANN401 - nested lists of any depth
    """Nested lists as an array; None is not a number."""
    array = np.array(values)
    return array.astype(np.float64) if array.dtype == object else array
