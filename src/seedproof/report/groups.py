"""Classes and slices of a measurement: a sentence and a table for each kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card, card_name
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.records.schema import Kind
from seedproof.report.numbers import WithInterval, WithUnit
from seedproof.stats.intervals import Estimate

# Rows on a page; a terminal shows fewer.
N_ON_PAGE = 20
# How steady groups are, and how good: cards of the metrics of each kind of answers.
STABILITY = (
    "flip_rate",
    "mean_difference",
    "label_flips",
    "jaccard_distance",
    "jaccard_distance@k",
)
QUALITY = ("accuracy", "mean", "micro_f1", "ndcg@k")
SENTENCES = {
    "class": "class",
    "gold-class": "label",
    "majority-class": "majority class",
    "slice": "value of {column}",
    "least-stable": "Least stable {what}: {name}, {metric} {value} (overall {overall}).",
    "none-less-stable": "No {what} is shown to be less stable than the test set as a whole.",
    "too-few-runs-to-judge": "{n_runs} runs are too few to show which {what} is less stable than "
    "the test set as a whole.",
    "set-label": "label",
    "one-trial": "One trial does not show which {what} is less stable.",
    "rows-left-out": "{n_shown} of {n_groups:,} shown; all are in summary.json (--out).",
    "rows-marked": "Intervals hold simultaneously for {rows}. * marks {metrics} shown to be above "
    "the overall {overall}.",
    "rows-unmarked": "Intervals hold simultaneously for {rows}.",
    "both-rows": "both rows",
    "all-rows": "all {n_groups:,} rows",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class GroupTable:
    """The classes, or the values of one column, the least stable first."""

    topic: str
    finding: Message
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the name first
    n_groups: int
    legend: Message
    is_requested: bool  # by a slice; classes are always measured
    differs: bool  # whether runs differ at all

    def notes(self, n_listed: int = N_ON_PAGE) -> tuple[Message, ...]:
        """Return how to read a table of so many rows."""
        if self.n_groups <= n_listed:
            return (self.legend,)
        left_out = _say("rows-left-out", n_shown=n_listed, n_groups=self.n_groups)
        return left_out, self.legend


def group_tables(measurement: Measurement) -> tuple[GroupTable, ...]:
    """Return a table for the classes and one for each slice, if it has several groups."""
    return tuple(
        _of_one_trial(str(column), groups)
        if _first_of(groups, STABILITY) is None
        else _table(measurement, column, groups)
        for column, groups in _kinds(measurement)
        if len(groups) > 1
    )


def findings(measurement: Measurement) -> dict[str, tuple[Message, ...]]:
    """Return the least stable class and the least stable value of each slice, by topic."""
    has_verdicts = measurement.n_runs >= VERDICT_FROM or measurement.repeats == "trials"
    return {
        table.topic: (table.finding,)
        for table in group_tables(measurement)
        if table.differs and (has_verdicts or table.is_requested)
    }


def _kinds(measurement: Measurement) -> Iterator[tuple[str | None, Sequence[GroupMetrics]]]:
    """Yield the classes, whose column is None, and the values of each sliced column."""
    yield None, measurement.by_class
    yield from measurement.slices.items()


def _table(
    measurement: Measurement, column: str | None, groups: Sequence[GroupMetrics]
) -> GroupTable:
    stability, quality = _stability(groups), _first_of(groups, QUALITY)
    overall = WithUnit(measurement.metrics[stability].value, card(stability).unit)
    is_marked = any(group.is_less_stable for group in groups)
    title = str(_class(measurement, "gold-class")) if column is None else column
    # Those that are shown to be less stable first; those without repeated examples last.
    missing = Estimate(float("-inf"))
    ordered = sorted(
        groups,
        key=lambda x: (not x.is_less_stable, -x.metrics.get(stability, missing).value),
    )
    return GroupTable(
        topic=_topic(measurement) if column is None else f"By {column}",
        finding=_finding(measurement, column, ordered[0]),
        header=(title, "examples", _spoken(stability), *([_spoken(quality)] if quality else [])),
        rows=tuple(_cells(group, stability, quality) for group in ordered[:N_ON_PAGE]),
        n_groups=len(groups),
        legend=_say(
            "rows-marked" if is_marked else "rows-unmarked",
            rows=_say("both-rows" if len(groups) == 2 else "all-rows", n_groups=len(groups)),
            overall=overall,
            metrics=f"{_spoken(stability).removesuffix('s')}s",
        ),
        is_requested=column is not None,
        differs=measurement.metrics[stability].value > 0.0,
    )


def _of_one_trial(column: str, groups: Sequence[GroupMetrics]) -> GroupTable:
    """Return the means of the values of a slice: a single trial shows nothing about stability."""
    quality = _first_of(groups, QUALITY) or QUALITY[0]
    rows = _say("both-rows" if len(groups) == 2 else "all-rows", n_groups=len(groups))
    return GroupTable(
        topic=f"By {column}",
        finding=_say("one-trial", what=_say("slice", column=column)),
        header=(column, "examples", _spoken(quality)),
        rows=tuple(_cells(group, quality, None) for group in groups[:N_ON_PAGE]),
        n_groups=len(groups),
        legend=_say("rows-unmarked", rows=rows),
        is_requested=True,
        differs=True,
    )


def _topic(measurement: Measurement) -> str:
    return "Labels" if measurement.kind == Kind.SETS else "Classes"


def _class(measurement: Measurement, code: str) -> Message:
    """Return the noun of the classes, or of the labels of sets."""
    if measurement.kind == Kind.SETS:
        return _say("set-label")
    return _say(code if measurement.n_labeled else "majority-class")


def _stability(groups: Sequence[GroupMetrics]) -> str:
    """Return the metric by which groups are ordered and judged."""
    return _first_of(groups, STABILITY) or STABILITY[0]


def _first_of(groups: Sequence[GroupMetrics], cards: Sequence[str]) -> str | None:
    """Return the first metric of groups that has one of several cards, if there is any."""
    by_card = {card_name(name): name for group in groups for name in group.metrics}
    return next((by_card[name] for name in cards if name in by_card), None)


def _spoken(metric: str) -> str:
    return metric.replace("_", " ")


def _finding(measurement: Measurement, column: str | None, first: GroupMetrics) -> Message:
    what = _class(measurement, "class") if column is None else _say("slice", column=column)
    stability = _stability([first])
    unit = card(stability).unit
    if first.is_less_stable:
        return _say(
            "least-stable",
            what=what,
            name=first.name,
            metric=_spoken(stability),
            value=WithInterval(first.metrics[stability], unit),
            overall=WithUnit(measurement.metrics[stability].value, unit),
        )
    if measurement.n_runs < VERDICT_FROM and measurement.repeats != "trials":
        return _say("too-few-runs-to-judge", what=what, n_runs=measurement.n_runs)
    return _say("none-less-stable", what=what)


def _cells(group: GroupMetrics, stability: str, quality: str | None) -> tuple[str, ...]:
    spread = "–"
    if stability in group.metrics:
        spread = str(WithInterval(group.metrics[stability], card(stability).unit))
    cells = (group.name, f"{group.n_examples:,}", spread + " *" * group.is_less_stable)
    if quality is None:
        return cells
    value = group.metrics.get(quality)
    return (*cells, "" if value is None else str(WithInterval(value, card(quality).unit)))
