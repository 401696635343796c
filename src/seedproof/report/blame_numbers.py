"""Report of `sp.blame` for numbers: which part of the variance makes a mean uncertain."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.comparison.blame.numbers import EXAMPLE, More, NumberBlame, VariancePart
from seedproof.messages import Message, Sentences
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.records.answer_settings import JUDGE, weighted_by
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import WithInterval, WithUnit
from seedproof.report.overview import Overview, Section, TextTable, key_figure
from seedproof.report.result import ESTIMATE_COLUMNS, Result, refuse_columns
from seedproof.report.text import Prose, bare_table
from seedproof.stats.intervals import Estimate
from seedproof.stats.spread_interval import SPREAD_FROM

HEADER = ("part", "sd", "of one number", "of the mean")
TOPIC = "Parts of the variance"
SENTENCES = {
    "parts": "{repeats} · {n_examples:,} examples{weights}",
    "standard-error": "The mean is {mean}, with a standard error of {error}.",
    "largest-part": "The largest part of its uncertainty comes from {part}: {share} of the squared "
    "standard error.",
    "narrower": "Its interval would be narrower by {listed}.",
    "legend": "Of one number: share of the variance of a single number. Of the mean: share of the "
    "squared standard error of the mean. The narrowing takes the parts as they are estimated.",
    "few-runs": "With fewer than {n_needed} runs (here {n_runs}), parts have no intervals, and "
    "that of runs may be far off.",
    "independent-trials": "Trials of one model are independent, so that none is better than "
    "another on all examples.",
    "weighted": "Figures are weighted: {n_examples:,} examples are as informative as "
    "{n_effective:.1f} of equal weight.",
    "same-judges": "The same judges grade every answer: how strict they are is drawn once, so that "
    "neither more trials nor more examples average it out, and the interval of the mean is over "
    "judges like these.",
    "few-judges": "With fewer than {n_needed} judges (here {n_judges}), parts have no intervals, "
    "and that of judges may be far off.",
    "residual": "{part} contains the noise of single numbers.",
    "largest": "of the squared standard error of the mean.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True, eq=False, repr=False)
class VarianceReport(Result):
    """Parts of the uncertainty of a mean, and what more repeats or examples would remove of it.

    Args:
        result: The parts.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> draw = np.random.default_rng(0).normal
        >>> scores = draw(size=200) + 0.1 * draw(size=(5, 200))
        >>> report = sp.blame(scores)
        >>> report.result.parts[0].metric
        'variance_example'
        >>> report.result.more[0].unit
        'example'
    """

    result: NumberBlame

    _page_file = "blame.html"
    _json_file = "blame.json"
    _columns: ClassVar = {
        "metric": pa.string(),
        **ESTIMATE_COLUMNS,
        **dict.fromkeys(("sd", "of_mean"), pa.float64()),
    }

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.result.summary()

    def sentences(self) -> tuple[Message, ...]:
        """Return the findings, the most important first."""
        blame, first = self.result, self.result.parts[0]
        return (
            _say(
                "standard-error",
                mean=WithInterval(blame.mean, "value"),
                error=WithUnit(blame.standard_error, "value"),
            ),
            _say("largest-part", part=_drawn_by(first), share=WithUnit(first.of_mean, "percent")),
            _say("narrower", listed=_listed(blame)),
        )

    def notes(self) -> tuple[Message, ...]:
        """Return notes on the limits of the figures."""
        return tuple(_notes(self.result))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        table = bare_table(len(HEADER))
        table.add_column(HEADER[0], style="bold", no_wrap=True)
        for name in HEADER[1:]:
            table.add_column(name, no_wrap=True, justify="right" if name != HEADER[2] else "left")
        for cells in _rows(self.result):
            table.add_row(*cells)
        notes = (str(_say("legend")), *(f"Note: {note}" for note in self.notes()))
        return Group(
            Text(str(_title(self.result)), style="dim"),
            Text(""),
            *(Prose(str(sentence)) for sentence in self.sentences()),
            Text(""),
            table,
            Text(""),
            *(Prose(note, style="dim") for note in notes),
        )

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"metric": part.metric, **asdict(part.share), "sd": part.sd, "of_mean": part.of_mean}
            for part in self.result.parts
        ]

    def _figures(self) -> tuple[Figure, ...]:
        lines = [Line(_drawn_by(part), part.share) for part in self.result.parts]
        figure = intervals(
            "variance_parts",
            "Parts of the variance of a single number",
            lines,
            section=TOPIC,
            axis="share of the variance, %",
            unit="percent",
            reference=0.0,
        )
        return (figure,)

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        first, legend = self.result.parts[0], (str(_say("legend")),)
        title = f"From {_drawn_by(first)}"
        largest = Estimate(first.of_mean)
        return Overview(
            headline=self._headline,
            title=str(_title(self.result)),
            sentences=tuple((TOPIC, str(sentence)) for sentence in self.sentences()),
            key_figures=(
                key_figure(first.metric, title, largest, _say("largest"), is_difference=False),
            ),
            sections=(
                Section(
                    TOPIC,
                    self._headline,
                    (TextTable(HEADER, tuple(_rows(self.result)), notes=legend),),
                ),
            ),
            notes=tuple(map(str, self.notes())),
        )

    @property
    def _headline(self) -> str:
        return f"The largest part of the uncertainty comes from {_drawn_by(self.result.parts[0])}"

    def _about(self) -> str:
        return f"of {_repeats(self.result)}: {self._headline}"


def _title(blame: NumberBlame) -> Message:
    return _say(
        "parts",
        repeats=_repeats(blame),
        n_examples=blame.sizes[EXAMPLE],
        weights=weighted_by(blame.weights),
    )


def _repeats(blame: NumberBlame) -> str:
    levels = [(name, size) for name, size in blame.sizes.items() if name != EXAMPLE]
    return " × ".join(f"{size} {name}{'s' * (size != 1)}" for name, size in levels)


def _drawn_by(part: VariancePart) -> str:
    return " × ".join(f"{unit}s" for unit in part.units)


def _listed(blame: NumberBlame) -> str:
    """Return the effect of twice as many of each unit in words."""
    levels = [name for name in blame.sizes if name != EXAMPLE]

    def effect(more: More) -> str:
        is_inner = more.unit in levels[1:] and not (more.unit == JUDGE and blame.has_same_judges)
        outer = levels[levels.index(more.unit) - 1] if is_inner else None
        of_each = "" if outer is None else f" per {outer}"
        share = WithUnit(more.narrower, "percent")
        return f"{share} with {more.n_now:,} more {more.unit}s{of_each}"

    return ", ".join(map(effect, blame.more))


def _rows(blame: NumberBlame) -> Iterator[tuple[str, ...]]:
    for part in blame.parts:
        share, of_mean = WithInterval(part.share, "percent"), WithUnit(part.of_mean, "percent")
        yield _drawn_by(part), str(WithUnit(part.sd, "value")), str(share), str(of_mean)


def _notes(blame: NumberBlame) -> Iterator[Message]:
    residual = next(part for part in blame.parts if part.metric == "variance_residual")
    if blame.weights is not None:
        n_examples, n_effective = blame.sizes[EXAMPLE], blame.weights.n_effective
        yield _say("weighted", n_examples=n_examples, n_effective=n_effective)
    if blame.has_same_judges:
        yield _say("same-judges")
    if blame.has_same_judges and blame.sizes[JUDGE] < SPREAD_FROM:
        yield _say("few-judges", n_needed=SPREAD_FROM, n_judges=blame.sizes[JUDGE])
    if blame.repeats == "trials":
        yield _say("independent-trials")
    elif next(iter(blame.sizes.values())) < VERDICT_FROM:
        n_runs = next(iter(blame.sizes.values()))
        yield _say("few-runs", n_needed=VERDICT_FROM, n_runs=n_runs)
    yield _say("residual", part=_drawn_by(residual).capitalize())
