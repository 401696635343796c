"""The report of a measurement."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
from rich.console import RenderableType

from seedproof.errors import UnknownNameError
from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.examples import ExampleTable
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.result import Measurement
from seedproof.metrics.card import card_or_own
from seedproof.predictions.checks import Check
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.report.figures import Figure, build_figures
from seedproof.report.figures.answers import votes
from seedproof.report.files import result_folder
from seedproof.report.items.figures import item_figures, item_sections
from seedproof.report.items.view import build_item_view
from seedproof.report.mappings import ByName, WrittenEstimate
from seedproof.report.numeric.figures import numeric_figures, numeric_sections
from seedproof.report.numeric.view import build_numeric_view
from seedproof.report.overview import Overview, PageOptions, Section, TextTable, group_table
from seedproof.report.result import ESTIMATE_COLUMNS, MetricsResult, estimate_cells
from seedproof.report.scratch import HoldsScratch, ScratchFolder
from seedproof.report.text import DYNAMICS, HEADER, explanation_cells, metric_cells, render
from seedproof.report.texts.figures import text_figures, text_sections
from seedproof.report.texts.view import build_text_view
from seedproof.report.view import View, build_view
from seedproof.stats.intervals import Estimate
from seedproof.typing import FloatArray

PAIRS_FILE = "pairs.parquet"
EVERY_METRIC = "Every metric, with its interval and the variation it accounts for"


class Report(HoldsScratch, MetricsResult, ByName[Estimate]):
    """Seed dependence of predictions: a mapping of metrics to estimates.

    Print it, get an estimate or a chart, look at its examples, or save its page.

    Args:
        measurement: The estimates.
        scratch: A temporary folder to be removed together with the report and its copies.

    >>> import seedproof as sp
    >>> report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]])
    >>> print(report["flip_rate"])
    16.7 % [0.7, 100.0] over runs × examples
    >>> report.get("accuracy") is None
    True
    >>> report.examples["flip_rate"].to_pylist()
    [0.0, 0.0, 0.6666666666666666, 0.0]
    """

    _page_file = "report.html"
    _json_file = "summary.json"
    _own_files = (PAIRS_FILE,)
    _columns: ClassVar = {"metric": pa.string(), **ESTIMATE_COLUMNS, "unit": pa.string()}

    def __init__(self, measurement: Measurement, scratch: Path | None = None) -> None:
        super().__init__(scratch)
        self.measurement = measurement

    @property
    def _entries(self) -> Mapping[str, Estimate]:
        return self.metrics

    def _unknown(self, name: str) -> UnknownNameError:
        places = [
            f"report.explanations[{method!r}].metrics"
            for method, explained in self.explanations.items()
            if name in explained.metrics
        ]
        if self.dynamics is not None and name in self.dynamics.metrics:
            places.append("report.dynamics.metrics")
        return UnknownNameError(
            "This report has no metric {metric!r}. It has: {known}.{elsewhere}",
            metric=name,
            known=tuple(self.measurement.metrics),
            elsewhere="".join(f" {place} has it." for place in places),
            places=tuple(places),
        )

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Every estimate by the name of its metric."""
        return _with_units(self.measurement.metrics)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input."""
        return self.measurement.checks

    @property
    def explanations(self) -> Mapping[str, ExplanationMeasurement]:
        """Seed dependence of explanations, by method; empty if none were recorded."""
        return self.measurement.explanations

    @property
    def dynamics(self) -> DynamicsMeasurement | None:
        """Label entropy within single runs over their steps; None if no run was traced."""
        return self.measurement.dynamics

    @property
    def by_class(self) -> tuple[GroupMetrics, ...]:
        """Flip rate and accuracy of each class, with intervals that hold for all of them together.

        Classes are gold classes; without labels, those that most runs predict.
        """
        return _written(self.measurement.by_class)

    @property
    def slices(self) -> Mapping[str, tuple[GroupMetrics, ...]]:
        """The same by column, for each value of the columns that were given as slices."""
        return {name: _written(groups) for name, groups in self.measurement.slices.items()}

    @property
    def examples(self) -> pa.Table:
        """One row per example, in the order of their ids."""
        return self.measurement.examples()

    @property
    def flip_matrix(self) -> FloatArray:
        """Share of examples on which two runs disagree: (runs, runs)."""
        return self.measurement.detail["flip_matrix"]

    def view(self, *, show: Sequence[str] = ()) -> View:
        """Return the report in sentences and rows, as plain data.

        Args:
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples.

        Returns:
            Sentences, metrics and the least stable examples.
        """
        return self._parts.view(self.measurement, show=show)

    @property
    def _parts(self) -> "KindParts":
        return PARTS.get(self.measurement.kind, CLASS_PARTS)

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data: the content of `summary.json`."""
        return self.measurement.summary()

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        title: str | None = None,
        command: str | None = None,
        pairs: bool = False,
    ) -> None:
        """Write the page, the summary as JSON, and the table of examples.

        Args:
            folder: Where to write; it is created if needed.
            show: Further columns of your own to show with examples, such as a text.
            title: Title of the page, such as the name of the model.
            command: The command that made it; the page shows it next to the date.
            pairs: Whether to write `pairs.parquet` as well, one row per pair of runs. With more
                than 50 runs the summary has the most extreme pairs only.
        """
        with result_folder(folder, own=self._own_files) as place:
            self._write(place, PageOptions(show, title, command), pairs=pairs)

    def _write(self, place: Location, options: PageOptions, *, pairs: bool = False) -> None:
        super()._write(place, options)
        if pairs:
            import pyarrow.parquet as pq

            with (place / PAIRS_FILE).open_write() as file:
                pq.write_table(self.measurement.pairs(), file)

    def _render(self, show: Sequence[str], *, all_metrics: bool = False) -> RenderableType:
        return render(self.view(show=show), all_metrics=all_metrics)

    def _page(self, options: PageOptions) -> str:
        from seedproof.report.html import render_page

        if self._parts is CLASS_PARTS:
            return render_page(self.measurement, options)
        return super()._page(options)

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"metric": name, **estimate_cells(estimate), "unit": card_or_own(name).unit}
            for name, estimate in self.measurement.metrics.items()
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return self._parts.figures(self.measurement)

    def _first_figure(self) -> Figure:
        if self._parts is CLASS_PARTS:
            # Few marks for any number of runs, and drawn without reading the examples.
            return votes(self.measurement)
        return self._figures()[0]

    def _overview(self, show: Sequence[str]) -> Overview:
        view = self.view(show=show)
        every = TextTable(HEADER, tuple(map(metric_cells, view.rows)))
        sections = self._parts.sections(self.measurement, view, show)
        tables = [] if sections else list(map(group_table, view.groups))
        tables += [
            TextTable(*explanation_cells(explained), title=f"explanations by {explained.title}")
            for explained in view.explanations
        ]
        if view.dynamics is not None:
            tables.append(
                TextTable(HEADER, tuple(map(metric_cells, view.dynamics.rows)), title=DYNAMICS)
            )
        metrics = Section("All metrics", EVERY_METRIC, (every, *tables), metrics=view.rows)
        return Overview(
            headline=view.headline,
            title=view.title,
            sentences=tuple((sentence.topic, sentence.text) for sentence in view.sentences),
            key_figures=view.key_figures,
            sections=(*sections, metrics),
            notes=view.notes,
            checks=view.checks,
        )

    def _example_table(self) -> ExampleTable:
        return self.measurement.example_table

    def _move_examples(self, scratch: ScratchFolder) -> None:
        table = self.measurement.example_table.moved(scratch.moved)
        self.measurement = replace(self.measurement, example_table=table)

    def _about(self) -> str:
        first = self._parts.first
        size = f"{self.measurement.n_runs:,} runs, {self.measurement.n_examples:,} examples"
        return f"of {size}: {first} {self[first]}"


