"""A measurement for a terminal: sentences, then tables. Plain text if there is no terminal."""

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.table import Table
from rich.text import Text

from seedproof.messages import printable
from seedproof.predictions.checks import Check
from seedproof.report.checks import finding
from seedproof.report.console import SafeConsole
from seedproof.report.explanations.heat import HeatMap
from seedproof.report.explanations.view import ExplanationTable
from seedproof.report.groups import GroupTable
from seedproof.report.numbers import NO_BREAK, number
from seedproof.report.view import ItemLine, NumberLine, Row, Unstable, View

PLAIN_WIDTH = 80
N_UNSTABLE = 5
N_GROUPS = 10
MAX_CELL = 20
# Width of the column of votes, and of the class names in it.
MAX_VOTES, MAX_CLASS = 36, 12
# Longer lines are hard to read, however wide the terminal.
MAX_LINE = 100
HEADER = ("metric", "value", "95 % interval", "over")
MORE = "{} more with --all"
DYNAMICS = "within one run, over its steps"
SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow"}


@dataclass(frozen=True)
class Prose:
    """Prose that keeps a value and its unit on one line, unlike the wrapping of rich."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, MAX_LINE)
        text = textwrap.fill(printable_text(self.text), width, break_on_hyphens=False)
        yield Text(text, style=self.style)


def printable_text(text: str) -> str:
    """Return text without control characters, with its no-break spaces."""
    # Python does not count a no-break space as printable.
    return NO_BREAK.join(printable(part) for part in text.split(NO_BREAK))


@dataclass(frozen=True)
class CheckLines:
    """Errors and warnings about the input, each followed by an empty line."""

    checks: Sequence[Check]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        texts = check_lines(self.checks, min(options.max_width, MAX_LINE))
        for check, lines in zip(self.checks, texts, strict=True):
            text = Text(f"{lines}\n")
            text.stylize(SEVERITY_STYLES[check.severity], 0, len(check.severity))
            yield text


def check_lines(checks: Sequence[Check], width: int, *, allowed: Collection[str] = ()) -> list[str]:
    """Return the lines of each check: severity, name and message, then the remedy."""
    indent = max((len(check.severity) for check in checks), default=0) + 2
    texts = []
    for check in checks:
        name = f"{check.name} (allowed)" if check.name in allowed else check.name
        message = f"{printable(name)}  {printable_text(finding(check))}"
        lines = wrapped(message, check.severity.ljust(indent), width)
        if check.remedy:
            lines += "\n" + wrapped(printable_text(check.remedy), " " * indent, width)
        texts.append(lines)
    return texts


def wrapped(text: str, start: str, width: int) -> str:
    """Return text in lines, of which the first has a start and the others its width as indent."""
    indent = " " * len(start)
    return textwrap.fill(
        text, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )


def render(view: View, *, all_metrics: bool = False) -> RenderableType:
    """Return what a terminal shows: the key metrics, or all of them."""
    parts: list[RenderableType] = [Text(view.title, style="dim"), Text(""), CheckLines(view.checks)]
    for sentence in view.sentences:
        parts += [Prose(sentence.text), Text("")]
    rows = [row for row in view.rows if row.is_key or all_metrics]
    parts.append(_metrics(HEADER, map(metric_cells, rows)))
    if len(rows) < len(view.rows):
        parts.append(Text(MORE.format(len(view.rows) - len(rows)), style="dim"))
    for table in view.groups:
        if table.is_requested or all_metrics:
            parts += [Text(""), *_groups(table)]
    for explained in view.explanations:
        parts += [Text(""), *_explanations(explained)]
    if view.dynamics is not None:
        cells = map(metric_cells, view.dynamics.rows)
        parts += [Text(""), _metrics([DYNAMICS, *HEADER[1:]], cells)]
        parts += [Prose(f"{view.dynamics.title}.", style="dim"), *_notes(view.dynamics.notes)]
    parts += _least_stable(view)
    if view.notes:
        parts += [Text(""), *_notes(view.notes)]
    return Group(*parts)


def _least_stable(view: View) -> list[RenderableType]:
    """Return the least stable examples, whatever their kind."""
    if view.unstable:
        return [Text(""), _unstable(view.unstable[:N_UNSTABLE], view.repeats)]
    if view.numbers:
        return [Text(""), _numbers(view.numbers[:N_UNSTABLE])]
    return [Text(""), _items(view.items[:N_UNSTABLE], view.repeats)] if view.items else []


def metric_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of one metric."""
    return row.name, row.value, row.interval, row.over


