"""Load a saved measurement: figures, and one row per example."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.errors import (
    SchemaVersionError,
    SeedproofError,
    UnreadableError,
    first_line,
)
from seedproof.measurement.clusters import Clusters
from seedproof.measurement.dynamics import DynamicsMeasurement, DynamicsSummary
from seedproof.measurement.examples import KEYS, StoredExamples, example_files, least_stable
from seedproof.measurement.explanations.result import ExplanationMeasurement, ExplanationSummary
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.items import ItemAccumulators
from seedproof.measurement.numbers import NumberAccumulators
from seedproof.measurement.result import FORMAT, Measurement
from seedproof.messages import recorded
from seedproof.predictions.checks import Check
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.decoding import DecodingError, decode, read_json
from seedproof.records.location import Location
from seedproof.records.schema import ITEMS, Kind
from seedproof.stats.intervals import Estimate
from seedproof.typing import is_count


def is_saved(folder: Location) -> bool:
    """Return whether a folder holds a report."""
    return (folder / "summary.json").is_file() and bool(example_files(folder / "examples.parquet"))


@dataclass(frozen=True)
class _Summary:
    """Content of `summary.json`; what older versions do not have is optional."""

    format: int
    runs: tuple[str, ...]
    classes: tuple[str, ...]
    n_examples: int
    n_labeled: int
    kind: str
    metrics: Mapping[str, Estimate]
    detail: Mapping[str, Any]
    notes: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    explanations: Mapping[str, ExplanationSummary] = field(default_factory=dict)
    dynamics: DynamicsSummary | None = None
    repeats: str = "runs"
    levels: Mapping[str, int] = field(default_factory=dict)
    weights: ExampleWeights | None = None
    clusters: Clusters | None = None
    by_class: tuple[GroupMetrics, ...] = ()
    slices: Mapping[str, tuple[GroupMetrics, ...]] = field(default_factory=dict)


def load_saved(folder: Location) -> Measurement:
    """Return the measurement that a report was saved from.

    Predictions of single runs and the map of confidence are not saved.
    """
    place = folder / "examples.parquet"
    try:
        content = read_json(folder / "summary.json")
        if isinstance(content, dict) and is_count(content.get("format"), least=FORMAT + 1):
            raise SchemaVersionError(
                "{folder} was written by a newer seedproof (format {version}; this one "
                "reads up to {newest}). Install a newer one.",
                folder=folder,
                version=content["format"],
                newest=FORMAT,
            )
        summary = decode(_Summary, content, allow_unknown=True)
        return Measurement(
            runs=summary.runs,
            classes=summary.classes,
            n_examples=summary.n_examples,
            n_labeled=summary.n_labeled,
            kind=summary.kind,
            metrics=_with_plain_ece(summary),
            detail={name: _array(name, values) for name, values in summary.detail.items()},
            unstable_examples=_unstable_examples(place, _keys(Kind(summary.kind))),
            example_table=StoredExamples(place),
            notes=tuple(map(recorded, summary.notes)),
            checks=summary.checks,
            explanations={
                method: ExplanationMeasurement.from_summary(method, explained)
                for method, explained in summary.explanations.items()
            },
            dynamics=None
            if summary.dynamics is None
            else DynamicsMeasurement.from_summary(summary.dynamics),
            repeats=summary.repeats,
            levels=summary.levels,
            weights=summary.weights,
            clusters=summary.clusters,
            by_class=summary.by_class,
            slices=summary.slices,
        )
    except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
        if isinstance(error, SeedproofError):
            raise
        raise UnreadableError(
            "{folder} is not an intact report folder: {problem}. Measure again with --out.",
            folder=folder,
            problem=first_line(error),
            type_name=type(error).__name__,
        ) from error


def _keys(kind: Kind) -> Sequence[str]:
    """Return the columns by which examples are ordered."""
    if kind in ITEMS:
        return ItemAccumulators.keys
    return NumberAccumulators.keys if kind is Kind.NUMBERS else KEYS


def _unstable_examples(place: Location, keys: Sequence[str]) -> pa.Table:
    unstable: pa.Table | None = None
    for batch in StoredExamples(place).batches():
        rows = pa.Table.from_batches([batch])
        known = rows if unstable is None else pa.concat_tables([unstable, rows])
        unstable = least_stable(known, keys)
    if unstable is None:
        raise ValueError("no example")
    return unstable.combine_chunks()


def _with_plain_ece(summary: _Summary) -> Mapping[str, Estimate]:
    """Return the figures of a report; older ones call the corrected calibration error `ece`."""
    figures, by_run = dict(summary.metrics), summary.detail.get("ece_by_run")
    old = figures.get("ece")
    if old is None or old.low is None or by_run is None:
        return figures
    if old.over != "runs":  # the oldest ones have the plain error, with an interval over runs
        figures["ece_corrected"] = old
    return figures | {"ece": Estimate(float(np.mean(by_run)))}


def _array(name: str, values: Any) -> np.ndarray:  # noqa: ANN401 - nested lists of any depth
    """Convert nested lists to an array; None becomes NaN."""
    try:
        array = np.array(values)
        array = array.astype(np.float64) if array.dtype == object else array
    except (ValueError, TypeError, OverflowError) as error:
        raise DecodingError("not an array", f"detail.{name}") from error
    if array.dtype.kind not in "bif":
        raise DecodingError("not an array of numbers", f"detail.{name}")
    return array
