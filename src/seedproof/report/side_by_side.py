"""Several arms of a study, side by side: one report each, one table for all."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seedproof.errors import UnknownNameError
from seedproof.messages import printable
from seedproof.report.reasons.view import ReasonRow
from seedproof.report.report import Report
from seedproof.report.text import plain_text
from seedproof.report.view import Row, View, can_show, unknown_column

# Columns that no terminal has.
NEVER_REACHED = 100_000


class SideBySide(Mapping[str, Report]):
    """The report of each arm, by its name; `print` it for the figures side by side.

    It shows what each arm has, and judges nothing: intervals that overlap may still belong to a
    real difference.

    Args:
        reports: A report for each arm.
        left_out: Arms that have too few finished runs for one.
    """

    def __init__(self, reports: Mapping[str, Report], left_out: Sequence[str] = ()) -> None:
        self._reports = dict(reports)
        self.left_out = tuple(left_out)

    def __getitem__(self, arm: str) -> Report:
        if arm not in self._reports:
            raise UnknownNameError(
                "There is no arm {arm!r} here. Known: {known}.", arm=arm, known=tuple(self._reports)
            )
        return self._reports[arm]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def summary(self) -> dict[str, Any]:
        """The summary of each arm, as plain data."""
        return {arm: report.summary() for arm, report in self.items()}

    def to_json(self) -> str:
        """The summaries as JSON text."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> None:
        """Write the report of each arm into a folder of its own.

        Args:
            folder: Where to; it is made if need be.
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples. Arms that lack one are shown without it.
            command: The command that made it, for the box at each page's end.

        Raises:
            ColumnError: No arm has a column that is to be shown.
        """
        known = {arm: can_show(report.measurement) for arm, report in self.items()}
        every = list(dict.fromkeys(name for names in known.values() for name in names))
        for name in show:
            if name not in every:
                notes = [note for one in self.values() for note in one.measurement.notes]
                raise unknown_column(name, every, list(dict.fromkeys(notes)))
        for arm, report in self.items():
            name = quote(arm, safe=" +=,")
            report.save(
                Path(folder) / (f"_{name}" if name[0] == "." else name),
                show=[one for one in show if one in known[arm]],
                command=command,
            )

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
            yield Text(f"Left out: {printable(arm)}, which has one finished run.", style="dim")

    def __str__(self) -> str:
        return plain_text(self)


def _table(views: Mapping[str, View], arms: Sequence[str]) -> Table:
    """The figures of some arms, with the rows that any arm has."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("metric", style="bold", no_wrap=True)
    for arm in arms:
        table.add_column(Text(printable(arm)), justify="right", no_wrap=True)
    rows = {arm: _by_heading(view) for arm, view in views.items()}
    every = [reasons for view in views.values() for reasons in view.reasons]
    has_floor = {reasons.title for reasons in every if reasons.has_floor}
    for heading in dict.fromkeys(name for by_heading in rows.values() for name in by_heading):
        if heading:
            table.add_row(Text(f"reasons by {printable(heading)}", style="dim"))
        of_all = [by_heading.get(heading, {}) for by_heading in rows.values()]
        for name in dict.fromkeys(name for by_name in of_all for name in by_name):
            cells = [rows[arm].get(heading, {}).get(name) for arm in arms]
            table.add_row(name, *("" if cell is None else cell.value for cell in cells))
            intervals = ["" if cell is None else cell.interval for cell in cells]
            if any(intervals):
                table.add_row("", *(Text(interval, style="dim") for interval in intervals))
            if heading in has_floor:
                floors = ["" if cell is None else _floor(cell) for cell in cells]
                table.add_row(*(Text(text, style="dim") for text in ("  drawn twice", *floors)))
    return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    """Whether nothing of a table need be cut off."""
    unbounded = options.update(width=NEVER_REACHED)
    return Measurement.get(console, unbounded, table).maximum <= options.max_width


def _by_heading(view: View) -> dict[str, dict[str, Row | ReasonRow]]:
    """Every figure by name: those of predictions first, then those of explanations by method."""
    found: dict[str, dict[str, Row | ReasonRow]] = {"": {row.name: row for row in view.rows}}
    for reasons in view.reasons:
        found[reasons.title] = {row.name: row for row in reasons.rows}
    return found


def _floor(cell: Row | ReasonRow) -> str:
    """What two draws of one run give, without its interval, for which there is no room."""
    return cell.bare_floor if isinstance(cell, ReasonRow) else ""
