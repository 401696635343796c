"""Two versions for a terminal, as the data of a page, and as charts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.measurement.texts import answer_names
from seedproof.messages import Message, printable
from seedproof.report import checks
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.numbers import WithUnit, in_brackets, sign, signless
from seedproof.report.overview import Overview, Section, TextTable, key_figure
from seedproof.report.text import MAX_CELL, PLAIN_WIDTH, CheckLines, Prose, bare_table
from seedproof.report.versions import sentences
from seedproof.report.versions.sentences import N_LISTED, fitted
from seedproof.report.view import KeyFigure, unknown_column

CHANGES, DIRECTIONS, CLASSES, EXAMPLES = "Changes", "Right and wrong", "Classes", "Examples"
# Rows of a page, and of a chart.
N_ON_PAGE, N_DRAWN = 50, 20
# Widths in the list of examples; columns of the user take the rest of the line.
MAX_ID, MAX_VOTES, MAX_LABEL = 12, 22, 10
# A class cannot be recognized by fewer letters.
MIN_NAME = 6
TITLES = {
    "flip_rate": "changed answers",
    "flip_rate_old": "two {unit}s of the old version",
    "flip_rate_new": "two {unit}s of the new version",
    "flip_rate_no_change": "expected from noise",
    "flip_rate_beyond": "  beyond noise",
    "negative_flip_rate": "right before, wrong now",
    "negative_flip_rate_beyond": "  beyond noise",
    "positive_flip_rate": "wrong before, right now",
    "positive_flip_rate_beyond": "  beyond noise",
    "directed_flip_rate_no_change": "expected from noise, each",
    "accuracy_old": "accuracy of the old version",
    "accuracy_new": "accuracy of the new version",
    "accuracy_change": "change in accuracy",
}
DIFFERENCES = frozenset(
    name for name in TITLES if name.endswith("_beyond") or name == "accuracy_change"
)
KEYS = {
    "flip_rate": ("Changed answers", "of the answers differ between an old and a new {unit}."),
    "flip_rate_no_change": (
        "Expected from noise",
        "of them differ between two {unit}s of the same version.",
    ),
    "flip_rate_beyond": ("Beyond noise", "more than between two {unit}s of the same version."),
    "accuracy_change": ("Change in accuracy", "from the old version to the new one."),
}
FIGURES_HEAD = ("figure", "value", "interval", "over")
GROUP_HEAD = ("examples", "changed", "noise", "beyond noise", "r→w", "w→r")
PAGE_GROUP_HEAD = (
    *("examples", "changed", "expected from noise", "beyond noise, points"),
    *("right → wrong", "wrong → right"),
)
# The column with text, and the number of columns without right and wrong.
LEFT_ALIGNED, N_UNLABELED = 3, 4
# Topics of the page, by the start of the code of a sentence.
TOPICS = {
    "steadi": "Stability",
    "new-version": "Stability",
    "direct": DIRECTIONS,
    "accuracy": "Accuracy",
    "change": CHANGES,
}
BEYOND_MARKS: dict[Mark, str] = {
    "bad": "more than noise",
    "open": "not shown to be more",
}
PAIRED = Message(
    "paired-change",
    "Both cover the same examples: the interval of the change decides whether a change is shown, "
    "not the overlap of these two.",
)
TOGETHER = Message(
    "intervals-together", "Intervals hold simultaneously for all rows; 0 is run-to-run noise alone."
)


def check_columns(comparison: VersionComparison, show: Sequence[str]) -> None:
    """Raise an error for a column that cannot be shown."""
    for name in show:
        if name not in comparison.extras():
            known = comparison.extras()
            raise unknown_column(name, known, has_answers=comparison.has_texts)


def _figure_rows(comparison: VersionComparison) -> Iterator[tuple[str, ...]]:
    """Yield name, title, value, interval and `over` of each figure."""
    for name, title in TITLES.items():
        value = comparison.whole.figures.get(name)
        if value is not None:
            unit = sign("points" if name in DIFFERENCES else "percent")
            yield (
                name,
                title.format(unit=sentences.unit_of(comparison)),
                signless(value.value) + unit,
                in_brackets(value, signless).strip(),
                value.over or "",
            )


def _group_rows(
    parts: Sequence[GroupFigures], head: Sequence[str], *, missing: str
) -> list[tuple[str, ...]]:
    """Return a head and a row per group; without labels right and wrong are left out."""

    def share(part: GroupFigures, name: str) -> str:
        value = part.figures.get(name)
        return missing if value is None else str(WithUnit(value.value, "percent"))

    rows = [tuple(head)]
    rows += [
        (
            f"{part.n_examples:,}",
            share(part, "flip_rate"),
            share(part, "flip_rate_no_change"),
            signless(part.beyond.value)
            + in_brackets(part.beyond, signless)
            + (" *" if part.is_beyond else ""),
            share(part, "negative_flip_rate"),
            share(part, "positive_flip_rate"),
        )
        for part in parts
    ]
    return rows if any(part.n_labeled for part in parts) else [row[:N_UNLABELED] for row in rows]


def _example_columns(
    comparison: VersionComparison, n_listed: int, show: Sequence[str], *, is_short: bool
) -> list[tuple[str, list[str]]]:
    """Return the examples whose change is more than noise, smallest p-values first."""
    rows = comparison.unexplained.slice(0, n_listed).to_pylist()

    def fit(text: str, width: int) -> str:
        return fitted(text, width) if is_short else text

    columns = [("changed example", [fit(str(row["example"]), MAX_ID) for row in rows])]
    for side in ("old", "new"):
        votes = [
            _votes(row[f"{side}_predictions"], _names(comparison, row), is_short=is_short)
            for row in rows
        ]
        columns.append((f"{side} {sentences.unit_of(comparison)}s", votes))
    if any(row.get("label") is not None for row in rows):
        columns.append(("label", [fit(row["label"] or "", MAX_LABEL) for row in rows]))
    further = [
        (name, ["" if row[name] is None else str(row[name]) for row in rows]) for name in show
    ]
    return columns + further


def _names(comparison: VersionComparison, row: Mapping[str, Any]) -> Mapping[int, str]:
    """Return the names of the answers to an example: classes, or letters for texts."""
    if comparison.has_texts:
        return answer_names([*row["old_predictions"], *row["new_predictions"]])
    return dict(enumerate(comparison.classes))


def _votes(predictions: Sequence[int], classes: Mapping[int, str], *, is_short: bool) -> str:
    """Return votes such as "cat (4), dog (1)"; long names are cut, never the counts."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    if not is_short:
        return ", ".join(f"{classes[index]} ({n})" for index, n in counts)
    for n_named in range(len(counts), 0, -1):
        rest = sum(count for _, count in counts[n_named:])
        others = [f"others ({rest})"] if rest else []
        for length in range(MAX_VOTES, MIN_NAME - 1, -1):
            named = [f"{fitted(classes[index], length)} ({n})" for index, n in counts[:n_named]]
            text = ", ".join([*named, *others])
            if cell_len(text) <= MAX_VOTES:
                return text
    return text