class BuildView(Protocol):
    """A function that returns a measurement as plain data."""

    def __call__(self, measurement: Measurement, *, show: Sequence[str] = ()) -> View:
        """Return sentences and rows, with further columns of the user's own."""


@dataclass(frozen=True)
class KindParts:
    """The parts of a report that depend on the kind of answers."""

    view: BuildView
    figures: Callable[[Measurement], tuple[Figure, ...]]
    sections: Callable[[Measurement, View, Sequence[str]], tuple[Section, ...]]
    first: str  # the metric that represents the report


def _no_sections(measurement: Measurement, view: View, show: Sequence[str]) -> tuple[Section, ...]:
    """Return none: the page of classes has a template of its own."""
    del measurement, view, show
    return ()


CLASS_PARTS = KindParts(build_view, build_figures, _no_sections, "flip_rate")
PARTS: Mapping[str, KindParts] = {
    Kind.NUMBERS: KindParts(build_numeric_view, numeric_figures, numeric_sections, "mean"),
    Kind.RANKINGS: KindParts(build_item_view, item_figures, item_sections, "first_item_flips"),
    Kind.SETS: KindParts(build_item_view, item_figures, item_sections, "set_flips"),
    Kind.TEXTS: KindParts(build_text_view, text_figures, text_sections, "flip_rate"),
}


def _written(groups: Sequence[GroupMetrics]) -> tuple[GroupMetrics, ...]:
    """Return groups whose estimates print in their unit."""
    return tuple(replace(group, metrics=_with_units(group.metrics)) for group in groups)


def _with_units(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {
        name: WrittenEstimate.of(estimate, card_or_own(name).unit)
        for name, estimate in metrics.items()
    }
