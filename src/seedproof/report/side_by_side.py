"""Several arms of a study, side by side: one report each, one table for all."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seedproof.errors import UnknownNameError
from seedproof.messages import printable
from seedproof.metrics.card import card
from seedproof.report.explanations.view import ReasonRow
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.files import save_files
from seedproof.report.mappings import ByName
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.report import Report
from seedproof.report.result import ESTIMATE_COLUMNS, Result
from seedproof.report.text import bare_table
from seedproof.report.view import Row, View, can_show, unknown_column

FIGURES = "Figures"
# More arms have no room next to each other; the table has all.
MAX_KEYS = 4
DRAWN = ("flip_rate", "accuracy", "accuracy_sd", "label_entropy_corrected")
JUDGES_NOTHING = (
    "Intervals that overlap may still belong to a real difference; seedproof compare judges."
)
LEFT_OUT = "Left out: {}, which has one finished run."
# Columns that no terminal has.
NEVER_REACHED = 100_000


class SideBySide(Result, ByName[Report]):
    """The report of each arm, by its name; `print` it for the figures side by side.

    It shows what each arm has, and judges nothing: intervals that overlap may still belong to a
    real difference.

    Args:
        reports: A report for each arm.
        left_out: Arms that have too few finished runs for one.

    >>> import seedproof as sp
    >>> runs = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
    >>> arms = sp.SideBySide({"none": sp.measure(runs), "ours": sp.measure(runs)})
    >>> arms
    <SideBySide of 2 arms: none, ours>
    >>> print(arms["ours"]["ambiguity"])
    25.0 %
    """

    _page_file = "arms.html"
    _json_file = "arms.json"
    _columns: ClassVar = {
        "arm": pa.string(),
        "metric": pa.string(),
        **ESTIMATE_COLUMNS,
        "unit": pa.string(),
    }

    def __init__(self, reports: Mapping[str, Report], left_out: Sequence[str] = ()) -> None:
        self._reports = dict(reports)
        self.left_out = tuple(left_out)

    @property
    def _entries(self) -> Mapping[str, Report]:
        return self._reports

    def _unknown(self, name: str) -> UnknownNameError:
        return UnknownNameError(
            "There is no arm {arm!r} here. Known: {known}.", arm=name, known=tuple(self._reports)
        )

    def summary(self) -> dict[str, Any]:
        """Return the summary of each arm, as plain data."""
        return {arm: report.summary() for arm, report in self.items()}

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
        pairs: bool = False,
    ) -> None:
        """Write the page of all arms, and the report of each arm into a folder of its own.

        Args:
            folder: Where to write; it is created if needed.
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples. Arms that lack one are shown without it.
            command: The command that made it, for the box at each page's end.
            pairs: Whether to write `pairs.parquet` of each arm as well.

        Raises:
            ColumnError: No arm has a column that is to be shown.
        """
        self._check_columns(show)
        save_files(folder, self._texts((), command))
        place = os.fspath(folder).rstrip("/")  # a path or a URL
        for arm, report in self.items():
            name = quote(arm, safe=" +=,")
            known = can_show(report.measurement)
            report.save(
                f"{place}/_{name}" if name[0] == "." else f"{place}/{name}",
                show=[column for column in show if column in known],
                command=command,
                pairs=pairs,
            )

    def _check_columns(self, show: Sequence[str]) -> None:
        """Refuse columns that no arm has."""
        known = [name for report in self.values() for name in can_show(report.measurement)]
        for name in show:
            if name not in known:
                notes = [note for report in self.values() for note in report.measurement.notes]
                raise unknown_column(name, list(dict.fromkeys(known)), list(dict.fromkeys(notes)))

    def _render(self, show: Sequence[str]) -> RenderableType:
        self._check_columns(show)  # examples are shown by the report of each arm
        return self

    def _records(self) -> list[dict[str, Any]]:
        return [{"arm": arm, **row} for arm, report in self.items() for row in report._records()]  # noqa: SLF001 - a result, too

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(
            _figure(name, self._reports)
            for name in DRAWN
            if any(name in report for report in self.values())
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        self._check_columns(show)
        views = {arm: report.view() for arm, report in self.items()}
        tables = tuple(
            TextTable(
                ("metric", *views),
                tuple(
                    (name, *(_cell(cells.get(arm)) for arm in views))
                    for name, cells in figures.items()
                ),
                title=f"reasons by {heading}" if heading else "",
            )
            for heading, figures in _by_heading(views).items()
        )
        return Overview(
            headline=f"{self._size} side by side",
            title=", ".join(self),
            sentences=tuple((arm, view.headline) for arm, view in views.items()),
            key_figures=tuple(
                replace(view.key_figures[0], title=f"{view.key_figures[0].title}, {arm}")
                for arm, view in list(views.items())[:MAX_KEYS]
            ),
            sections=(Section(FIGURES, "Every figure of every arm", tables),),
            notes=(JUDGES_NOTHING, *map(LEFT_OUT.format, self.left_out)),
        )

    @property
    def _size(self) -> str:
        return f"{len(self):,} {'arm' if len(self) == 1 else 'arms'}"

    def _about(self) -> str:
        return f"of {self._size}: {', '.join(self)}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        views = {arm: report.view() for arm, report in self.items()}
        for arm, view in views.items():
            yield Text(f"{printable(arm)}: {view.title}", style="dim")
        left = list(views)
        while left:
            yield Text("")
            n_arms = len(left)
            while n_arms > 1 and not _fits(_table(views, left[:n_arms]), console, options):
                n_arms -= 1
            yield _table(views, left[:n_arms])
            left = left[n_arms:]
        for arm in self.left_out:
            yield Text(LEFT_OUT.format(printable(arm)), style="dim")


def _table(views: Mapping[str, View], arms: Sequence[str]) -> Table:
    """The figures of some arms, with the rows that any arm has."""
    table = bare_table()
    table.add_column("metric", style="bold", no_wrap=True)
    for arm in arms:
        table.add_column(Text(printable(arm)), justify="right", no_wrap=True)
    every = [reasons for view in views.values() for reasons in view.reasons]
    has_floor = {reasons.title for reasons in every if reasons.has_floor}
    for heading, figures in _by_heading(views).items():
        if heading:
            table.add_row(Text(f"reasons by {printable(heading)}", style="dim"))
        for name, by_arm in figures.items():
            cells = [by_arm.get(arm) for arm in arms]
            table.add_row(name, *("" if cell is None else cell.value for cell in cells))
            ends = ["" if cell is None else cell.interval for cell in cells]
            if any(ends):
                table.add_row("", *(Text(text, style="dim") for text in ends))
            if heading in has_floor:
                # Without their intervals, for which there is no room.
                floors = [getattr(cell, "bare_floor", "") for cell in cells]
                table.add_row(*(Text(text, style="dim") for text in ("  drawn twice", *floors)))
    return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    """Whether nothing of a table need be cut off."""
    unbounded = options.update(width=NEVER_REACHED)
    return Measurement.get(console, unbounded, table).maximum <= options.max_width


def _by_heading(views: Mapping[str, View]) -> dict[str, dict[str, dict[str, Row | ReasonRow]]]:
    """Every figure by name and arm: those of predictions first, then by method of explanation."""
    found: dict[str, dict[str, dict[str, Row | ReasonRow]]] = {}
    for arm, view in views.items():
        for row in view.rows:
            found.setdefault("", {}).setdefault(row.name, {})[arm] = row
        for reasons in view.reasons:
            for reason in reasons.rows:
                found.setdefault(reasons.title, {}).setdefault(reason.name, {})[arm] = reason
    return found


def _cell(cell: Row | ReasonRow | None) -> str:
    return "–" if cell is None else f"{cell.value} {cell.interval}".strip()


def _figure(name: str, reports: Mapping[str, Report]) -> Figure:
    about = card(name)
    unit = {"percent": ", %", "points": ", points", "nats": ", nats"}.get(about.unit, "")
    return intervals(
        name,
        f"{about.title} of each arm",
        [Line(arm, report[name]) for arm, report in reports.items() if name in report],
        section=FIGURES,
        axis=f"{about.title.lower()}{unit}",
        unit=about.unit,
    )