def explanation_cells(
    explained: ExplanationTable,
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and cells of one method; the last column is the explainer's own noise."""
    last = "same run, explained twice" if explained.has_floor else "over"
    rows = tuple(
        (row.name, row.value, row.interval, row.floor if explained.has_floor else row.over)
        for row in explained.rows
    )
    return (*HEADER[:3], last), rows


def _metrics(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = bare_table()
    styles = ("bold", "", "", "dim")
    for name, style in zip(header, styles, strict=True):
        table.add_column(
            name, style=style, justify="right" if name == "value" else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(*row)
    return table


def _groups(groups: GroupTable) -> list[RenderableType]:
    """Return classes or slices; their names are the user's, never markup."""
    table, rows = bare_table(), groups.rows[:N_GROUPS]
    title, *header = groups.header
    table.add_column(Text(printable(title)), overflow="ellipsis", no_wrap=True, max_width=MAX_CELL)
    for place, name in enumerate(header, start=1):
        width = max(len(text) for text in (name, *(row[place] for row in rows)))
        side: JustifyMethod = "right" if place == 1 else "left"
        table.add_column(name, justify=side, no_wrap=True, min_width=width)
    for name, *cells in rows:
        table.add_row(Text(printable(name)), *cells)
    return [table, *(Prose(str(note), style="dim") for note in groups.notes(N_GROUPS))]


def _notes(notes: Iterable[str]) -> list[RenderableType]:
    return [Prose(f"Note: {note}", style="dim") for note in notes]


def _explanations(explained: ExplanationTable) -> list[RenderableType]:
    """Return the metrics of one method, its noise, and the texts if they are shown."""
    (_, *header), rows = explanation_cells(explained)
    table = _metrics([f"explanations by {printable(explained.title)}", *header], rows)
    parts: list[RenderableType] = [table, Prose(explained.floor, style="dim")]
    parts += _notes(explained.notes)
    for heat_map in explained.heat_maps:
        parts += [Text(""), *_heat_map(heat_map)]
    return parts


def _heat_map(heat_map: HeatMap) -> list[RenderableType]:
    """Return the top words of each run; their weights are on the page only."""
    table = bare_table()
    table.expand = True
    for name in ("run", "answer"):
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=MAX_CELL)
    table.add_column("top words", overflow="ellipsis", no_wrap=True, ratio=1)
    for row in heat_map.rows:
        cells = (row.run, row.answer, ", ".join(row.top_words))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return [Prose(f"{heat_map.title} (example {heat_map.example}). {heat_map.caption}"), table]


def _unstable(examples: Sequence[Unstable], repeats: str) -> Table:
    """Return the least stable examples; ids, classes and texts are the user's, never markup."""
    n_runs = sum(count for _, count in examples[0].votes)
    columns = {
        "least stable example": [example.example for example in examples],
        f"answers of {n_runs} {repeats}": [_votes(example) for example in examples],
    }
    if any(example.label is not None for example in examples):
        columns["label"] = [example.label or "" for example in examples]
    table = bare_table()
    table.expand = bool(examples[0].shown)
    for (name, texts), most in zip(columns.items(), (MAX_CELL, MAX_VOTES, MAX_CELL), strict=False):
        # A fixed width, so that a long text next to them cannot squeeze these out.
        width = min(max(len(printable(text)) for text in (name, *texts)), most)
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=width, max_width=width)
    for name in examples[0].shown:
        table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, ratio=1)
    further = [[example.shown[name] for example in examples] for name in examples[0].shown]
    for cells in zip(*columns.values(), *further, strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _numbers(examples: Sequence[NumberLine]) -> Table:
    """Return the examples whose numbers differ most; ids and texts are the user's, never markup."""
    columns = {
        "least stable example": [example.example for example in examples],
        "mean": [number(example.mean, "value") for example in examples],
        "sd": [number(example.sd, "value") for example in examples],
        "numbers": [_listed(example.numbers) for example in examples],
    }
    targets = [example.target for example in examples]
    if any(target is not None for target in targets):
        columns["target"] = ["" if x is None else number(x, "value") for x in targets]
    columns |= {name: [x.shown[name] for x in examples] for name in examples[0].shown}
    table = bare_table()
    for name in columns:
        side: JustifyMethod = "right" if name in {"mean", "sd", "target"} else "left"
        width = MAX_VOTES if name == "numbers" else MAX_CELL
        table.add_column(
            Text(printable(name)), justify=side, overflow="ellipsis", no_wrap=True, max_width=width
        )
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _items(examples: Sequence[ItemLine], repeats: str) -> Table:
    """Return the examples whose items differ most; all texts are the user's, never markup."""
    what = "first items" if examples[0].is_ranked else "items"
    columns = {
        "least stable example": [example.example for example in examples],
        "distance": [f"{number(example.distance, 'percent')} %" for example in examples],
        f"{what} of {len(examples[0].items)} {repeats}": [_counted(x) for x in examples],
    }
    if any(example.right is not None for example in examples):
        columns["right"] = [", ".join(example.right or ()) for example in examples]
    columns |= {name: [x.shown[name] for x in examples] for name in examples[0].shown}
    table = bare_table()
    for place, name in enumerate(columns):
        table.add_column(
            Text(printable(name)),
            justify="right" if place == 1 else "left",
            overflow="ellipsis",
            no_wrap=True,
            min_width=len(name) if place < 2 else None,
            max_width=MAX_VOTES if place == 2 else MAX_CELL,
        )
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _counted(example: ItemLine) -> str:
    """Return the first items of lists, or all items of sets, with the number of their runs."""
    kept = [items[:1] if example.is_ranked else items for items in example.items]
    counts = Counter(item for items in kept for item in items)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{_short(printable(name))} ({count})" for name, count in ordered)


def _listed(numbers: Sequence[float]) -> str:
    """Return the numbers of all runs with few digits."""
    return " ".join(f"{value:.3g}" for value in numbers)


def _votes(example: Unstable) -> str:
    """Return the answers that runs give, such as "positive (6), negative (4)"."""
    return ", ".join(f"{_short(printable(name))} ({count})" for name, count in example.votes)


def _short(name: str) -> str:
    """Return a class name without its middle if it is long: names often differ at their ends."""
    return name if len(name) <= MAX_CLASS else f"{name[: MAX_CLASS - 6]}…{name[-5:]}"


def bare_table(gap: int = 2) -> Table:
    """Return a table without lines, its columns so many spaces apart."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")


def plain_text(renderable: RenderableType) -> str:
    """Return what a terminal shows, without colors, in lines of at most 80 characters."""
    output = StringIO()
    console = SafeConsole(file=output, width=PLAIN_WIDTH, color_system=None, force_terminal=False)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())
