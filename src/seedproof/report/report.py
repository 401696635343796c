"""The report object: what a person holds after measuring."""

import os
from collections.abc import Iterator, KeysView, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seedproof.errors import UnknownNameError
from seedproof.measurement.dynamics.result import DynamicsMeasurement
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.intervals import Estimate
from seedproof.measurement.result import Measurement
from seedproof.report.files import remove_with, save_files, write_file
from seedproof.report.text import as_text
from seedproof.report.view import View, build_view
from seedproof.typing import FloatArray


class Report:
    """What measuring found: `print` it, ask it for a figure, look at its examples.

    Args:
        measurement: The figures.
        scratch: A temporary folder to be removed together with the report.
    """

    def __init__(self, measurement: Measurement, scratch: Path | None = None) -> None:
        self.measurement = measurement
        remove_with(self, scratch)

    def __getitem__(self, name: str) -> Estimate:
        metrics = self.measurement.metrics
        if name not in metrics:
            places = [
                f"report.explanations[{method!r}].metrics"
                for method, explained in self.explanations.items()
                if name in explained.metrics
            ]
            if self.dynamics is not None and name in self.dynamics.metrics:
                places.append("report.dynamics.metrics")
            raise UnknownNameError(
                "There is no metric {metric!r} in this report. It has: {known}.{elsewhere}",
                metric=name,
                known=tuple(metrics),
                elsewhere="".join(f" {place} has it." for place in places),
                places=tuple(places),
            )
        return metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurement.metrics)

    def __len__(self) -> int:
        return len(self.measurement.metrics)

    def __contains__(self, name: object) -> bool:
        return name in self.measurement.metrics

    def keys(self) -> KeysView[str]:
        """Names of all figures, so that `dict(report)` works."""
        return self.measurement.metrics.keys()

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """Every figure by name."""
        return self.measurement.metrics

    @property
    def explanations(self) -> Mapping[str, ExplanationMeasurement]:
        """How much of the explanations the seed decided, by method; none without records."""
        return self.measurement.explanations

    @property
    def dynamics(self) -> DynamicsMeasurement | None:
        """How much single runs waver over their steps, and how well one tells of all.

        None if no run was traced.
        """
        return self.measurement.dynamics

    @property
    def examples(self) -> pa.Table:
        """One row for each example, in the order of their ids."""
        return self.measurement.examples()

    @property
    def flip_matrix(self) -> FloatArray:
        """Share of examples on which two runs disagree: (runs, runs)."""
        return self.measurement.detail["flip_matrix"]

    def view(self, *, show: Sequence[str] = ()) -> View:
        """The report in words and rows, as plain data.

        Args:
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples.

        Returns:
            Sentences, figures and the least stable examples.
        """
        return build_view(self.measurement, show=show)

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data: what `summary.json` holds."""
        return self.measurement.summary()

    def to_json(self) -> str:
        """The summary as JSON text."""
        return self.measurement.to_json()

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> str:
        """The page that a colleague reads: one file that loads nothing and sends nothing.

        Args:
            path: Where to write it; None writes nothing.
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples.
            command: The command that made it, for the box at its end.

        Returns:
            The page.
        """
        from seedproof.report.html import render_page

        page = render_page(self.measurement, show=show, command=command)
        if path is not None:
            write_file(path, page.encode())
        return page

    def to_png(self, figure: str, path: str | os.PathLike[str] | None = None) -> bytes:
        """One chart as a PNG picture, drawn without a browser.

        Args:
            figure: Its name, such as "flip_matrix".
            path: Where to write it; None writes nothing.

        Returns:
            The picture.
        """
        return self.picture(figure, "png", path)

    def picture(
        self, figure: str, file_format: str, path: str | os.PathLike[str] | None = None
    ) -> bytes:
        """One chart as a picture for a paper, drawn without a browser.

        Args:
            figure: Its name, such as "flip_matrix".
            file_format: `png`, `svg` or `pdf`.
            path: Where to write it; None writes nothing.

        Returns:
            The picture.
        """
        from seedproof.report import charts
        from seedproof.report.figures import build_figures

        chosen = charts.find(build_figures(self.measurement), figure)
        content = charts.picture(chosen, file_format)
        if path is not None:
            write_file(path, content)
        return content

    def _repr_html_(self) -> str:
        from seedproof.report.html import render_short

        return render_short(self.measurement)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> None:
        """Write `report.html`, `summary.json` and `examples.parquet` into a folder.

        Args:
            folder: Where to; it is made if need be.
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples.
            command: The command that made it, for the box at the page's end.
        """
        files = {
            "summary.json": self.to_json(),
            "report.html": self.to_html(show=show, command=command),
        }
        save_files(folder, files, examples=self.measurement.examples_file)

    def __str__(self) -> str:
        return as_text(self.view())

    def __repr__(self) -> str:
        size = f"{self.measurement.n_runs} runs, {self.measurement.n_examples} examples"
        return f"<Report of {size}: flip_rate {self['flip_rate']}>"
