"""Two versions that give numbers, lists or sets: sentences, tables and charts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences, printable
from seedproof.metrics.card import Unit
from seedproof.records.answer_settings import weighted_by
from seedproof.records.schema import Kind
from seedproof.report import checks
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.numbers import WithInterval, WithUnit, number
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.text import CheckLines, Prose, bare_table
from seedproof.report.versions.sentences import (
    N_LISTED,
    has_runs,
    left_out_examples,
    on_intervals,
    ordered,
    runs,
    single_examples,
    unit_of,
    untrusted,
)
from seedproof.report.view import KeyFigure, interval_bar
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate

CHANGES, EXAMPLES = "Changes", "Examples"
N_ON_PAGE = 50
MAX_WIDTH = 24
N_ITEMS = 5
FIGURES_HEAD = ("figure", "value", "interval", "over")
# Words for a change of the mean, by its side and by the direction that is better.
WORDS = {1: "higher", -1: "lower"}
SENTENCES = {
    "compared-versions": "{old} · {new} · {n_examples:,} examples{clusters}{weights}",
    "mean-changed": "The mean of the new version is {word}: {new} against {old}, {size}{valued}.",
    "mean-open": "No change of the mean is shown: {old} before, {new} now ({size}).",
    "mean-of-few-runs": "The mean goes from {old} to {new}; these {unit}s are too few to separate "
    "luck from progress.",
    "mean-untrusted": "The mean goes from {old} to {new}; there is no verdict.",
    "error-not-judged": "The mean absolute error goes from {old} to {new}; there is no verdict.",
    "numbers-untrusted": "An old and a new {repeat} differ by {between} on one example, two of the "
    "same version by {within}; there is no verdict.",
    "better": " (better)",
    "worse": " (worse)",
    "error-changed": "The mean absolute error {verb} from {old} to {new} ({size}).",
    "error-open": "No change of the mean absolute error is shown: {old} before, {new} now "
    "({size}).",
    "numbers-changed": "An old and a new {repeat} differ by {between} on one example, two of the "
    "same version by {within}: {beyond} are beyond noise.",
    "numbers-open": "An old and a new {repeat} differ by {between} on one example, two of the same "
    "version by {within}; more than noise is not shown ({beyond}).",
    "numbers-of-few-runs": "An old and a new {repeat} differ by {between} on one example, two of "
    "the same version by {within}; these {unit}s are too few for a verdict.",
    "mean-better": "The new version is better",
    "mean-worse": "The new version is worse",
    "mean-higher": "The numbers of the new version are higher",
    "mean-lower": "The numbers of the new version are lower",
    "only-numbers-changed": "Single numbers change beyond noise; no change of their mean is shown",
    "no-change-shown": "No change beyond noise is shown",
    "few-runs": "Too few {unit}s to distinguish the new version from another {unit}",
    "assumed-trials": "Repeats are taken as independent trials of one model: intervals are over "
    "examples, whose means contain the noise of the trials.",
    "rows-judged": "Intervals hold simultaneously for all rows. * marks values beyond noise.",
    "key-mean-change": "from the old version to the new one.",
    "key-beyond": "more than between two of the same version, on one example.",
}
# The same of lists and sets.
ITEM_SENTENCES = {
    **SENTENCES,
    "mean-changed": "{noun} of the new version is {word}: {new} against {old}, {size}{valued}.",
    "mean-open": "No change of {noun} is shown: {old} before, {new} now ({size}).",
    "mean-of-few-runs": "{noun} goes from {old} to {new}; these {unit}s are too few to separate "
    "luck from progress.",
    "numbers-changed": "The items of an old and a new {repeat} differ by {between} on one example, "
    "those of two of the same version by {within} (Jaccard distance): {beyond} are beyond noise.",
    "numbers-open": "The items of an old and a new {repeat} differ by {between} on one example, "
    "those of two of the same version by {within} (Jaccard distance); more than noise is not shown "
    "({beyond}).",
    "mean-untrusted": "{noun} goes from {old} to {new}; there is no verdict.",
    "numbers-untrusted": "The items of an old and a new {repeat} differ by {between} on one "
    "example, those of two of the same version by {within} (Jaccard distance); there is no "
    "verdict.",
    "numbers-of-few-runs": "The items of an old and a new {repeat} differ by {between} on one "
    "example, those of two of the same version by {within} (Jaccard distance); these {unit}s are "
    "too few for a verdict.",
    "only-numbers-changed": "Items change beyond noise; no change of their quality is shown",
}


@dataclass(frozen=True)
class Terms:
    """Names of the figures of a kind of answers, and its words."""

    level: str  # figures of how high the numbers, or how good the items, of a version are
    noun: str  # the same in a sentence
    distance: str  # figures of how far two answers are apart
    axis: str
    unit: Unit
    say: Sentences

    @property
    def titles(self) -> dict[str, str]:
        """Figures and their titles, in the order of the table."""
        level, distance = self.level, self.distance
        return {
            f"{level}_old": f"{level} of the old version",
            f"{level}_new": f"{level} of the new version",
            f"{level}_change": f"change of the {level}",
            "error_old": "mean absolute error, old version",
            "error_new": "mean absolute error, new version",
            "error_change": "change of the error",
            distance: f"{distance} of an old and a new one",
            f"{distance}_old": "two of the old version",
            f"{distance}_new": "two of the new version",
            f"{distance}_no_change": "expected from noise",
            f"{distance}_beyond": "  beyond noise",
        }

    def has_level(self, comparison: VersionComparison) -> bool:
        """Return whether the level is known; lists and sets need right items."""
        return f"{self.level}_change" in comparison.whole.figures


NUMBERS = Terms(
    "mean", "the mean", "difference", "absolute difference", "value", Sentences(SENTENCES)
)
LISTS = Terms(
    "quality", "NDCG", "distance", "Jaccard distance, %", "percent", Sentences(ITEM_SENTENCES)
)
TERMS = {
    str(Kind.NUMBERS): NUMBERS,
    str(Kind.RANKINGS): LISTS,
    str(Kind.SETS): replace(LISTS, noun="F1 of single examples"),
}


def terms_of(comparison: VersionComparison) -> Terms:
    """Return the words for the answers of two versions."""
    return TERMS[comparison.kind]


def title(comparison: VersionComparison) -> Message:
    """Return what was compared, in one line."""
    return terms_of(comparison).say(
        "compared-versions",
        **runs(comparison),
        n_examples=comparison.n_examples,
        clusters=in_clusters(comparison.clusters),
        weights=weighted_by(comparison.weights),
    )


def _side(comparison: VersionComparison, figure: str) -> int:
    """Return 1 for a figure that is shown to be above 0, -1 for one below, otherwise 0."""
    value = comparison.whole.figures.get(figure, Estimate(0.0))
    has_runs = comparison.are_trials or value.over not in WITHOUT_RUNS
    if value.low is None or value.high is None or not has_runs or not comparison.is_judged:
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def _is_judged(comparison: VersionComparison, figure: str | None = None) -> bool:
    """Return whether an interval, usually of the distance beyond noise, covers other runs."""
    figure = figure or f"{terms_of(comparison).distance}_beyond"
    return comparison.is_judged and has_runs(comparison, comparison[figure])


def _valued(comparison: VersionComparison) -> str:
    """Return "better" or "worse" for a change of the mean; empty if neither is known."""
    side = _side(comparison, f"{terms_of(comparison).level}_change")
    if side == 0 or comparison.better == "neither":
        return ""
    return "better" if WORDS[side] == comparison.better else "worse"


def headline(comparison: VersionComparison) -> Message:
    """Return the finding in one short sentence: that on the quality first, if there is one."""
    terms = terms_of(comparison)
    if comparison.error is not None:
        return untrusted(comparison.error)
    side = _side(comparison, f"{terms.level}_change")
    if comparison.quality_side is not None:
        code = f"mean-{comparison.quality_side}"
    elif side:
        code = f"mean-{WORDS[side]}"
    elif comparison.is_beyond:
        code = "only-numbers-changed"
    else:
        code = "no-change-shown" if _is_judged(comparison) else "few-runs"
    return terms.say(code, unit=unit_of(comparison))


def sentences(comparison: VersionComparison) -> dict[str, tuple[Message, ...]]:
    """Return the sentences by topic, the most important first."""
    terms = terms_of(comparison)
    means = [_mean(comparison)] if terms.has_level(comparison) else []
    if "error_change" in comparison.whole.figures:
        means.append(_error(comparison))
    return {
        **({terms.level.capitalize(): tuple(means)} if means else {}),
        CHANGES: (_numbers(comparison),),
        EXAMPLES: (single_examples(comparison),),
    }


def _old_and_new(comparison: VersionComparison, name: str) -> dict[str, object]:
    unit = terms_of(comparison).unit
    return {
        "old": WithUnit(comparison[f"{name}_old"].value, unit),
        "new": WithUnit(comparison[f"{name}_new"].value, unit),
        "size": _signed(comparison[f"{name}_change"], unit),
    }


def _signed(value: Estimate, unit: Unit) -> str:
    """Return a difference with its interval, such as "+0.060 [−0.010, 0.130]"."""
    sign = "+" if value.value > 0.0 else ""
    return f"{sign}{WithInterval(value, 'points' if unit == 'percent' else unit)}"


def _mean(comparison: VersionComparison) -> Message:
    terms = terms_of(comparison)
    fields = {
        **_old_and_new(comparison, terms.level),
        "noun": terms.noun,
        "unit": unit_of(comparison),
    }
    side = _side(comparison, f"{terms.level}_change")
    if side:
        valued = _valued(comparison)
        return terms.say(
            "mean-changed",
            **fields,
            word=WORDS[side],
            valued=terms.say("better" if valued == "better" else "worse") if valued else "",
        )
    if comparison.error is not None:
        return terms.say("mean-untrusted", **fields)
    is_judged = _is_judged(comparison, f"{terms.level}_change")
    return terms.say("mean-open" if is_judged else "mean-of-few-runs", **fields)


def _error(comparison: VersionComparison) -> Message:
    fields, side = _old_and_new(comparison, "error"), _side(comparison, "error_change")
    if not side and not _is_judged(comparison, "error_change"):
        return NUMBERS.say("error-not-judged", **fields)
    if not side:
        return NUMBERS.say("error-open", **fields)
    return NUMBERS.say("error-changed", **fields, verb="rises" if side > 0 else "falls")


def _numbers(comparison: VersionComparison) -> Message:
    terms = terms_of(comparison)
    name, unit, say = terms.distance, terms.unit, terms.say
    fields = {
        "between": WithInterval(comparison[name], unit),
        "within": WithInterval(comparison[f"{name}_no_change"], unit),
        "beyond": _signed(comparison[f"{name}_beyond"], unit),
        "repeat": comparison.repeats.removesuffix("s"),
        "unit": unit_of(comparison),
    }
    if comparison.is_beyond:
        return say("numbers-changed", **fields)
    if comparison.error is not None:
        return say("numbers-untrusted", **fields)
    return say("numbers-open" if _is_judged(comparison) else "numbers-of-few-runs", **fields)


def _figure_rows(comparison: VersionComparison) -> Iterator[tuple[str, ...]]:
    terms = terms_of(comparison)
    for name, words in terms.titles.items():
        value = comparison.whole.figures.get(name)
        if value is not None:
            text, _, ends = str(WithInterval(value, terms.unit)).partition(" [")
            ends = f"[{ends}" if ends else ""
            yield words, text, ends, value.over or ""


def _group_table(
    comparison: VersionComparison, column: str, parts: Sequence[GroupFigures], n_listed: int
) -> TextTable:
    terms = terms_of(comparison)
    level, unit, has_level = terms.level, terms.unit, terms.has_level(comparison)

    def cells(part: GroupFigures) -> Iterator[str]:
        if has_level:
            yield from (
                number(part.figures[f"{level}_{side}"].value, unit) for side in ("old", "new")
            )
            yield _signed(part.figures[f"{level}_change"], unit)
        yield _signed(part.beyond, unit) + (" *" if part.is_beyond else "")

    of_level = ("old", "new", f"change of the {level}") if has_level else ()
    return TextTable(
        (column, "examples", *of_level, "beyond noise"),
        tuple(
            (part.name, f"{part.n_examples:,}", *cells(part)) for part in ordered(parts)[:n_listed]
        ),
        notes=(str(terms.say("rows-judged")),),
    )


def _example_table(comparison: VersionComparison, show: Sequence[str], n_listed: int) -> TextTable:
    """Return the examples whose change is more than noise, smallest p-values first."""
    rows = comparison.unexplained.slice(0, n_listed).to_pylist()
    left_out = left_out_examples(comparison, n_listed=n_listed)
    has_numbers = comparison.has_numbers
    amounts = ("mean, old", "mean, new") if has_numbers else ("distance",)
    cells = _number_cells if has_numbers else _item_cells
    return TextTable(
        ("changed example", *amounts, "old", "new", *show),
        tuple(
            (
                str(row["example"]),
                *cells(row),
                *("" if row[name] is None else str(row[name]) for name in show),
            )
            for row in rows
        ),
        notes=() if left_out is None else (str(left_out),),
    )


def _number_cells(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the means of both versions, and the numbers of all runs."""
    yield from (number(row[f"mean_{side}"], "value") for side in ("old", "new"))
    yield from (" ".join(f"{x:.3g}" for x in row[f"{side}_numbers"]) for side in ("old", "new"))


