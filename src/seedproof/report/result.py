"""The base of all results: text, JSON, a page, a table, charts, files."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from seedproof.errors import UnknownNameError
from seedproof.measurement.examples import ExampleTable
from seedproof.records.location import Location
from seedproof.report.chart import Chart
from seedproof.report.console import SafeConsole
from seedproof.report.figures.base import Figure
from seedproof.report.files import result_folder, write_file, write_results
from seedproof.report.overview import Overview, PageOptions
from seedproof.report.text import plain_text
from seedproof.report.view import unknown_column
from seedproof.stats.intervals import Estimate

# Columns of an estimate in a table.
ESTIMATE_COLUMNS = {
    "value": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "over": pa.string(),
}


class Result(ABC):
    """Base of everything that measuring, comparing, judging and planning return.

    `print` shows the text, and the last line of a notebook's cell the headline, the key figures and
    one chart.

    >>> import seedproof as sp
    >>> report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0]])
    >>> isinstance(report, sp.Result)
    True
    >>> report.figure("votes")
    <Chart votes: How the runs vote on an example>
    """

    # Files that `save` writes: the page and the summary.
    _page_file: ClassVar[str]
    _json_file: ClassVar[str]
    # Files that only this kind of result has, and not each time.
    _own_files: ClassVar[tuple[str, ...]] = ()
    # Columns of `to_frame`, in their order.
    _columns: ClassVar[Mapping[str, pa.DataType]]

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data."""

    @abstractmethod
    def _render(self, show: Sequence[str]) -> RenderableType:
        """Return what a terminal shows, with further columns of examples."""

    @abstractmethod
    def _records(self) -> list[dict[str, Any]]:
        """Return the rows of `to_frame`."""

    @abstractmethod
    def _overview(self, show: Sequence[str]) -> Overview:
        """Return headline, key figures and tables as plain data."""

    @abstractmethod
    def _figures(self) -> tuple[Figure, ...]:
        """Return every chart as plain data."""

    @abstractmethod
    def _about(self) -> str:
        """Return a few words for the short form: "of 10 runs: …"."""

    def _first_figure(self) -> Figure | None:
        """Return the most important chart; None if there is none."""
        return next(iter(self._figures()), None)

    def _page(self, options: PageOptions) -> str:
        from seedproof.report.document import render_result

        return render_result(
            self._overview(options.show),
            self._figures(),
            identity=self.to_json(),
            json_file=self._json_file,
            options=options,
        )

    def _example_table(self) -> ExampleTable | None:
        """Return the table of examples that `save` writes; None if there is none."""
        return None

    def _texts(self, options: PageOptions) -> dict[str, str]:
        """Return the texts that `save` writes, by file name."""
        return {
            self._json_file: self.to_json(),
            self._page_file: self._page(options),
        }

    @property
    def file_names(self) -> tuple[str, ...]:
        """Names of the page and the summary that `save` writes."""
        return self._page_file, self._json_file

    @property
    def figure_names(self) -> tuple[str, ...]:
        """Names of all charts, for `figure`."""
        return tuple(figure.name for figure in self._figures())

    def figure(self, name: str | None = None) -> Chart:
        """Return one chart, to be shown in a notebook or saved as a picture.

        Args:
            name: Its name, one of `figure_names`. If omitted, the most important chart.

        Returns:
            A chart.

        Raises:
            UnknownNameError: There is no such chart.
        """
        if name is None:
            chosen = self._first_figure()
        else:
            chosen = next((figure for figure in self._figures() if figure.name == name), None)
        if chosen is None:
            known = self.figure_names
            raise UnknownNameError(
                "There is no figure {figure!r} in this report. It has: {listed}.",
                figure=name or "",
                listed=known or "none",
                known=known,
            )
        return Chart(chosen)

    def to_json(self) -> str:
        """Return the summary as JSON text."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas need not be installed
        """Return the figures as a table, one row each.

        Returns:
            A pandas data frame, or a pyarrow table if pandas is not installed.
        """
        schema = pa.schema(list(self._columns.items()))
        table = pa.Table.from_pylist(self._records(), schema=schema)
        return table if find_spec("pandas") is None else table.to_pandas()

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        show: Sequence[str] = (),
        title: str | None = None,
        command: str | None = None,
    ) -> str:
        """Return the page for a colleague: one file that loads nothing and sends nothing.

        Args:
            path: Where to write it. If omitted, nothing is written.
            show: Further columns of your own to show with examples, such as a text.
            title: Title of your choice, such as the name of the model.
            command: The command that made it; the page shows it next to the date.

        Returns:
            The page.
        """
        page = self._page(PageOptions(show, title, command))
        if path is not None:
            write_file(path, page.encode())
        return page

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        title: str | None = None,
        command: str | None = None,
    ) -> None:
        """Write the page, the summary as JSON, and the table of examples if there is one.

        Args:
            folder: Where to write; it is created if needed.
            show: Further columns of your own to show with examples, such as a text.
            title: Title of the page, such as the name of the model.
            command: The command that made it; the page shows it next to the date.
        """
        with result_folder(folder, own=self._own_files) as place:
            self._write(place, PageOptions(show, title, command))

    def _write(self, place: Location, options: PageOptions) -> None:
        """Write all files into a folder that has none of them."""
        write_results(place, self._texts(options), self._example_table())

    def show(self, *, show: Sequence[str] = ()) -> None:
        """Print to the terminal, with colors where it has them.

        Args:
            show: Further columns of your own to show with examples, such as a text.
        """
        SafeConsole().print(self._render(show))

    def text(self, *, show: Sequence[str] = ()) -> str:
        """Return what `print` prints: no colors, 80 columns wide.

        Args:
            show: Further columns of your own to show with examples, such as a text.

        Returns:
            Lines of text.
        """
        return plain_text(self._render(show))

    def _repr_html_(self) -> str:
        from seedproof.report.document import render_short

        return render_short(self._overview(()), self._first_figure())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._render(())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._about()}>"

    # A mapping would compare its entries and have no hash; a result has an identity.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class MetricsResult(Result):
    """A result that prints its key metrics, or all of them on request."""

    @abstractmethod
    def _render(self, show: Sequence[str], *, all_metrics: bool = False) -> RenderableType: ...

    def show(self, *, show: Sequence[str] = (), all_metrics: bool = False) -> None:
        """Print to the terminal, with colors where it has them.

        Args:
            show: Further columns of your own to show with examples, such as a text.
            all_metrics: Whether to print every metric, as `--all` does, or the key metrics only.
        """
        SafeConsole().print(self._render(show, all_metrics=all_metrics))

    def text(self, *, show: Sequence[str] = (), all_metrics: bool = False) -> str:
        """Return what `print` prints: no colors, 80 columns wide.

        Args:
            show: Further columns of your own to show with examples, such as a text.
            all_metrics: Whether to include every metric, as `--all` does, or the key metrics only.

        Returns:
            Lines of text.
        """
        return plain_text(self._render(show, all_metrics=all_metrics))


def estimate_cells(estimate: Estimate) -> dict[str, Any]:
    """Return the cells of an estimate in a table."""
    return {name: getattr(estimate, name) for name in ESTIMATE_COLUMNS}


def refuse_columns(show: Sequence[str]) -> None:
    """Raise for any column of examples, because this result has no examples."""
    for name in show:
        raise unknown_column(name, ())
