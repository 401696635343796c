"""Report of `sp.measure_permutation`: what shuffled attention changes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.errors import UnknownNameError
from seedproof.measurement.permutation import SCALES, PermutationGroup
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import Unit
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report.figures.base import Figure
from seedproof.report.figures.permutation import group_figures, group_name
from seedproof.report.mappings import ByName, WrittenEstimate
from seedproof.report.numbers import WithInterval, WithUnit
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells, refuse_columns
from seedproof.report.text import Prose, bare_table
from seedproof.stats.intervals import Estimate

UNITS: Mapping[str, Unit] = {"probability": "probability", "logit": "score"}
HEADER = ("answers", "difference", "probability", "log odds")
DIFFERENCES = {
    "change": "shuffled",
    "other_run": "two runs",
    "floor": "two shuffles",
    "excess": "excess",
}
SENTENCES = {
    "size": "{n_runs} runs · {n_examples:,} examples · {n_shuffles} shuffles of each",
    "headline": "Shuffling the attention changes the log odds of an answer by {change}",
    "changes": "Shuffling the attention changes the probability of the answer by {probability}, "
    "and its log odds by {logit}.",
    "nothing-changes": "Shuffling the attention changes no output at all.",
    "beyond-random-weights": "Shuffling changes the log odds by {excess} more than two shuffles "
    "differ. If weights were at random positions, there would be no such excess.",
    "like-random-weights": "Two shuffles differ by {floor}, and shuffling is not shown to change "
    "more. Weights at random positions would look the same, so the size of the change alone does "
    "not show that these weights are placed better.",
    "few-runs": "Two shuffles differ by {floor}. {n_runs} runs are too few for verdicts; use "
    "at least {n_needed}.",
    "more-than-runs": "Another run changes the log odds by {other}: shuffling changes them more.",
    "less-than-runs": "Another run changes the log odds by {other}: shuffling changes them less.",
    "like-runs": "Another run changes the log odds by {other}: neither is shown to be larger.",
    "legend": "Shuffled: mean absolute change by a shuffle, for the predicted class; 0 if the "
    "output does not depend on the attention. Two runs: the same between two runs. Two shuffles: "
    "the same between two shuffles, as large on average as a change if weights are at random "
    "positions. Excess: the change less that.",
    "limits": "A change shows that the model uses these weights, not that they explain its answer "
    "to people. No change may mean that weights are nearly equal, or that other layers carry the "
    "same information.",
}
_say = Sentences(SENTENCES)
# What a sentence is about, by its code.
TOPICS = {
    **dict.fromkeys(("more-than-runs", "less-than-runs", "like-runs"), "Another run"),
    **dict.fromkeys(("beyond-random-weights", "like-random-weights", "few-runs"), "Two shuffles"),
}


class PermutationReport(Result, ByName[Estimate]):
    """Changes by shuffled attention: a mapping of their names to estimates over all answers.

    Args:
        groups: All answers, then those of each class.
        measurement: Predictions of the runs.
        n_shuffles: Number of shuffles per example.

    >>> import numpy as np
    >>> import seedproof as sp
    >>> none = dict.fromkeys(
    ...     ("probability_change", "probability_floor", "logit_change", "logit_floor"),
    ...     np.zeros(30),
    ... )
    >>> run = sp.PermutedAttention(probs=np.full((30, 2), 0.5), n_shuffles=10, **none)
    >>> report = sp.measure_permutation([run] * 3)
    >>> print(report["logit_change"])
    0.000
    """

    _page_file = "permutation.html"
    _json_file = "permutation.json"
    _columns: ClassVar = {
        "answers": pa.string(),
        "metric": pa.string(),
        **ESTIMATE_COLUMNS,
    }

    def __init__(
        self, groups: tuple[PermutationGroup, ...], measurement: Measurement, *, n_shuffles: int
    ) -> None:
        self.groups = groups
        self.measurement = measurement
        self.n_shuffles = n_shuffles

    @property
    def _entries(self) -> Mapping[str, Estimate]:
        return {
            name: WrittenEstimate.of(value, UNITS[name.partition("_")[0]])
            for name, value in self.groups[0].metrics.items()
        }

    def _unknown(self, name: str) -> UnknownNameError:
        return UnknownNameError(
            "There is no {metric!r} in this report. It has: {known}.",
            metric=name,
            known=tuple(self.groups[0].metrics),
        )

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data: the content of `permutation.json`."""
        return {
            "runs": list(self.measurement.runs),
            "classes": list(self.measurement.classes),
            "n_examples": self.measurement.n_examples,
            "n_shuffles": self.n_shuffles,
            "groups": [group.summary() for group in self.groups],
        }

    def sentences(self) -> tuple[Message, ...]:
        """Return the findings, the most important first."""
        return tuple(_sentences(self.groups[0].metrics, self.measurement.n_runs))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        table = bare_table()
        for name in HEADER:
            table.add_column(name, no_wrap=True, overflow="ellipsis")
        for group in self.groups:
            for cells in self._rows(group):
                table.add_row(*cells)
        return Group(
            Text(self._title, style="dim"),
            Text(""),
            *(Prose(str(sentence)) for sentence in self.sentences()),
            Text(""),
            table,
            Text(""),
            *(Prose(str(_say(code)), style="dim") for code in ("legend", "limits")),
        )

    def _rows(self, group: PermutationGroup) -> Iterator[tuple[str, ...]]:
        name = group_name(group, self.measurement.classes)
        for kind, words in DIFFERENCES.items():
            if f"logit_{kind}" in group.metrics:
                values = [WithInterval(group.metrics[f"{x}_{kind}"], UNITS[x]) for x in SCALES]
                yield (name, words, *map(str, values))
                name = ""

    def _records(self) -> list[dict[str, Any]]:
        return [
            {
                "answers": group_name(group, self.measurement.classes),
                "metric": name,
                **estimate_cells(value),
            }
            for group in self.groups
            for name, value in group.metrics.items()
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(x for group in self.groups for x in group_figures(group, self.measurement))

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        return Overview(
            headline=str(self._headline),
            title=self._title,
            sentences=tuple((TOPICS.get(x.code, "Change"), str(x)) for x in self.sentences()),
            sections=tuple(map(self._section, self.groups)),
            notes=(str(_say("limits")),),
        )

    def _section(self, group: PermutationGroup) -> Section:
        name = group_name(group, self.measurement.classes)
        finding = f"{group.n_answers:,} answers of {self.measurement.n_runs} runs"
        legend = (str(_say("legend")),)
        return Section(name, finding, (TextTable(HEADER, tuple(self._rows(group)), notes=legend),))

    @property
    def _headline(self) -> Message:
        value = self.groups[0].metrics["logit_change"].value
        if value == 0.0:
            return _say("nothing-changes")
        return _say("headline", change=WithUnit(value, UNITS["logit"]))

    @property
    def _title(self) -> str:
        n_runs, n_examples = self.measurement.n_runs, self.measurement.n_examples
        return str(_say("size", n_runs=n_runs, n_examples=n_examples, n_shuffles=self.n_shuffles))

    def _about(self) -> str:
        return f"of {self.measurement.n_runs} runs: logit_change {self['logit_change']}"


def _sentences(metrics: Mapping[str, Estimate], n_runs: int) -> Iterator[Message]:
    if metrics["logit_change"].value == 0.0:
        yield _say("nothing-changes")
        return
    yield _say(
        "changes",
        **{scale: WithInterval(metrics[f"{scale}_change"], UNITS[scale]) for scale in SCALES},
    )
    if n_runs < VERDICT_FROM:
        floor = WithInterval(metrics["logit_floor"], UNITS["logit"])
        yield _say("few-runs", floor=floor, n_runs=n_runs, n_needed=VERDICT_FROM)
        return
    other = metrics["logit_other_run"]
    yield _say(_against(metrics["logit_change"], other), other=WithInterval(other, UNITS["logit"]))
    is_beyond = (metrics["logit_excess"].low or 0.0) > 0.0
    yield _say(
        "beyond-random-weights" if is_beyond else "like-random-weights",
        floor=WithInterval(metrics["logit_floor"], UNITS["logit"]),
        excess=WithInterval(metrics["logit_excess"], UNITS["logit"]),
    )


def _against(change: Estimate, other: Estimate) -> str:
    """Return how shuffling compares with another run, as far as the intervals show it."""
    low, high = (change.value if x is None else x for x in (change.low, change.high))
    least, most = (other.value if x is None else x for x in (other.low, other.high))
    if low > most:
        return "more-than-runs"
    return "less-than-runs" if high < least else "like-runs"
