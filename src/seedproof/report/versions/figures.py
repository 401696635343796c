"""Charts of two versions, as plain data."""

from collections.abc import Iterator, Sequence

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.messages import Message
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.versions import words

CHANGES, DIRECTIONS, CLASSES, EXAMPLES = "Changes", "Right and wrong", "Classes", "Examples"
N_DRAWN = 20
BEYOND_MARKS: dict[Mark, str] = {
    "bad": "more than another seed changes",
    "open": "not shown to be more",
}
TOGETHER = Message(
    "intervals-together", "Intervals hold for all rows of the kind together; 0 is the seed alone."
)


def slice_topic(column: str) -> str:
    """Return the topic of the values of a column."""
    return f"By {column}"


def build_figures(comparison: VersionComparison) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    figures = [_flip_rates(comparison)]
    if "accuracy_change" in comparison.whole.figures:
        figures += [_directions(comparison), _accuracy(comparison)]
    figures += _beyond("beyond_by_class", "gold class", comparison.by_class, CLASSES)
    for index, (column, parts) in enumerate(comparison.slices.items()):
        figures += _beyond(f"beyond_by_slice_{index}", column, parts, slice_topic(column))
    return tuple(figures)


def _flip_rates(comparison: VersionComparison) -> Figure:
    names = {"flip_rate_old": "two old runs", "flip_rate_new": "two new runs"}
    figures = comparison.whole.figures
    lines = [Line(text, figures[name]) for name, text in names.items() if name in figures]
    mark: Mark = "bad" if comparison.is_beyond else "open"
    lines.append(Line("old and new run", comparison["flip_rate"], mark))
    return intervals(
        "flip_rates",
        "Share of the answers on which two runs disagree",
        lines,
        section=CHANGES,
        axis="answers that differ, %",
        unit="percent",
        marks={"base": "runs of one version", **BEYOND_MARKS},
    )


def _directions(comparison: VersionComparison) -> Figure:
    lines = [
        Line("another seed", comparison["directed_flip_rate_no_change"]),
        Line("right → wrong", comparison["negative_flip_rate"], _mark(comparison, "negative")),
        Line("wrong → right", comparison["positive_flip_rate"], _mark(comparison, "positive")),
    ]
    return intervals(
        "directions",
        "Answers that became wrong, and answers that became right",
        lines,
        section=DIRECTIONS,
        axis="answers, %",
        unit="percent",
        marks={"base": "either direction, another seed alone", **BEYOND_MARKS},
    )


def _mark(comparison: VersionComparison, direction: str) -> Mark:
    beyond = comparison[f"{direction}_flip_rate_beyond"]
    is_shown = beyond.over != "examples" and beyond.low is not None and beyond.low > 0.0
    return "bad" if is_shown else "open"


def _accuracy(comparison: VersionComparison) -> Figure:
    return intervals(
        "accuracy",
        "Accuracy of both versions",
        [Line("old", comparison["accuracy_old"]), Line("new", comparison["accuracy_new"])],
        section=DIRECTIONS,
        axis="accuracy, %",
        unit="percent",
        reading=[
            Message(
                "paired-change",
                "Both are of the same examples: whether the change is shown depends on the "
                "interval of the change, not on whether these two overlap.",
            )
        ],
    )


def _beyond(name: str, what: str, parts: Sequence[GroupFigures], section: str) -> Iterator[Figure]:
    """Yield the chart of classes or slices; none if there is only one."""
    if len(parts) < 2:
        return
    shown = words.ordered(parts)[:N_DRAWN]
    lines = [Line(part.name, part.beyond, "bad" if part.is_beyond else "open") for part in shown]
    yield intervals(
        name,
        f"Answers that change beyond the seed, by {what}",
        lines,
        section=section,
        axis="beyond the seed, points",
        unit="points",
        marks=BEYOND_MARKS,
        reference=0.0,
        reading=[TOGETHER],
    )
