"""Two versions for a terminal: sentences with their conditions, figures, groups, examples."""

import os
import shutil
import weakref
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.fs
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import Part, VersionComparison
from seedproof.errors import ColumnError, OptionError, UnknownNameError, first_line
from seedproof.measurement.intervals import TAIL, Estimate
from seedproof.records.location import Location
from seedproof.report.numbers import MINUS, NO_BREAK, bracketed, number
from seedproof.report.text import MAX_CELL, PLAIN_WIDTH, Prose, printable

N_LISTED = 10
PERCENT = f"{NO_BREAK}%"
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


class VersionReport:
    """What comparing two versions found: `print` it, ask it for a figure, save it.

    Args:
        comparison: The figures.
        scratch: A temporary folder to be removed together with the report.
    """

    def __init__(self, comparison: VersionComparison, scratch: Path | None = None) -> None:
        self.comparison = comparison
        if scratch is not None:
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)

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
        place = Location.of(folder)
        source, target = self.comparison.examples_file, place / "examples.parquet"
        made = "" if command is None else f"\n\nMade by: {command}"
        text = f"{self.text(show=show)}{made}\n"
        try:
            place.make_folder()
            pyarrow.fs.copy_files(
                source.path,
                target.path,
                source_filesystem=source.files,
                destination_filesystem=target.files,
            )
            for name, content in (("versions.json", self.to_json()), ("versions.txt", text)):
                with (place / name).open_write() as file:
                    file.write(content.encode())
        except OSError as error:
            raise OptionError(
                f"{str(folder)!r} cannot be written to ({first_line(error)}). Give a folder."
            ) from error

    def show(self, *, show: Sequence[str] = ()) -> None:
        """Print it to the terminal, with colors where it has them."""
        Console().print(render(self.comparison, show=show))

    def text(self, *, show: Sequence[str] = ()) -> str:
        """The same without colors, 80 columns wide."""
        output = StringIO()
        console = Console(file=output, width=PLAIN_WIDTH, color_system=None, force_terminal=False)
        console.print(render(self.comparison, show=show))
        return "\n".join(line.rstrip() for line in output.getvalue().splitlines())

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
        parts += [Text(""), _groups("gold class", comparison.by_class)]
    for column, found in comparison.slices.items():
        parts += [Text(""), _groups(column, found)]
    if len(comparison.unexplained):
        parts += [Text(""), _examples(comparison, show)]
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
    if comparison.is_beyond:
        return f"{start}; {_points(beyond)} are beyond the seed{_p_value(comparison)}."
    if beyond.over == "examples":
        return f"{start}; so few runs cannot tell whether that is more than another seed would."
    return (
        f"{start}. That is no more than another seed would: none beyond the seed is shown "
        f"({_points(beyond)}{_p_value(comparison, start=', ', end='')})."
    )


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
    return f", {words.get(_side(beyond), 'no more than the seed explains')}"


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
        return f"There is no example whose change the seed does not explain ({rate})."
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
    if len(comparison.unexplained) < comparison.discoveries.n_found:
        found.append(f"The surest {len(comparison.unexplained)} examples are kept.")
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
            table.add_row(title, _signless(value.value) + PERCENT, _ends(value), value.over or "")
    return table


def _ends(value: Estimate) -> str:
    if value.low is None or value.high is None:
        return ""
    return f"[{_signless(value.low)}, {_signless(value.high)}]"


def _groups(title: str, parts: Sequence[Part]) -> Table:
    """The groups that change most beyond the seed; names are a user's words, never markup."""
    table = _table()
    table.add_column(Text(printable(title)), overflow="ellipsis", no_wrap=True, max_width=MAX_CELL)
    for column in ("examples", "changed", "no change"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("beyond the seed", no_wrap=True)
    table.add_column("r→w", justify="right", no_wrap=True)
    table.add_column("w→r", justify="right", no_wrap=True)
    ordered = sorted(parts, key=lambda part: -part.figures["flip_rate_beyond"].value)
    for part in ordered[:N_LISTED]:
        beyond = part.figures["flip_rate_beyond"]
        table.add_row(
            Text(printable(part.name)),
            f"{part.n_examples:,}",
            _share(part, "flip_rate"),
            _share(part, "flip_rate_no_change"),
            f"{_signless(beyond.value)} {_ends(beyond)}{' *' if part.is_beyond else ''}",
            _share(part, "negative_flip_rate"),
            _share(part, "positive_flip_rate"),
        )
    if any(part.is_beyond for part in ordered[:N_LISTED]):
        table.caption = "* beyond the seed, with an interval that holds for all rows together"
        table.caption_justify = "left"
    return table


def _share(part: Part, name: str) -> str:
    found = part.figures.get(name)
    return "" if found is None else number(found.value, "percent") + PERCENT


def _examples(comparison: VersionComparison, show: Sequence[str]) -> Table:
    """The examples that the seed does not explain, the surest first."""
    rows = comparison.unexplained.slice(0, N_LISTED).to_pylist()
    names = comparison.classes
    columns = {
        "changed": [str(row["example"]) for row in rows],
        "old": [_votes(row["old_predictions"], names) for row in rows],
        "new": [_votes(row["new_predictions"], names) for row in rows],
    }
    if any(row.get("label") is not None for row in rows):
        columns["label"] = [row["label"] or "" for row in rows]
    table = _table()
    for name, texts in columns.items():
        longest = max(len(printable(text)) for text in (name, *texts))
        least = min(longest, MAX_CELL)
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=least, max_width=least)
    table.expand = bool(show)
    for name in show:
        table.add_column(Text(printable(name)), overflow="ellipsis", no_wrap=True, ratio=1)
    further = [["" if row[name] is None else str(row[name]) for row in rows] for name in show]
    for cells in zip(*columns.values(), *further, strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> str:
    """How many runs say what, such as "cat (4), dog (1)"."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{classes[index]} ({count})" for index, count in counts)
