"""The view for a terminal: sentences, then the table. Plain text where there is no terminal."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from seedproof.messages import printable
from seedproof.report.explanations.heat import HeatMap
from seedproof.report.explanations.view import Reasons
from seedproof.report.numbers import NO_BREAK
from seedproof.report.view import DynamicsView, Row, View

PLAIN_WIDTH = 80
N_UNSTABLE = 5
MAX_CELL = 20
# Longer lines are hard to read, however wide the terminal.
MAX_LINE = 100


@dataclass(frozen=True)
class Prose:
    """Prose that keeps a value and its unit on one line, which rich's own wrapping does not."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, MAX_LINE)
        # A no-break space is not printable for Python, but for people.
        text = NO_BREAK.join(printable(part) for part in self.text.split(NO_BREAK))
        yield Text(textwrap.fill(text, width, break_on_hyphens=False), style=self.style)


def render(view: View) -> RenderableType:
    """What a terminal shows."""
    parts: list[RenderableType] = [Text(view.title, style="dim"), Text("")]
    for sentence in view.sentences:
        parts += [Prose(sentence.text), Text("")]
    parts.append(_figures("metric", view.rows))
    for reasons in view.reasons:
        parts += [Text(""), *reasons_parts(reasons)]
    if view.dynamics is not None:
        parts += [Text(""), *_dynamics_parts(view.dynamics)]
    if view.unstable:
        parts += [Text(""), _examples(view)]
    if view.notes:
        parts += [Text(""), *(Prose(f"Note: {note}", style="dim") for note in view.notes)]
    return Group(*parts)


def _figures(name: str, rows: Sequence[Row]) -> Table:
    table = bare_table()
    table.add_column(name, style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("over", style="dim", no_wrap=True)
    for row in rows:
        table.add_row(row.name, row.value, row.interval, row.over)
    return table


def _dynamics_parts(dynamics: DynamicsView) -> list[RenderableType]:
    """Figures of traced runs, and what was traced."""
    table = _figures("one run over its steps", dynamics.rows)
    notes = [Prose(f"Note: {note}", style="dim") for note in dynamics.notes]
    return [table, Prose(f"{dynamics.title}.", style="dim"), *notes]


def reasons_parts(reasons: Reasons) -> list[RenderableType]:
    """Figures of one method, what is known of its noise, and the texts if they are shown."""
    table = bare_table()
    table.add_column(f"reasons by {printable(reasons.title)}", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("drawn twice" if reasons.has_floor else "over", style="dim", no_wrap=True)
    for row in reasons.rows:
        last = row.floor if reasons.has_floor else row.over
        table.add_row(row.name, row.value, row.interval, last)
    parts: list[RenderableType] = [table, Prose(reasons.floor, style="dim")]
    parts += [Prose(f"Note: {note}", style="dim") for note in reasons.notes]
    for one in reasons.heat_maps:
        parts += [Text(""), *_heat_map(one)]
    return parts


def _heat_map(one: HeatMap) -> list[RenderableType]:
    """The top words of each run; how much weight they have needs a page."""
    table = bare_table()
    table.expand = True
    for name, most in (("run", MAX_CELL), ("answer", MAX_CELL)):
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=most)
    table.add_column("top words", overflow="ellipsis", no_wrap=True, ratio=1)
    for row in one.rows:
        cells = (row.run, row.answer, ", ".join(row.top_words))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return [Prose(f"{one.title} ({one.example}). {one.caption}"), table]


def _examples(view: View) -> Table:
    """The least stable examples; ids and texts are a user's words, so they are never markup."""
    examples = view.unstable[:N_UNSTABLE]
    n_runs = sum(count for _, count in examples[0].votes)
    columns = {
        "least stable": [example.example for example in examples],
        "most runs say": ["(a tie)" if one.is_tie else one.consensus for one in examples],
        "runs": [f"{example.votes[0][1]} of {n_runs}" for example in examples],
    }
    if any(example.label is not None for example in examples):
        columns["label"] = [example.label or "" for example in examples]
    table = bare_table()
    table.expand = bool(examples[0].shown)
    for name, texts in columns.items():
        # A long text beside them must not squeeze these out.
        longest = max(len(printable(text)) for text in (name, *texts))
        least = min(longest, MAX_CELL)
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=least, max_width=least)
    for name in examples[0].shown:
        table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, ratio=1)
    further = [[example.shown[name] for example in examples] for name in examples[0].shown]
    for cells in zip(*columns.values(), *further, strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def bare_table(gap: int = 2) -> Table:
    """Return a table without lines, its columns so many spaces apart."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")


def as_text(view: View) -> str:
    """The same without colors, 80 columns wide."""
    return plain_text(render(view))


def plain_text(renderable: RenderableType) -> str:
    """What a terminal shows, without colors, in lines of 80 signs at most."""
    output = StringIO()
    console = Console(file=output, width=PLAIN_WIDTH, color_system=None, force_terminal=False)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())
