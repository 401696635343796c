"""Several arms of a study side by side: one report per arm, one table for all."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias
from urllib.parse import quote

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seedproof.errors import UnknownNameError
from seedproof.messages import printable
from seedproof.metrics.card import card
from seedproof.predictions.checks import Check, by_severity, of_arms
from seedproof.report.checks import alerts, notes
from seedproof.report.explanations.view import ExplanationRow
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.files import result_folder, write_results
from seedproof.report.mappings import ByName
from seedproof.report.overview import Overview, PageOptions, Section, TextTable
from seedproof.report.report import Report
from seedproof.report.result import MetricsResult
from seedproof.report.text import MORE, CheckLines, Prose, bare_table
from seedproof.report.view import Row, View, can_show, unknown_column

# Version of `arms.json`.
FORMAT = 1
FIGURES = "Figures"
# No more key figures fit next to each other; the table has all arms.
MAX_KEYS = 4
DRAWN = ("flip_rate", "accuracy", "accuracy_sd", "label_entropy_corrected")
# By what the reports are of.
NO_VERDICT = {
    "arm": "Arms whose intervals overlap may still differ; seedproof compare tests for a "
    "difference.",
    "task": "Tasks have different examples, so they are not compared with each other.",
    "part": "Each part of the log is an arm on a task; seedproof compare with --task tests for a "
    "difference of arms.",
}
LEFT_OUT = "Left out: {}, which has one finished run."
# Wider than any terminal.
UNBOUNDED = 100_000
# Rows by heading, name of the metric, and arm.
Metrics: TypeAlias = dict[str, dict[str, dict[str, Row | ExplanationRow]]]


class SideBySide(MetricsResult, ByName[Report]):
    """The report of each arm, by its name; print it to see the metrics side by side.

    It gives no verdict: arms whose intervals overlap may still differ. Use `compare` to test that.

    Args:
        reports: A report for each arm.
        left_out: Arms with too few finished runs for a report.
        checks: Findings about the study as a whole.
        noun: What the reports are of: "arm", "task" of a log with one arm, or "part" of a log with
            several arms and tasks.

    >>> import seedproof as sp
    >>> runs = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
    >>> arms = sp.SideBySide({"none": sp.measure(runs), "ours": sp.measure(runs)})
    >>> arms
    <SideBySide of 2 arms: none, ours>
    >>> ours = arms["ours"]
    >>> print(ours["ambiguity"])
    25.0 %
    """

    _page_file = "arms.html"
    _json_file = "arms.json"
    _columns: ClassVar = {"arm": pa.string(), **Report._columns}  # noqa: SLF001 - a result, too

    def __init__(
        self,
        reports: Mapping[str, Report],
        left_out: Sequence[str] = (),
        checks: Sequence[Check] = (),
        noun: Literal["arm", "task", "part"] = "arm",
    ) -> None:
        self._reports = dict(reports)
        self._noun = noun
        self.left_out = tuple(left_out)
        self._checks = tuple(checks)

    @property
    def _entries(self) -> Mapping[str, Report]:
        return self._reports

    def _unknown(self, name: str) -> UnknownNameError:
        return UnknownNameError(
            "There is no {noun} {arm!r}. Known: {known}.",
            noun=self._noun,
            arm=name,
            known=tuple(self._reports),
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input, each with the name of its arm."""
        own = of_arms({arm: report.checks for arm, report in self.items()})
        return by_severity([*self._checks, *own])

    def summary(self) -> dict[str, Any]:
        """Return the summary of each arm, as plain data; checks of the study are in all of them."""
        of_study = [check.summary() for check in self._checks]
        summaries = {arm: report.summary() for arm, report in self.items()}
        return {
            "format": FORMAT,
            "arms": {
                arm: summary | {"checks": of_study + summary["checks"]}
                for arm, summary in summaries.items()
            },
        }

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        title: str | None = None,
        command: str | None = None,
        pairs: bool = False,
    ) -> None:
        """Write the page of all arms, and the report of each arm into a folder of its own.

        Args:
            folder: Where to write; it is created if needed.
            show: Further columns of your own to show with examples, such as a text; "tokens" for
                the words of explained examples. Arms without a column leave it out.
            title: Title of the pages, such as the name of the model.
            command: The command that made it; the pages show it next to the date.
            pairs: Whether to write `pairs.parquet` of each arm as well.

        Raises:
            ColumnError: No arm has a column that is to be shown.
        """
        self._check_columns(show)
        with result_folder(folder, own=Report._own_files) as place:  # noqa: SLF001 - a result, too
            for arm, report in self.items():
                known = can_show(report.measurement)
                shown = [column for column in show if column in known]
                of_arm = place / folder_name(arm)
                of_arm.make_folder()
                report._write(of_arm, PageOptions(shown, title, command), pairs=pairs)  # noqa: SLF001 - same
            write_results(place, self._texts(PageOptions((), title, command)))

    def _check_columns(self, show: Sequence[str]) -> None:
        """Raise for a column that no arm has."""
        known = [name for report in self.values() for name in can_show(report.measurement)]
        for name in show:
            if name not in known:
                notes = [note for report in self.values() for note in report.measurement.notes]
                raise unknown_column(name, list(dict.fromkeys(known)), list(dict.fromkeys(notes)))

    def _render(self, show: Sequence[str], *, all_metrics: bool = False) -> RenderableType:
        self._check_columns(show)  # examples are shown by the report of each arm
        views = {arm: report.view() for arm, report in self.items()}
        return _Arms(views, self.left_out, all_metrics, alerts(self.checks), notes(self.checks))

    def _records(self) -> list[dict[str, Any]]:
        return [{"arm": arm, **row} for arm, report in self.items() for row in report._records()]  # noqa: SLF001 - a result, too

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(
            _figure(name, self._reports, self._noun)
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
                    for name, cells in metrics.items()
                ),
                title=f"explanations by {heading}" if heading else "",
            )
            for heading, metrics in _by_heading(views).items()
        )
        return Overview(
            headline=f"{self._size} side by side",
            title=", ".join(self),
            sentences=tuple((arm, view.headline) for arm, view in views.items()),
            key_figures=tuple(
                replace(view.key_figures[0], title=f"{view.key_figures[0].title}, {arm}")
                for arm, view in list(views.items())[:MAX_KEYS]
            ),
            sections=(Section(FIGURES, f"Every metric of every {self._noun}", tables),),
            notes=(
                NO_VERDICT[self._noun],
                *map(LEFT_OUT.format, self.left_out),
                *notes(self.checks),
            ),
            checks=alerts(self.checks),
        )

    @property
    def _size(self) -> str:
        return f"{len(self):,} {self._noun}{'' if len(self) == 1 else 's'}"

    def _about(self) -> str:
        return f"of {self._size}: {', '.join(self)}"


