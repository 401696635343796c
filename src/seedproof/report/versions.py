"""Two versions for a terminal: sentences with their conditions, figures, groups, examples."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import Part, VersionComparison
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.measurement.intervals import TAIL, Estimate
from seedproof.report.comparison.text import shortened
from seedproof.report.files import remove_with, save_files
from seedproof.report.numbers import MINUS, NO_BREAK, bracketed, number, sign
from seedproof.report.printable import printable
from seedproof.report.text import MAX_CELL, PLAIN_WIDTH, Prose, plain_text

N_LISTED = 10
MAX_NAMED = 3
IN_FILE = "all are in versions.json (--out)"
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
DIFFERENCES = frozenset({"  beyond the seed", "change of accuracy"})


class VersionReport:
    """What comparing two versions found: `print` it, ask it for a figure, save it.

    Args:
        comparison: The figures.
        scratch: A temporary folder to be removed together with the report.
    """

    def __init__(self, comparison: VersionComparison, scratch: Path | None = None) -> None:
        self.comparison = comparison
        remove_with(self, scratch)

    def __getitem__(self, name: str) -> Estimate:
        figures = self.comparison.whole.figures
        if name not in figures:
            raise UnknownNameError(f"There is no figure {name!r} here. Known: {', '.join(figures)}")
        return figures[name]

    def summary(self) -> dict[str, Any]:
        """Everything but the table of all examples, as plain data: what `versions.json` holds."""
        return self.comparison.summary()

    def to_json(self) -> str:
        """The summary as JSON text."""
        return self.comparison.to_json()

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        command: str | None = None,
    ) -> None:
        """Write `versions.json`, `versions.txt` and `examples.parquet` into a folder.

        Args:
            folder: Where to; it is made if need be.
            show: Further columns of your own to show with examples, such as a text.
            command: The command that made it, for the last line of the text.
        """
        made = "" if command is None else f"\n\nMade by: {command}"
        files = {
            "versions.json": self.to_json(),
            "versions.txt": f"{self.text(show=show)}{made}\n",
        }
        save_files(folder, files, examples=self.comparison.examples_file)

    def show(self, *, show: Sequence[str] = ()) -> None:
        """Print it to the terminal, with colors where it has them."""
        Console().print(render(self.comparison, show=show))

    def text(self, *, show: Sequence[str] = ()) -> str:
        """The same without colors, 80 columns wide."""
        return plain_text(render(self.comparison, show=show))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        old, new = len(self.comparison.old_runs), len(self.comparison.new_runs)
        return f"<VersionReport of {old} old and {new} new runs: flip_rate {self['flip_rate']}>"


def render(comparison: VersionComparison, *, show: Sequence[str] = ()) -> RenderableType:
    """What a terminal shows.

    Args:
        comparison: What was found.
        show: Further columns of the user's own to show with examples, such as a text.

    Returns:
        Sentences, then tables.

    Raises:
        ColumnError: A column that is to be shown was not carried along.
    """
    for name in show:
        if name not in comparison.extras():
            known = ", ".join(map(repr, comparison.extras())) or "none"
            raise ColumnError(
                f"There is no further column {name!r} to show. Carried along: {known}."
            )
    parts: list[RenderableType] = [Text(_title(comparison), style="dim"), Text("")]
    for sentence in sentences(comparison):
        parts += [Prose(sentence), Text("")]
    parts.append(_figures(comparison.whole))
    if len(comparison.by_class) > 1:
        parts += [Text(""), *_groups("gold class", comparison.by_class)]
    for column, found in comparison.slices.items():
        parts += [Text(""), *_groups(column, found)]
    if len(comparison.unexplained):
        parts += [Text(""), _examples(comparison, show), *_left_out_examples(comparison)]
    notes = [*comparison.notes, *limits(comparison)]
    if notes:
        parts += [Text(""), *(Prose(f"Note: {note}", style="dim") for note in notes)]
    return Group(*parts)


def _title(comparison: VersionComparison) -> str:
    old, new = len(comparison.old_runs), len(comparison.new_runs)
    return (
        f"{_runs(old, 'old')} · {_runs(new, 'new')} · {comparison.n_examples:,} examples · "
        f"{len(comparison.classes):,} classes"
    )


def _runs(n_runs: int, kind: str) -> str:
    return f"{n_runs:,} {kind} run{'' if n_runs == 1 else 's'}"


def sentences(comparison: VersionComparison) -> tuple[str, ...]:
    """What a person wants to know first; the weaker words where the figures allow no more."""
    found = [_changed(comparison)]
    if "accuracy_change" in comparison.whole.figures:
        found += [_directions(comparison), _accuracy(comparison)]
    return (*found, _single_examples(comparison))


def _changed(comparison: VersionComparison) -> str:
    flips, baseline = comparison["flip_rate"], comparison["flip_rate_no_change"]
    which = {"both": "one version", "old": "the old one", "new": "the new one"}
    start = (
        f"The new version changes {bracketed(flips, 'percent')} of the answers; two retrains of "
        f"{which[comparison.baseline_from]} already change {bracketed(baseline, 'percent')}"
    )
    beyond = comparison["flip_rate_beyond"]
    if comparison.whole.is_beyond:
        return f"{start}; {_points(beyond)} are beyond the seed{_p_value(comparison)}."
    if comparison.is_beyond:
        return (
            f"{start}. That is more than another seed would{_p_value(comparison)}, but how much is "
            f"not known: {_points(beyond)}."
        )
    if beyond.over == "examples":
        return f"{start}; so few runs cannot tell whether that is more than another seed would."
    return (
        f"{start}. That is not shown to be more than another seed would change "
        f"({_points(beyond)}{_p_value(comparison, start=', ', end='')}){_but_shown(comparison)}."
    )


def _but_shown(comparison: VersionComparison) -> str:
    """The classes and slices that change beyond the seed where the whole is not shown to."""
    kinds = {"class ": comparison.by_class}
    kinds |= {f"{column} = ": parts for column, parts in comparison.slices.items()}
    found = [
        kind + _fitted(part.name, MAX_CELL)
        for kind, parts in kinds.items()
        for part in _ordered(parts)
        if part.is_beyond
    ]
    if not found:
        return ""
    more = len(found) - MAX_NAMED
    named = [*found[:MAX_NAMED], f"{more:,} more"] if more > 0 else found
    return f", but shown for {' and '.join(filter(None, (', '.join(named[:-1]), named[-1])))}"


def _p_value(comparison: VersionComparison, start: str = " (", end: str = ")") -> str:
    """What the exact test over runs says; nothing where these runs could not have a small one."""
    if comparison.exchange.least > 2 * TAIL:
        return ""
    p_value = comparison.exchange.p_value
    said = "p < .001" if p_value < 0.001 else f"p = {p_value:.3f}".replace("0.", ".", 1)
    return f"{start}{said.replace(' ', NO_BREAK)}{end}"


def _directions(comparison: VersionComparison) -> str:
    usual = bracketed(comparison["directed_flip_rate_no_change"], "percent")
    said = []
    for name, words in (
        ("negative", "of the answers were right and are wrong now"),
        ("positive", "were wrong and are right now"),
    ):
        rate, beyond = comparison[f"{name}_flip_rate"], comparison[f"{name}_flip_rate_beyond"]
        said.append(f"{bracketed(rate, 'percent')} {words}{_than_the_seed(beyond)}")
    return f"{said[0]}; {said[1]}. Another seed alone gives {usual} of each."


def _than_the_seed(beyond: Estimate) -> str:
    if beyond.over == "examples":
        return ""
    words = {1: "more than the seed explains", -1: "fewer than another seed would give"}
    return f", {words.get(_side(beyond), 'not shown to be more than another seed would give')}"


def _accuracy(comparison: VersionComparison) -> str:
    old, new = (
        number(comparison[f"accuracy_{v}"].value, "percent") + PERCENT for v in ("old", "new")
    )
    change = comparison["accuracy_change"]
    if change.over == "examples":
        return f"Accuracy goes from {old} to {new}; so few runs cannot tell luck from progress."
    if not _side(change):
        return f"Accuracy goes from {old} to {new}: no change is shown, {_points(change)}."
    word = "better" if change.value > 0 else "worse"
    return f"Accuracy goes from {old} to {new}: {word}, {_points(change)}."


def _side(value: Estimate) -> int:
    """Whether an interval is above 0, below it, or neither."""
    if value.low is None or value.high is None or value.over == "examples":
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def _points(value: Estimate) -> str:
    """A difference of shares, such as "0.7 points [−0.1, 1.5]"."""
    text = f"{_signless(value.value)} points".replace(" ", NO_BREAK)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{_signless(value.low)}, {_signless(value.high)}]"


def _signless(value: float) -> str:
    """A share in percent; what rounds to 0 has no sign."""
    text = number(value, "percent")
    return "0.0" if text == f"{MINUS}0.0" else text


def _single_examples(comparison: VersionComparison) -> str:
    found = comparison.discoveries
    rate = f"false discovery rate {100 * found.rate:.0f}{PERCENT}"
    if found.n_found:
        are = "1 example" if found.n_found == 1 else f"{found.n_found:,} examples"
        return (
            f"On {are} the seed does not explain the change ({rate}; {found.n_tested:,} were "
            "contested enough to be tested)."
        )
    if not found.n_tested:
        return (
            "No single example can be named: no example's votes are contested enough to be tested "
            f"with {_runs(len(comparison.old_runs), 'old')} and "
            f"{_runs(len(comparison.new_runs), 'new')}."
        )
    if found.n_needed == 1:
        return f"On no single example is the change shown to be more than the seed's ({rate})."
    more = ""
    if found.runs_needed is not None:
        more = f"; with {found.runs_needed} runs of each version one would be enough"
    return (
        f"No single example can be named ({rate}): of {found.n_tested:,} that were contested "
        f"enough to be tested, {found.n_needed:,} would have to change in every run{more}."
    )


def limits(comparison: VersionComparison) -> tuple[str, ...]:
    """What these runs cannot tell."""
    n_runs = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    found = []
    for version, other in (("old", "new"), ("new", "old")):
        if n_runs[version] == 1:
            found.append(
                f"The {version} version has one run: what another seed changes is taken from the "
                f"{other} one, and holds if both are equally steady."
            )
        if n_runs[version] == 2:
            found.append(
                f"With two runs of the {version} version intervals are over examples only: other "
                "runs may differ more."
            )
    if comparison.exchange.least > 2 * TAIL and 1 not in n_runs.values():
        found.append("So few runs cannot give a small p-value; 4 runs of each version can.")
    if not comparison.whole.n_labeled:
        found.append("No labels were given, so right and wrong are left out.")
    return tuple(found)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _figures(part: Part) -> Table:
    table = _table()
    table.add_column("figure", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("over", style="dim", no_wrap=True)
    for name, title in TITLES.items():
        if name in part.figures:
            value = part.figures[name]
            unit = POINTS if title in DIFFERENCES else PERCENT
            table.add_row(title, _signless(value.value) + unit, _ends(value), value.over or "")
    return table


def _ends(value: Estimate) -> str:
    if value.low is None or value.high is None:
        return ""
    return f"[{_signless(value.low)}, {_signless(value.high)}]"


def _groups(title: str, parts: Sequence[Part]) -> list[RenderableType]:
    """The groups that change beyond the seed, then those that change most; how to read them."""
    shown = _ordered(parts)[:N_LISTED]
    head = ("examples", "changed", "no change", "beyond the seed", "r→w", "w→r")
    rows = [head, *(_group_cells(part) for part in shown)]
    is_labeled = any(part.n_labeled for part in shown)
    if not is_labeled:
        rows = [cells[:4] for cells in rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    # A long name gives way, never a figure.
    room = PLAIN_WIDTH - sum(widths) - 2 * len(widths)
    most = max(min(MAX_CELL, room), MIN_NAME)
    names = [_fitted(name, most) for name in (title, *(part.name for part in shown))]
    wide = max(map(cell_len, names))
    found: list[RenderableType] = []
    for name, cells in zip(names, rows, strict=True):
        padded = [
            cell.ljust(width) if index == head.index("beyond the seed") else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        line = "  ".join([name + " " * (wide - cell_len(name)), *padded]).rstrip()
        found.append(Text(line, style="" if found else "dim"))
    legend = [_judged(parts)]
    if is_labeled:
        legend.append("r→w: right before, wrong now. w→r: wrong before, right now.")
    if len(shown) < len(parts):
        legend.insert(0, f"{len(shown)} of {len(parts):,} shown; {IN_FILE}.")
    return [*found, *(Prose(line, style="dim") for line in legend)]


def _ordered(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (not part.is_beyond, -part.beyond.value))


def _group_cells(part: Part) -> tuple[str, ...]:
    star = " *" if part.is_beyond else ""
    return (
        f"{part.n_examples:,}",
        _share(part, "flip_rate"),
        _share(part, "flip_rate_no_change"),
        f"{_signless(part.beyond.value)} {_ends(part.beyond)}".rstrip() + star,
        _share(part, "negative_flip_rate"),
        _share(part, "positive_flip_rate"),
    )


def _judged(parts: Sequence[Part]) -> str:
    """What the intervals of groups are, and what the star says."""
    rows = {1: "its one row", 2: "both rows together"}
    held = rows.get(len(parts), f"all {len(parts):,} rows together")
    start = f"Beyond the seed: in points, intervals hold for {held}"
    if any(part.beyond.over == "examples" for part in parts):
        return f"{start}, but over examples only, so that no row is judged."
    alone = "; a single example has none" if any(one.n_examples == 1 for one in parts) else ""
    return f"{start}; * above 0{alone}."


def _fitted(name: str, width: int) -> str:
    """A user's words, their middle left out until they are no wider; from 5 on there is a way."""
    text, length = printable(name), width
    while cell_len(text) > width:
        text = shortened(printable(name), length)
        length -= 1
    return text


