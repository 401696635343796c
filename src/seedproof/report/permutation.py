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
from seedproof.report.numbers import WithInterval
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells, refuse_columns
from seedproof.report.text import Prose, bare_table
from seedproof.stats.intervals import Estimate

UNITS: Mapping[str, Unit] = {"probability": "probability", "logit": "score"}
HEADER = ("answers", "difference", "probability", "log odds")
DIFFERENCES = {
    "change": "shuffled",
    "floor": "two shuffles",
    "excess": "excess",
    "other_run": "two runs",
}
SENTENCES = {
    "size": "{n_runs} runs · {n_examples:,} examples · {n_shuffles} shuffles of each",
    "changes": "Shuffling the attention changes the probability of the answer by {probability}, "
    "and its log odds by {logit}.",
    "assignment-matters": "Two shuffles differ by less: the log odds change by {excess} more than "
    "if weights were assigned to positions at random. The output depends on which position gets "
    "which weight.",
    "as-if-at-random": "Two shuffles differ by as much or more: the log odds change by {excess} "
    "compared with weights that are assigned to positions at random. Nothing shows that the output "
    "depends on which position gets which weight.",
    "nothing-changes": "Shuffling the attention changes no output at all.",
    "no-verdict": "Compared with weights that are assigned to positions at random, the log odds "
    "change by {excess} more. {n_runs} runs are too few for a verdict; use at least {n_needed}.",
    "more-than-runs": "Another run changes the log odds by {other}: less than shuffling does.",
    "less-than-runs": "Another run changes the log odds by {other}: more than shuffling does.",
    "like-runs": "Another run changes the log odds by {other}.",
    "legend": "Shuffled: mean absolute change by a shuffle. Two shuffles: the same between two "
    "shuffles, which is as large if weights are assigned to positions at random. Excess: shuffled "
    "less two shuffles. Two runs: the same between two runs. All for the predicted class.",
    "limits": "A change shows that the model uses these weights, not that they explain its answer "
    "to people. No change may mean that weights are nearly equal, or that other layers carry the "
    "same information.",
}
_say = Sentences(SENTENCES)


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
        for place, (kind, words) in enumerate(DIFFERENCES.items()):
            values = [WithInterval(group.metrics[f"{x}_{kind}"], UNITS[x]) for x in SCALES]
            yield (name if place == 0 else "", words, *map(str, values))

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
        first, *others = self.sentences()
        return Overview(
            headline=str(first),
            title=self._title,
            sentences=tuple(("Shuffled attention", str(sentence)) for sentence in others),
            sections=tuple(map(self._section, self.groups)),
            notes=(str(_say("limits")),),
        )

    def _section(self, group: PermutationGroup) -> Section:
        name = group_name(group, self.measurement.classes)
        finding = f"{group.n_answers:,} answers of {self.measurement.n_runs} runs"
        legend = (str(_say("legend")),)
        return Section(name, finding, (TextTable(HEADER, tuple(self._rows(group)), notes=legend),))

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
    excess, other = metrics["logit_excess"], metrics["logit_other_run"]
    written = WithInterval(excess, UNITS["logit"])
    if n_runs < VERDICT_FROM:
        yield _say("no-verdict", excess=written, n_runs=n_runs, n_needed=VERDICT_FROM)
    else:
        matters = excess.low is not None and excess.low > 0.0
        yield _say("assignment-matters" if matters else "as-if-at-random", excess=written)
    yield _say(_against(metrics["logit_change"], other), other=WithInterval(other, UNITS["logit"]))


def _against(change: Estimate, other: Estimate) -> str:
    """Return how shuffling compares with another run, as far as the intervals show it."""
    if None in {change.low, change.high, other.low, other.high}:
        return "like-runs"
    if change.low > other.high:  # type: ignore[operator] # not None
        return "more-than-runs"
    return "less-than-runs" if change.high < other.low else "like-runs"  # type: ignore[operator]