def _item_cells(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the distance of an old and a new run, and the most frequent items of both versions."""
    yield f"{number(row['distance'], 'percent')} %"
    for side in ("old", "new"):
        counts = Counter(item for items in row[f"{side}_items"] for item in items)
        yield ", ".join(f"{item} ({count})" for item, count in counts.most_common(N_ITEMS))


def _notes(comparison: VersionComparison) -> tuple[str, ...]:
    assumed = (NUMBERS.say("assumed-trials"),) if comparison.are_trials else ()
    return (*checks.notes(comparison.checks), *map(str, (*comparison.notes, *assumed)))


def render(comparison: VersionComparison, *, show: Sequence[str] = ()) -> RenderableType:
    """Return the text for a terminal."""
    parts: list[RenderableType] = [Text(str(title(comparison)), style="dim"), Text("")]
    parts += [Prose(f"{headline(comparison)}.", style="bold"), Text("")]
    parts.append(CheckLines(checks.alerts(comparison.checks)))
    for messages in sentences(comparison).values():
        parts += [Prose(" ".join(map(str, messages))), Text("")]
    parts.append(_rendered(TextTable(FIGURES_HEAD, tuple(_figure_rows(comparison)))))
    parts.append(Prose(_on_intervals(comparison), style="dim"))
    tables = [
        _group_table(comparison, column, groups, N_LISTED)
        for column, groups in comparison.slices.items()
    ]
    if len(comparison.unexplained):
        tables.append(_example_table(comparison, show, N_LISTED))
    for table in tables:
        parts += [Text(""), _rendered(table)]
        parts += [Prose(note, style="dim") for note in table.notes]
    notes = _notes(comparison)
    if notes:
        parts += [Text(""), *(Prose(f"Note: {note}", style="dim") for note in notes)]
    return Group(*parts)


def _on_intervals(comparison: VersionComparison) -> str:
    terms = terms_of(comparison)
    title = terms.titles.get(comparison.quality or "", "")
    return str(on_intervals(comparison, title, distance=f"{terms.distance}s"))


def _rendered(table: TextTable) -> Table:
    """Return a table for a terminal; ids and texts are the user's, never markup."""
    rendered = bare_table()
    for name in table.header:
        width = None if table.header == FIGURES_HEAD else MAX_WIDTH
        rendered.add_column(
            Text(printable(name)), overflow="ellipsis", no_wrap=True, max_width=width
        )
    for row in table.rows:
        rendered.add_row(*(Text(printable(cell)) for cell in row))
    return rendered


def build_overview(comparison: VersionComparison, *, show: Sequence[str] = ()) -> Overview:
    """Return sentences, key figures, and a section per topic."""
    rows = tuple((words.strip(), *cells) for words, *cells in _figure_rows(comparison))
    notes = (_on_intervals(comparison),)
    sections = [Section(CHANGES, "Every figure", (TextTable(FIGURES_HEAD, rows, notes=notes),))]
    for column, groups in comparison.slices.items():
        table = _group_table(comparison, column, groups, N_ON_PAGE)
        sections.append(Section(f"By {column}", f"Changes by {column}", (table,)))
    if len(comparison.unexplained):
        table = _example_table(comparison, show, N_ON_PAGE)
        sections.append(Section(EXAMPLES, "Examples that change by more than noise", (table,)))
    return Overview(
        headline=str(headline(comparison)),
        title=str(title(comparison)),
        sentences=tuple(
            (topic, " ".join(map(str, messages)))
            for topic, messages in sentences(comparison).items()
        ),
        key_figures=tuple(_key_figures(comparison)),
        sections=tuple(sections),
        notes=_notes(comparison),
        checks=checks.alerts(comparison.checks),
    )


def _key_figures(comparison: VersionComparison) -> Iterator[KeyFigure]:
    terms = terms_of(comparison)
    if terms.has_level(comparison):
        name, heading = f"{terms.level}_change", f"Change of the {terms.level}"
        yield _key_figure(comparison, name, heading, terms.say("key-mean-change"))
    name = f"{terms.distance}_beyond"
    yield _key_figure(comparison, name, "Beyond noise", terms.say("key-beyond"))


def _key_figure(
    comparison: VersionComparison, name: str, heading: str, meaning: Message
) -> KeyFigure:
    value, unit = comparison[name], terms_of(comparison).unit
    written = WithInterval(value, "points" if unit == "percent" else unit)
    text, _, ends = str(written).partition(" [")
    ends = f"[{ends}" if ends else ""
    return KeyFigure(name, heading, text, "", ends, meaning, bar=interval_bar(value)[0])


def build_figures(comparison: VersionComparison) -> tuple[Figure, ...]:
    """Return the charts of means and of differences."""
    known, terms = comparison.whole.figures, terms_of(comparison)
    level, distance = terms.level, terms.distance
    within = {f"{distance}_old": "two old ones", f"{distance}_new": "two new ones"}
    apart = [Line(words, known[name]) for name, words in within.items() if name in known]
    apart.append(Line("old and new", known[distance], "bad" if comparison.is_beyond else "open"))
    marks: dict[Mark, str] = {
        "base": "of one version",
        "bad": "more than noise",
        "open": "not shown to be more than noise",
    }
    figures = []
    if terms.has_level(comparison):
        figures.append(
            intervals(
                f"{level}s" if level == "mean" else level,
                f"{level.capitalize()} of both versions",
                [Line(f"{side} version", known[f"{level}_{side}"]) for side in ("old", "new")],
                section=CHANGES,
                axis=level,
                unit=terms.unit,
            )
        )
    figures.append(
        intervals(
            f"{distance}s",
            f"{distance.capitalize()} of two answers to one example",
            apart,
            section=CHANGES,
            axis=terms.axis,
            unit=terms.unit,
            marks=marks,
        )
    )
    return tuple(figures)