@dataclass(frozen=True)
class _Arms:
    """The table of all arms, in as many parts as the width of the terminal needs."""

    views: Mapping[str, View]
    left_out: Sequence[str]
    all_metrics: bool
    checks: Sequence[Check]
    notes: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for arm, view in self.views.items():
            yield Text(f"{printable(arm)}: {view.title}", style="dim")
        yield Text("")
        yield CheckLines(self.checks)
        metrics = _by_heading(self.views, all_metrics=self.all_metrics)
        n_more = len(_by_heading(self.views)[""]) - len(metrics[""])
        rest = list(self.views)
        while rest:
            n_arms = len(rest)
            while n_arms > 1 and not _fits(self._table(metrics, rest[:n_arms]), console, options):
                n_arms -= 1
            yield self._table(metrics, rest[:n_arms])
            rest = rest[n_arms:]
            if rest:
                yield Text("")
        if n_more:
            yield Text(MORE.format(n_more), style="dim")
        for arm in self.left_out:
            yield Text(LEFT_OUT.format(printable(arm)), style="dim")
        for note in self.notes:
            yield Prose(f"Note: {note}", style="dim")

    def _table(self, metrics: Metrics, arms: Sequence[str]) -> Table:
        """Return the metrics of some arms, with the rows that any arm has."""
        table = bare_table()
        table.add_column("metric", style="bold", no_wrap=True)
        for arm in arms:
            table.add_column(Text(printable(arm)), justify="right", no_wrap=True)
        every = [explained for view in self.views.values() for explained in view.explanations]
        with_floor = {explained.title for explained in every if explained.has_floor}
        for heading, by_name in metrics.items():
            if heading:
                table.add_row(Text(f"explanations by {printable(heading)}", style="dim"))
            for name, by_arm in by_name.items():
                cells = [by_arm.get(arm) for arm in arms]
                table.add_row(name, *("" if cell is None else cell.value for cell in cells))
                ends = ["" if cell is None else cell.interval for cell in cells]
                if any(ends):
                    table.add_row("", *(Text(text, style="dim") for text in ends))
                # There is no room for the intervals of floors.
                if heading in with_floor:
                    floors = [getattr(cell, "bare_floor", "") for cell in cells]
                    table.add_row(
                        *(Text(text, style="dim") for text in ("  explained twice", *floors))
                    )
        return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    """Check that no column of a table is cut off."""
    unbounded = options.update(width=UNBOUNDED)
    return Measurement.get(console, unbounded, table).maximum <= options.max_width


def folder_name(arm: str) -> str:
    """Return the name of an arm's folder: its own, unless a file next to it may have that name."""
    name = quote(arm, safe=" +=,")  # leaves no percent sign, so that escapes are unambiguous
    if name.startswith(".") or name.endswith((".html", ".json", ".parquet")):
        name = name.replace(".", "%2E")
    return name or "(empty)"


def _by_heading(views: Mapping[str, View], *, all_metrics: bool = True) -> Metrics:
    """Return metrics by name and arm: those of predictions, then by method of explanation."""
    metrics: Metrics = {"": {}}
    for arm, view in views.items():
        for row in view.rows:
            if row.is_key or all_metrics:
                metrics[""].setdefault(row.name, {})[arm] = row
        for explained in view.explanations:
            for metric in explained.rows:
                metrics.setdefault(explained.title, {}).setdefault(metric.name, {})[arm] = metric
    return metrics


def _cell(cell: Row | ExplanationRow | None) -> str:
    return "–" if cell is None else f"{cell.value} {cell.interval}".strip()


def _figure(name: str, reports: Mapping[str, Report], noun: str) -> Figure:
    about = card(name)
    unit = {"percent": ", %", "points": ", points", "nats": ", nats"}.get(about.unit, "")
    return intervals(
        name,
        f"{about.title} of each {noun}",
        [Line(arm, report[name]) for arm, report in reports.items() if name in report],
        section=FIGURES,
        axis=f"{about.title.lower()}{unit}",
        unit=about.unit,
    )