def render(comparison: VersionComparison, *, show: Sequence[str] = ()) -> RenderableType:
    """Return the text for a terminal."""
    parts: list[RenderableType] = [Text(str(sentences.title(comparison)), style="dim"), Text("")]
    parts += [Prose(f"{sentences.headline(comparison)}.", style="bold"), Text("")]
    parts.append(CheckLines(checks.alerts(comparison.checks)))
    for sentence in sentences.sentences(comparison):
        parts += [Prose(str(sentence)), Text("")]
    table = bare_table()
    for name, style in zip(FIGURES_HEAD, ("bold", "", "", "dim"), strict=True):
        side: JustifyMethod = "right" if name == "value" else "left"
        table.add_column(name, style=style, justify=side, no_wrap=True)
    for _, *cells in _figure_rows(comparison):
        table.add_row(*cells)
    parts += [table, Prose(_on_intervals(comparison), style="dim")]
    if len(comparison.by_class) > 1:
        parts += [Text(""), *_group_lines(comparison, "label", comparison.by_class)]
    for column, slices in comparison.slices.items():
        parts += [Text(""), *_group_lines(comparison, column, slices)]
    if len(comparison.unexplained):
        parts += [Text(""), _examples(comparison, show)]
        left_out = sentences.left_out_examples(comparison)
        if left_out is not None:
            parts.append(Prose(str(left_out), style="dim"))
    notes = _notes(comparison)
    if notes:
        parts += [Text(""), *(Prose(f"Note: {note}", style="dim") for note in notes)]
    return Group(*parts)


