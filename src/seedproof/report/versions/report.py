"""The report of a comparison of two versions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from seedproof.comparison.versions.result import VersionComparison
from seedproof.errors import UnknownNameError
from seedproof.measurement.examples import ExampleTable, StoredExamples
from seedproof.predictions.checks import Check
from seedproof.report.figures.base import Figure
from seedproof.report.mappings import ByName, WrittenEstimate
from seedproof.report.overview import Overview, PageOptions
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells
from seedproof.report.scratch import HoldsScratch, ScratchFolder
from seedproof.report.versions import numeric
from seedproof.report.versions.view import (
    DIFFERENCES,
    build_figures,
    build_overview,
    check_columns,
    render,
)
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate


class VersionReport(HoldsScratch, Result, ByName[Estimate]):
    """Changes between two versions of a model: a mapping of figures to estimates.

    `print` it, read a figure by name, or save its page.

    Args:
        comparison: The figures.
        scratch: A temporary folder to be removed together with the report and its copies.

    >>> import seedproof as sp
    >>> old = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]] * 2
    >>> report = sp.compare_versions(old, [[0, 1, 1, 1], [0, 1, 1, 0]] * 3)
    >>> print(report["flip_rate"])
    20.8 % [5.8, 74.5] over runs × examples
    >>> report.steadiness.verdict
    'no difference shown'
    """

    _page_file = "versions.html"
    _json_file = "versions.json"
    _columns: ClassVar = {
        "group": pa.string(),
        "name": pa.string(),
        "n_examples": pa.int64(),
        "figure": pa.string(),
        **ESTIMATE_COLUMNS,
    }

    def __init__(self, comparison: VersionComparison, scratch: Path | None = None) -> None:
        super().__init__(scratch)
        self.comparison = comparison

    @property
    def _entries(self) -> Mapping[str, Estimate]:
        figures = self.comparison.whole.figures
        if not self.comparison.has_classes:
            unit = numeric.terms_of(self.comparison).unit
            return {name: WrittenEstimate.of(x, unit) for name, x in figures.items()}
        return {
            name: WrittenEstimate.of(estimate, "percent", is_difference=name in DIFFERENCES)
            for name, estimate in figures.items()
        }

    def _unknown(self, name: str) -> UnknownNameError:
        return UnknownNameError(
            "There is no figure {figure!r} here. Known: {known}.",
            figure=name,
            known=tuple(self.comparison.whole.figures),
        )

    @property
    def examples(self) -> pa.Table:
        """One row per example, in the order of their ids."""
        return self.comparison.examples()

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, each with its version, `old` or `new`, as the arm."""
        return self.comparison.checks

    @property
    def steadiness(self) -> Effect | None:
        """Flip rate of the new version as a ratio to the old one's, with its verdict.

        None if one of the versions has a single run.
        """
        return self.comparison.steadiness

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data: the content of `versions.json`."""
        return self.comparison.summary()

    def _render(self, show: Sequence[str]) -> RenderableType:
        check_columns(self.comparison, show)
        draw = render if self.comparison.has_classes else numeric.render
        return draw(self.comparison, show=show)

    def _records(self) -> list[dict[str, Any]]:
        groups = [("all", (self.comparison.whole,)), ("class", self.comparison.by_class)]
        groups += self.comparison.slices.items()
        return [
            {
                "group": group,
                "name": part.name,
                "n_examples": part.n_examples,
                "figure": name,
                **estimate_cells(estimate),
            }
            for group, parts in groups
            for part in parts
            for name, estimate in part.figures.items()
        ]

    def _figures(self) -> tuple[Figure, ...]:
        build = build_figures if self.comparison.has_classes else numeric.build_figures
        return build(self.comparison)

    def _overview(self, show: Sequence[str]) -> Overview:
        check_columns(self.comparison, show)
        build = build_overview if self.comparison.has_classes else numeric.build_overview
        return build(self.comparison, show=show)

    def _texts(self, options: PageOptions) -> dict[str, str]:
        made = "" if options.command is None else f"\n\nMade by: {options.command}"
        text = {"versions.txt": f"{self.text(show=options.show)}{made}\n"}
        return super()._texts(options) | text

    def _example_table(self) -> ExampleTable:
        return StoredExamples(self.comparison.examples_file)

    def _move_examples(self, scratch: ScratchFolder) -> None:
        place = scratch.moved(self.comparison.examples_file)
        self.comparison = replace(self.comparison, examples_file=place)

    def _about(self) -> str:
        old, new = len(self.comparison.old_runs), len(self.comparison.new_runs)
        first = "flip_rate"
        if not self.comparison.has_classes:
            first = f"{numeric.terms_of(self.comparison).distance}_beyond"
        if self.comparison.has_numbers:
            first = "mean_change"
        noun = "trials" if self.comparison.are_trials else "runs"
        return f"of {old} old and {new} new {noun}: {first} {self[first]}"
