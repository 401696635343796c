"""The page and the short form of two versions, as plain data."""

from collections import Counter
from collections.abc import Sequence

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.messages import Message
from seedproof.report.numbers import WithUnit, signless
from seedproof.report.overview import Overview, Section, TextTable, key_figure
from seedproof.report.versions import words
from seedproof.report.versions.figures import (
    CHANGES,
    CLASSES,
    DIRECTIONS,
    EXAMPLES,
    slice_topic,
)
from seedproof.report.versions.text import DIFFERENCES, TITLES
from seedproof.report.view import KeyFigure

N_LISTED = 50
FIGURES_HEAD = ("figure", "value", "95 % interval", "over")
GROUP_HEAD = ("examples", "changed", "no change", "beyond the seed, points")
LABELED_HEAD = ("right → wrong", "wrong → right")
TOPICS = {
    "steadi": "Stability",
    "new-version": "Stability",
    "direct": DIRECTIONS,
    "accuracy": "Accuracy",
    "change": CHANGES,
}


def build_overview(comparison: VersionComparison, *, show: Sequence[str] = ()) -> Overview:
    """Return sentences, key figures, and a section per topic."""
    sections = [Section(CHANGES, _between(comparison), (_figures(comparison, is_flip=True),))]
    if "accuracy_change" in comparison.whole.figures:
        table = _figures(comparison, is_flip=False)
        sections.append(Section(DIRECTIONS, "What became right, what became wrong", (table,)))
    if len(comparison.by_class) > 1:
        table = _groups("gold class", comparison.by_class)
        sections.append(Section(CLASSES, _finding(comparison.by_class, "classes"), (table,)))
    for column, parts in comparison.slices.items():
        finding = _finding(parts, f"values of {column}")
        sections.append(Section(slice_topic(column), finding, (_groups(column, parts),)))
    if len(comparison.unexplained):
        finding = "Examples whose change the seed does not explain"
        sections.append(Section(EXAMPLES, finding, (_examples(comparison, show),)))
    notes = (*comparison.notes, *words.limits(comparison))
    return Overview(
        headline=str(words.headline(comparison)),
        title=str(words.title(comparison)),
        sentences=tuple((_topic(one.code), str(one)) for one in words.sentences(comparison)),
        key_figures=tuple(_key_figures(comparison)),
        sections=tuple(sections),
        notes=tuple(map(str, notes)),
    )


def _between(comparison: VersionComparison) -> str:
    between, within = (
        WithUnit(comparison[name].value, "percent") for name in ("flip_rate", "flip_rate_no_change")
    )
    return f"{between} of the answers differ between versions, {within} within one version"


def _topic(code: str) -> str:
    return next((topic for start, topic in TOPICS.items() if code.startswith(start)), EXAMPLES)


def _key_figures(comparison: VersionComparison) -> list[KeyFigure]:
    meanings = {
        "flip_rate": ("Changed answers", "of the answers differ between an old and a new run."),
        "flip_rate_no_change": ("No change", "of them differ between two runs of one version."),
        "flip_rate_beyond": ("Beyond the seed", "more than another seed would change."),
        "accuracy_change": ("Change of accuracy", "from the old version to the new one."),
    }
    figures = comparison.whole.figures
    return [
        key_figure(
            name,
            title,
            figures[name],
            Message(f"key-{name.replace('_', '-')}", meaning),
            is_difference=name in DIFFERENCES,
        )
        for name, (title, meaning) in meanings.items()
        if name in figures
    ]


def _figures(comparison: VersionComparison, *, is_flip: bool) -> TextTable:
    figures = comparison.whole.figures
    rows = []
    for name, title in TITLES.items():
        if name in figures and name.startswith("flip_rate") == is_flip:
            value = figures[name]
            unit = " points" if name in DIFFERENCES else "\N{NO-BREAK SPACE}%"
            rows.append(
                (
                    title.strip(),
                    signless(value.value) + unit,
                    words.interval(value),
                    value.over or "",
                )
            )
    return TextTable(FIGURES_HEAD, tuple(rows))


def _finding(parts: Sequence[GroupFigures], what: str) -> str:
    n_beyond = sum(part.is_beyond for part in parts)
    if n_beyond == 0:
        return f"No change beyond the seed is shown for single {what}"
    return f"{n_beyond:,} of {len(parts):,} {what} change beyond the seed"


def _groups(title: str, parts: Sequence[GroupFigures]) -> TextTable:
    """Return the groups that change beyond the seed, then those that change most."""
    shown = words.ordered(parts)[:N_LISTED]
    is_labeled = any(part.n_labeled for part in shown)
    rows = []
    for part in shown:
        star = " *" if part.is_beyond else ""
        row = [
            part.name,
            f"{part.n_examples:,}",
            _share(part, "flip_rate"),
            _share(part, "flip_rate_no_change"),
            f"{signless(part.beyond.value)} {words.interval(part.beyond)}".rstrip() + star,
        ]
        if is_labeled:
            row += [_share(part, "negative_flip_rate"), _share(part, "positive_flip_rate")]
        rows.append(tuple(row))
    header = (title, *GROUP_HEAD, *(LABELED_HEAD if is_labeled else ()))
    notes = [one for one in words.legend(parts, n_listed=N_LISTED) if one.code != "right-and-wrong"]
    return TextTable(header, tuple(rows), notes=tuple(map(str, notes)))


def _share(part: GroupFigures, name: str) -> str:
    value = part.figures.get(name)
    return "–" if value is None else str(WithUnit(value.value, "percent"))


def _examples(comparison: VersionComparison, show: Sequence[str]) -> TextTable:
    """Return the examples that the seed does not explain, the surest first."""
    rows = comparison.unexplained.slice(0, N_LISTED).to_pylist()
    has_labels = any(row.get("label") is not None for row in rows)
    cells = []
    for row in rows:
        cell = [str(row["example"])]
        cell += [_votes(row[f"{side}_predictions"], comparison.classes) for side in ("old", "new")]
        if has_labels:
            cell.append(row["label"] or "")
        cell += ["" if row[name] is None else str(row[name]) for name in show]
        cells.append(tuple(cell))
    header = ("example", "old runs", "new runs", *(("label",) if has_labels else ()), *show)
    left_out = words.left_out_examples(comparison, n_listed=N_LISTED)
    return TextTable(header, tuple(cells), notes=() if left_out is None else (str(left_out),))


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> str:
    """Return how many runs predict each class, the most frequent first."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{classes[index]} ({count})" for index, count in counts)