def _on_intervals(comparison: VersionComparison) -> str:
    return str(sentences.on_intervals(comparison, TITLES["accuracy_change"], distance="flips"))


def _group_lines(
    comparison: VersionComparison, title: str, parts: Sequence[GroupFigures]
) -> list[RenderableType]:
    """Return the table of groups in lines, and how to read it."""
    shown = sentences.ordered(parts)[:N_LISTED]
    rows = _group_rows(shown, GROUP_HEAD, missing="")
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    # A long name is cut, never a figure.
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
    legend = sentences.legend(comparison, parts)
    return [*lines, *(Prose(str(message), style="dim") for message in legend)]


def _examples(comparison: VersionComparison, show: Sequence[str]) -> Table:
    columns = _example_columns(comparison, N_LISTED, show, is_short=True)
    table = bare_table()
    table.expand = bool(show)
    for name, texts in columns[: len(columns) - len(show)]:
        longest = max(cell_len(text) for text in (name, *texts))
        table.add_column(name, no_wrap=True, min_width=longest, max_width=longest)
    for name in show:
        table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, ratio=1)
    for cells in zip(*(texts for _, texts in columns), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def build_overview(comparison: VersionComparison, *, show: Sequence[str] = ()) -> Overview:
    """Return sentences, key figures, and a section per topic."""
    between, within = (
        WithUnit(comparison[name].value, "percent") for name in ("flip_rate", "flip_rate_no_change")
    )
    finding = f"{between} of the answers differ between versions, {within} within one version"
    sections = [Section(CHANGES, finding, (_figure_table(comparison, is_flip=True),))]
    if "accuracy_change" in comparison.whole.figures:
        table = _figure_table(comparison, is_flip=False)
        sections.append(Section(DIRECTIONS, "What became right, what became wrong", (table,)))
    if len(comparison.by_class) > 1:
        titles = (CLASSES, "label", "classes")
        sections.append(_group_section(comparison, titles, comparison.by_class))
    for column, parts in comparison.slices.items():
        titles = (f"By {column}", column, f"values of {column}")
        sections.append(_group_section(comparison, titles, parts))
    if len(comparison.unexplained):
        finding = "Examples that change by more than run-to-run noise"
        sections.append(Section(EXAMPLES, finding, (_example_table(comparison, show),)))
    return Overview(
        headline=str(sentences.headline(comparison)),
        title=str(sentences.title(comparison)),
        sentences=tuple(
            (_topic(message.code), str(message)) for message in sentences.sentences(comparison)
        ),
        key_figures=tuple(_key_figures(comparison)),
        sections=tuple(sections),
        notes=_notes(comparison),
        checks=checks.alerts(comparison.checks),
    )


def _notes(comparison: VersionComparison) -> tuple[str, ...]:
    further = (*comparison.notes, *sentences.limits(comparison))
    return (*checks.notes(comparison.checks), *map(str, further))


def _topic(code: str) -> str:
    return next((topic for start, topic in TOPICS.items() if code.startswith(start)), EXAMPLES)


def _key_figures(comparison: VersionComparison) -> Iterator[KeyFigure]:
    for name, (title, text) in KEYS.items():
        value = comparison.whole.figures.get(name)
        if value is not None:
            unit = sentences.unit_of(comparison)
            meaning = Message(f"key-{name.replace('_', '-')}", text, unit=unit)
            yield key_figure(name, title, value, meaning, is_difference=name in DIFFERENCES)


def _figure_table(comparison: VersionComparison, *, is_flip: bool) -> TextTable:
    rows = tuple(
        (title.strip(), *cells)
        for name, title, *cells in _figure_rows(comparison)
        if name.startswith("flip_rate") == is_flip
    )
    return TextTable(FIGURES_HEAD, rows, notes=(_on_intervals(comparison),))


def _group_section(
    comparison: VersionComparison, titles: tuple[str, str, str], parts: Sequence[GroupFigures]
) -> Section:
    """Return the table of groups; `titles` are its topic, its first column, and the groups."""
    topic, title, what = titles
    unit = sentences.unit_of(comparison)
    n_beyond = sum(part.is_beyond for part in parts)
    finding = f"No change beyond {unit}-to-{unit} noise is shown for individual {what}"
    if comparison.error is not None:
        finding = f"Individual {what} are not judged"
    elif not comparison.is_judged or not all(
        sentences.has_runs(comparison, part.beyond) for part in parts
    ):
        finding = f"Too few {unit}s to judge individual {what}"
    elif n_beyond:
        finding = f"{n_beyond:,} of {len(parts):,} {what} change beyond {unit}-to-{unit} noise"
    shown = sentences.ordered(parts)[:N_ON_PAGE]
    head, *rows = _group_rows(shown, PAGE_GROUP_HEAD, missing="–")
    cells = tuple((part.name, *row) for part, row in zip(shown, rows, strict=True))
    legend = sentences.legend(comparison, parts, n_listed=N_ON_PAGE)
    notes = tuple(str(note) for note in legend if note.code != "right-and-wrong")
    return Section(topic, finding, (TextTable((title, *head), cells, notes=notes),))


def _example_table(comparison: VersionComparison, show: Sequence[str]) -> TextTable:
    columns = _example_columns(comparison, N_ON_PAGE, show, is_short=False)
    names, texts = zip(*columns, strict=True)
    left_out = sentences.left_out_examples(comparison, n_listed=N_ON_PAGE)
    notes = () if left_out is None else (str(left_out),)
    return TextTable(names, tuple(zip(*texts, strict=True)), notes=notes)


def build_figures(comparison: VersionComparison) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    unit = sentences.unit_of(comparison)
    names = {"flip_rate_old": f"two old {unit}s", "flip_rate_new": f"two new {unit}s"}
    known = comparison.whole.figures
    lines = [Line(text, known[name]) for name, text in names.items() if name in known]
    lines.append(
        Line(f"old and new {unit}", known["flip_rate"], "bad" if comparison.is_beyond else "open")
    )
    flips = intervals(
        "flip_rates",
        f"Share of the answers on which two {unit}s disagree",
        lines,
        section=CHANGES,
        axis="answers that differ, %",
        unit="percent",
        marks={"base": f"{unit}s of one version", **BEYOND_MARKS},
    )
    figures = [flips]
    if "accuracy_change" in known:
        figures += _right_and_wrong(comparison)
    figures += _beyond("beyond_by_class", "label", comparison.by_class, CLASSES)
    for index, (column, parts) in enumerate(comparison.slices.items()):
        figures += _beyond(f"beyond_by_slice_{index}", column, parts, f"By {column}")
    return tuple(figures)


def _right_and_wrong(comparison: VersionComparison) -> Iterator[Figure]:
    lines = [Line("expected from noise", comparison["directed_flip_rate_no_change"])]
    for direction, name in (("negative", "right → wrong"), ("positive", "wrong → right")):
        beyond = comparison[f"{direction}_flip_rate_beyond"]
        has_runs = sentences.has_runs(comparison, beyond)
        is_above = has_runs and beyond.low is not None and beyond.low > 0.0
        is_shown = is_above and comparison.is_judged
        rate = comparison[f"{direction}_flip_rate"]
        lines.append(Line(name, rate, "bad" if is_shown else "open"))
    yield intervals(
        "directions",
        "Answers that became wrong, and answers that became right",
        lines,
        section=DIRECTIONS,
        axis="answers, %",
        unit="percent",
        marks={"base": "either direction, noise alone", **BEYOND_MARKS},
    )
    yield intervals(
        "accuracy",
        "Accuracy of both versions",
        [Line(side, comparison[f"accuracy_{side}"]) for side in ("old", "new")],
        section=DIRECTIONS,
        axis="accuracy, %",
        unit="percent",
        reading=[PAIRED],
    )


def _beyond(name: str, what: str, parts: Sequence[GroupFigures], section: str) -> Iterator[Figure]:
    """Yield the chart of classes or slices; none if there is only one."""
    if len(parts) < 2:
        return
    shown = sentences.ordered(parts)[:N_DRAWN]
    yield intervals(
        name,
        f"Answers that change beyond run-to-run noise, by {what}",
        [Line(part.name, part.beyond, "bad" if part.is_beyond else "open") for part in shown],
        section=section,
        axis="beyond noise, points",
        unit="points",
        marks=BEYOND_MARKS,
        reference=0.0,
        reading=[TOGETHER],
    )