def _share(part: Part, name: str) -> str:
    found = part.figures.get(name)
    return "" if found is None else number(found.value, "percent") + PERCENT


def _examples(comparison: VersionComparison, show: Sequence[str]) -> Table:
    """The examples that the seed does not explain, the surest first."""
    rows = comparison.unexplained.slice(0, N_LISTED).to_pylist()
    names = comparison.classes
    columns = {
        "changed": [_fitted(str(row["example"]), MAX_ID) for row in rows],
        "old": [_votes(row["old_predictions"], names) for row in rows],
        "new": [_votes(row["new_predictions"], names) for row in rows],
    }
    if any(row.get("label") is not None for row in rows):
        columns["label"] = [_fitted(row["label"] or "", MAX_LABEL) for row in rows]
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


def _left_out_examples(comparison: VersionComparison) -> list[RenderableType]:
    """Where the examples are that the list has no room for."""
    n_found, n_kept = comparison.discoveries.n_found, len(comparison.unexplained)
    if n_found <= N_LISTED:
        return []
    where = f"{IN_FILE}."
    if n_kept < n_found:
        where = (
            f"the surest {n_kept:,} are in versions.json, and all in examples.parquet: those whose "
            "p_value is at most the threshold in versions.json."
        )
    return [Prose(f"{N_LISTED} of {n_found:,} shown; {where}", style="dim")]


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> str:
    """How many runs say what, such as "cat (4), dog (1)"; long names give way, never the counts."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    for n_named in range(len(counts), 0, -1):
        rest = sum(count for _, count in counts[n_named:])
        others = [f"others ({rest})"] if rest else []
        for length in range(MAX_VOTES, MIN_NAME - 1, -1):
            named = [f"{_fitted(classes[one], length)} ({n})" for one, n in counts[:n_named]]
            text = ", ".join([*named, *others])
            if cell_len(text) <= MAX_VOTES:
                return text
    return text
