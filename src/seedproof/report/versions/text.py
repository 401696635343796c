"""Two versions for a terminal: sentences, figures, groups, examples."""

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.messages import printable
from seedproof.report.numbers import number, sign, signless
from seedproof.report.text import MAX_CELL, PLAIN_WIDTH, Prose
from seedproof.report.versions import words
from seedproof.report.versions.words import N_LISTED, fitted
from seedproof.report.view import unknown_column

# Columns of the list of examples; a text of the user's own takes what they leave.
MAX_ID, MAX_VOTES, MAX_LABEL = 12, 22, 10
# Fewer letters of a class tell nobody which one it is.
MIN_NAME = 6
PERCENT, POINTS = sign("percent"), sign("points")
TITLES = {
    "flip_rate": "changed answers",
    "flip_rate_old": "two runs of the old version",
    "flip_rate_new": "two runs of the new version",
    "flip_rate_no_change": "no-change baseline",
    "flip_rate_beyond": "  beyond the seed",
    "negative_flip_rate": "right before, wrong now",
    "negative_flip_rate_beyond": "  beyond the seed",
    "positive_flip_rate": "wrong before, right now",
    "positive_flip_rate_beyond": "  beyond the seed",
    "directed_flip_rate_no_change": "no-change baseline of each",
    "accuracy_old": "accuracy of the old version",
    "accuracy_new": "accuracy of the new version",
    "accuracy_change": "change of accuracy",
}
DIFFERENCES = frozenset(
    {
        "flip_rate_beyond",
        "negative_flip_rate_beyond",
        "positive_flip_rate_beyond",
        "accuracy_change",
    }
)
GROUP_HEAD = ("examples", "changed", "no change", "beyond the seed", "r→w", "w→r")
# Their columns with words instead of numbers, and without right and wrong.
LEFT_ALIGNED, N_UNLABELED = 3, 4


def render(comparison: VersionComparison, *, show: Sequence[str] = ()) -> RenderableType:
    """Return what a terminal shows."""
    check_columns(comparison, show)
    parts: list[RenderableType] = [Text(str(words.title(comparison)), style="dim"), Text("")]
    for sentence in words.sentences(comparison):
        parts += [Prose(str(sentence)), Text("")]
    parts.append(_figures(comparison.whole))
    if len(comparison.by_class) > 1:
        parts += [Text(""), *_groups("gold class", comparison.by_class)]
    for column, slices in comparison.slices.items():
        parts += [Text(""), *_groups(column, slices)]
    if len(comparison.unexplained):
        parts += [Text(""), _examples(comparison, show)]
        left_out = words.left_out_examples(comparison)
        if left_out is not None:
            parts.append(Prose(str(left_out), style="dim"))
    notes = [str(note) for note in (*comparison.notes, *words.limits(comparison))]
    if notes:
        parts += [Text(""), *(Prose(f"Note: {note}", style="dim") for note in notes)]
    return Group(*parts)


def check_columns(comparison: VersionComparison, show: Sequence[str]) -> None:
    """Refuse columns of examples that were not carried along."""
    for name in show:
        if name not in comparison.extras():
            raise unknown_column(name, comparison.extras())


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _figures(part: GroupFigures) -> Table:
    table = _table()
    table.add_column("figure", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("over", style="dim", no_wrap=True)
    for name, title in TITLES.items():
        if name in part.figures:
            value = part.figures[name]
            unit = POINTS if name in DIFFERENCES else PERCENT
            table.add_row(
                title, signless(value.value) + unit, words.interval(value), value.over or ""
            )
    return table


def _groups(title: str, parts: Sequence[GroupFigures]) -> list[RenderableType]:
    """The groups that change beyond the seed, then those that change most; how to read them."""
    shown = words.ordered(parts)[:N_LISTED]
    rows = [GROUP_HEAD, *(_group_cells(part) for part in shown)]
    if not any(part.n_labeled for part in shown):
        rows = [cells[:N_UNLABELED] for cells in rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    # A long name gives way, never a figure.
    room = PLAIN_WIDTH - sum(widths) - 2 * len(widths)
    most = max(min(MAX_CELL, room), MIN_NAME)
    names = [fitted(name, most) for name in (title, *(part.name for part in shown))]
    wide = max(map(cell_len, names))
    lines: list[RenderableType] = []
    for name, cells in zip(names, rows, strict=True):
        padded = [
            cell.ljust(width) if index == LEFT_ALIGNED else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        line = "  ".join([name + " " * (wide - cell_len(name)), *padded]).rstrip()
        lines.append(Text(line, style="" if lines else "dim"))
    return [*lines, *(Prose(str(message), style="dim") for message in words.legend(parts))]


def _group_cells(part: GroupFigures) -> tuple[str, ...]:
    star = " *" if part.is_beyond else ""
    return (
        f"{part.n_examples:,}",
        _share(part, "flip_rate"),
        _share(part, "flip_rate_no_change"),
        f"{signless(part.beyond.value)} {words.interval(part.beyond)}".rstrip() + star,
        _share(part, "negative_flip_rate"),
        _share(part, "positive_flip_rate"),
    )


def _share(part: GroupFigures, name: str) -> str:
    found = part.figures.get(name)
    return "" if found is None else number(found.value, "percent") + PERCENT


def _examples(comparison: VersionComparison, show: Sequence[str]) -> Table:
    """The examples that the seed does not explain, the surest first."""
    rows = comparison.unexplained.slice(0, N_LISTED).to_pylist()
    names = comparison.classes
    columns = {
        "changed": [fitted(str(row["example"]), MAX_ID) for row in rows],
        "old": [_votes(row["old_predictions"], names) for row in rows],
        "new": [_votes(row["new_predictions"], names) for row in rows],
    }
    if any(row.get("label") is not None for row in rows):
        columns["label"] = [fitted(row["label"] or "", MAX_LABEL) for row in rows]
    table = _table()
    for name, texts in columns.items():
        longest = max(cell_len(text) for text in (name, *texts))
        table.add_column(name, no_wrap=True, min_width=longest, max_width=longest)
    table.expand = bool(show)
    for name in show:
        table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, ratio=1)
    further = [["" if row[name] is None else str(row[name]) for row in rows] for name in show]
    for cells in zip(*columns.values(), *further, strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> str:
    """How many runs say what, such as "cat (4), dog (1)"; long names give way, never the counts."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    for n_named in range(len(counts), 0, -1):
        rest = sum(count for _, count in counts[n_named:])
        others = [f"others ({rest})"] if rest else []
        for length in range(MAX_VOTES, MIN_NAME - 1, -1):
            named = [f"{fitted(classes[one], length)} ({n})" for one, n in counts[:n_named]]
            text = ", ".join([*named, *others])
            if cell_len(text) <= MAX_VOTES:
                return text
    return text
