"""Two versions that give numbers: sentences, tables and charts."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences, printable
from seedproof.records.number_settings import weighted_by
from seedproof.report import checks
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.numbers import WithInterval, WithUnit, number
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.text import CheckLines, Prose, bare_table
from seedproof.report.versions.sentences import (
    N_LISTED,
    left_out_examples,
    ordered,
    runs,
    single_examples,
)
from seedproof.report.view import KeyFigure, interval_bar
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate

MEANS, CHANGES, EXAMPLES = "Mean", "Changes", "Examples"
N_ON_PAGE = 50
MAX_WIDTH = 24
TITLES = {
    "mean_old": "mean of the old version",
    "mean_new": "mean of the new version",
    "mean_change": "change of the mean",
    "error_old": "mean absolute error, old version",
    "error_new": "mean absolute error, new version",
    "error_change": "change of the error",
    "difference": "difference of an old and a new one",
    "difference_old": "two of the old version",
    "difference_new": "two of the new version",
    "difference_no_change": "expected from noise",
    "difference_beyond": "  beyond noise",
}
FIGURES_HEAD = ("figure", "value", "95 % interval", "over")
GROUP_HEAD = ("examples", "old", "new", "change of the mean", "beyond noise")
EXAMPLE_HEAD = ("changed example", "mean, old", "mean, new", "old", "new")
# Words for a change of the mean, by its side and by the direction that is better.
WORDS = {1: "higher", -1: "lower"}
SENTENCES = {
    "compared-versions": "{old} · {new} · {n_examples:,} examples{clusters}{weights}",
    "mean-changed": "The mean of the new version is {word}: {new} against {old}, {size}{valued}.",
    "mean-open": "No change of the mean is shown: {old} before, {new} now ({size}).",
    "mean-of-few-runs": "The mean goes from {old} to {new}; these runs are too few to separate "
    "luck from progress.",
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
    "the same version by {within}; these runs are too few for a verdict.",
    "mean-better": "The new version is better",
    "mean-worse": "The new version is worse",
    "mean-higher": "The numbers of the new version are higher",
    "mean-lower": "The numbers of the new version are lower",
    "only-numbers-changed": "Single numbers change beyond noise; no change of their mean is shown",
    "no-change-shown": "No change beyond noise is shown",
    "few-runs": "Too few runs to distinguish the new version from another run",
    "assumed-trials": "Repeats are taken as independent trials of one model: intervals are over "
    "examples, whose means contain the noise of the trials.",
    "rows-judged": "Intervals hold simultaneously for all rows. * marks values beyond noise.",
    "key-mean-change": "from the old version to the new one.",
    "key-beyond": "more than between two of the same version, on one example.",
}
_say = Sentences(SENTENCES)


def title(comparison: VersionComparison) -> Message:
    """Return what was compared, in one line."""
    return _say(
        "compared-versions",
        **runs(comparison),
        n_examples=comparison.n_examples,
        clusters=in_clusters(comparison.clusters),
        weights=weighted_by(comparison.weights),
    )


def _side(comparison: VersionComparison, figure: str) -> int:
    """Return 1 for a figure that is shown to be above 0, -1 for one below, otherwise 0."""
    value = comparison[figure]
    has_runs = comparison.are_trials or value.over not in WITHOUT_RUNS
    if value.low is None or value.high is None or not has_runs or not comparison.is_judged:
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def _valued(comparison: VersionComparison) -> str:
    """Return "better" or "worse" for a change of the mean; empty if neither is known."""
    side = _side(comparison, "mean_change")
    if side == 0 or comparison.better == "neither":
        return ""
    return "better" if WORDS[side] == comparison.better else "worse"


def headline(comparison: VersionComparison) -> Message:
    """Return the finding in one short sentence."""
    side = _side(comparison, "mean_change")
    if side:
        code = f"mean-{_valued(comparison) or WORDS[side]}"
    elif comparison.is_beyond:
        code = "only-numbers-changed"
    else:
        code = "no-change-shown" if comparison.is_judged else "few-runs"
    return Message(code, SENTENCES[code])


def sentences(comparison: VersionComparison) -> dict[str, tuple[Message, ...]]:
    """Return the sentences by topic, the most important first."""
    means = [_mean(comparison)]
    if "error_change" in comparison.whole.figures:
        means.append(_error(comparison))
    return {
        MEANS: tuple(means),
        CHANGES: (_numbers(comparison),),
        EXAMPLES: (single_examples(comparison),),
    }


def _old_and_new(comparison: VersionComparison, name: str) -> dict[str, object]:
    return {
        "old": WithUnit(comparison[f"{name}_old"].value, "value"),
        "new": WithUnit(comparison[f"{name}_new"].value, "value"),
        "size": _signed(comparison[f"{name}_change"]),
    }


def _signed(value: Estimate) -> str:
    """Return a difference with its interval, such as "+0.060 [−0.010, 0.130]"."""
    sign = "+" if value.value > 0.0 else ""
    return f"{sign}{WithInterval(value, 'value')}"


def _mean(comparison: VersionComparison) -> Message:
    fields, side = _old_and_new(comparison, "mean"), _side(comparison, "mean_change")
    if side:
        valued = _valued(comparison)
        return _say(
            "mean-changed",
            **fields,
            word=WORDS[side],
            valued=_say("better" if valued == "better" else "worse") if valued else "",
        )
    return _say("mean-open" if comparison.is_judged else "mean-of-few-runs", **fields)


def _error(comparison: VersionComparison) -> Message:
    fields, side = _old_and_new(comparison, "error"), _side(comparison, "error_change")
    if not side:
        return _say("error-open", **fields)
    return _say("error-changed", **fields, verb="rises" if side > 0 else "falls")


def _numbers(comparison: VersionComparison) -> Message:
    fields = {
        "between": WithInterval(comparison["difference"], "value"),
        "within": WithInterval(comparison["difference_no_change"], "value"),
        "beyond": _signed(comparison["difference_beyond"]),
        "repeat": comparison.repeats.removesuffix("s"),
    }
    if comparison.is_beyond:
        return _say("numbers-changed", **fields)
    return _say("numbers-open" if comparison.is_judged else "numbers-of-few-runs", **fields)


def _figure_rows(comparison: VersionComparison) -> Iterator[tuple[str, ...]]:
    for name, words in TITLES.items():
        value = comparison.whole.figures.get(name)
        if value is not None:
            text, _, ends = str(WithInterval(value, "value")).partition(" ")
            yield words, text, ends, value.over or ""


def _group_table(column: str, parts: Sequence[GroupFigures], n_listed: int) -> TextTable:
    rows = tuple(
        (
            part.name,
            f"{part.n_examples:,}",
            *(number(part.figures[f"mean_{side}"].value, "value") for side in ("old", "new")),
            _signed(part.figures["mean_change"]),
            _signed(part.beyond) + (" *" if part.is_beyond else ""),
        )
        for part in ordered(parts)[:n_listed]
    )
    return TextTable((column, *GROUP_HEAD), rows, notes=(str(_say("rows-judged")),))


def _example_table(comparison: VersionComparison, show: Sequence[str], n_listed: int) -> TextTable:
    """Return the examples whose change is more than noise, smallest p-values first."""
    rows = comparison.unexplained.slice(0, n_listed).to_pylist()
    left_out = left_out_examples(comparison, n_listed=n_listed)
    return TextTable(
        (*EXAMPLE_HEAD, *show),
        tuple(
            (
                str(row["example"]),
                *(number(row[f"mean_{side}"], "value") for side in ("old", "new")),
                *(" ".join(f"{x:.3g}" for x in row[f"{side}_numbers"]) for side in ("old", "new")),
                *("" if row[name] is None else str(row[name]) for name in show),
            )
            for row in rows
        ),
        notes=() if left_out is None else (str(left_out),),
    )


def _notes(comparison: VersionComparison) -> tuple[str, ...]:
    assumed = (_say("assumed-trials"),) if comparison.are_trials else ()
    return (*checks.notes(comparison.checks), *map(str, (*comparison.notes, *assumed)))


def render(comparison: VersionComparison, *, show: Sequence[str] = ()) -> RenderableType:
    """Return the text for a terminal."""
    parts: list[RenderableType] = [Text(str(title(comparison)), style="dim"), Text("")]
    parts.append(CheckLines(checks.alerts(comparison.checks)))
    for messages in sentences(comparison).values():
        parts += [Prose(" ".join(map(str, messages))), Text("")]
    parts.append(_rendered(TextTable(FIGURES_HEAD, tuple(_figure_rows(comparison)))))
    tables = [
        _group_table(column, groups, N_LISTED) for column, groups in comparison.slices.items()
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
    sections = [Section(CHANGES, "Every figure", (TextTable(FIGURES_HEAD, rows),))]
    for column, groups in comparison.slices.items():
        table = _group_table(column, groups, N_ON_PAGE)
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
        key_figures=(
            _key_figure(comparison, "mean_change", "Change of the mean", _say("key-mean-change")),
            _key_figure(comparison, "difference_beyond", "Beyond noise", _say("key-beyond")),
        ),
        sections=tuple(sections),
        notes=_notes(comparison),
        checks=checks.alerts(comparison.checks),
    )


def _key_figure(
    comparison: VersionComparison, name: str, heading: str, meaning: Message
) -> KeyFigure:
    value = comparison[name]
    text, _, ends = str(WithInterval(value, "value")).partition(" ")
    return KeyFigure(name, heading, text, "", ends, meaning, bar=interval_bar(value)[0])


def build_figures(comparison: VersionComparison) -> tuple[Figure, ...]:
    """Return the charts of means and of differences."""
    known = comparison.whole.figures
    of_means = [Line(f"{side} version", known[f"mean_{side}"]) for side in ("old", "new")]
    within = {"difference_old": "two old ones", "difference_new": "two new ones"}
    apart = [Line(words, known[name]) for name, words in within.items() if name in known]
    apart.append(
        Line("old and new", known["difference"], "bad" if comparison.is_beyond else "open")
    )
    marks: dict[Mark, str] = {
        "base": "of one version",
        "bad": "more than noise",
        "open": "not shown to be more than noise",
    }
    return (
        intervals(
            "means", "Mean of both versions", of_means, section=CHANGES, axis="mean", unit="value"
        ),
        intervals(
            "differences",
            "Difference of two numbers of one example",
            apart,
            section=CHANGES,
            axis="absolute difference",
            unit="value",
            marks=marks,
        ),
    )
