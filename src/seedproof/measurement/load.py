"""Load a saved measurement: figures, and one row per example."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import SchemaVersionError, UnreadableError
from seedproof.measurement.clusters import Clusters
from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.examples import StoredExamples, example_files, least_stable
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.result import FORMAT, Measurement
from seedproof.messages import recorded
from seedproof.predictions.checks import Check
from seedproof.records.location import Location
from seedproof.stats.intervals import Estimate


def is_saved(folder: Location) -> bool:
    """Return whether a folder holds a report."""
    return (folder / "summary.json").is_file() and bool(example_files(folder / "examples.parquet"))


def load_saved(folder: Location) -> Measurement:
    """Return the measurement that a report was saved from.

    Predictions of single runs and the map of confidence are not saved.
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
        dynamics, clusters = summary.get("dynamics"), summary.get("clusters")
        return Measurement(
            runs=tuple(summary["runs"]),
            classes=tuple(summary["classes"]),
            n_examples=summary["n_examples"],
            n_labeled=summary["n_labeled"],
            kind=summary["kind"],
            metrics={name: Estimate(**value) for name, value in summary["metrics"].items()},
            detail={name: _array(values) for name, values in summary["detail"].items()},
            unstable_examples=_unstable_examples(place),
            example_table=StoredExamples(place),
            notes=tuple(map(recorded, summary["notes"])),
            # Reports of the first versions have neither checks nor explanations.
            checks=tuple(map(Check.from_summary, summary.get("checks", ()))),
            explanations={
                method: ExplanationMeasurement.from_summary(method, explained)
                for method, explained in summary.get("explanations", {}).items()
            },
            dynamics=None if dynamics is None else DynamicsMeasurement.from_summary(dynamics),
            repeats=summary.get("repeats", "runs"),
            clusters=None if clusters is None else Clusters(**clusters),
            by_class=_groups(summary.get("by_class", ())),
            slices={
                column: _groups(groups) for column, groups in summary.get("slices", {}).items()
            },
        )
    except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
        if isinstance(error, SchemaVersionError):
            raise
        raise UnreadableError(
            "{folder} is not an intact report folder ({type_name}). Measure again with --out.",
            folder=folder,
            type_name=type(error).__name__,
        ) from error


def _groups(summaries: Sequence[Mapping[str, Any]]) -> tuple[GroupMetrics, ...]:
    return tuple(map(GroupMetrics.from_summary, summaries))


def _unstable_examples(place: Location) -> pa.Table:
    unstable: pa.Table | None = None
    for batch in StoredExamples(place).batches():
        rows = pa.Table.from_batches([batch])
        unstable = least_stable(rows if unstable is None else pa.concat_tables([unstable, rows]))
    if unstable is None:
        raise ValueError("no example")
    return unstable.combine_chunks()


def _array(values: Any) -> np.ndarray:  # noqa: ANN401 - nested lists of any depth
    """Convert nested lists to an array; None becomes NaN."""
    array = np.array(values)
    return array.astype(np.float64) if array.dtype == object else array
