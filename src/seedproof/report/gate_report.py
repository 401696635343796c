"""Result of a gate, and the files for CI systems."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from seedproof.comparison.gate.judge import GateResult, RuleVerdict
from seedproof.messages import printable
from seedproof.predictions.checks import Check
from seedproof.report import gate as formats
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.gate_advice import unit_of
from seedproof.report.numbers import WithUnit
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells, refuse_columns
from seedproof.report.text import MAX_LINE, SEVERITY_STYLES
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate

STYLES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "INVESTIGATE": "bold yellow",
    **SEVERITY_STYLES,
}
RULES = "Rules"
# The page has no room for more next to each other; the table has all rules.
MAX_KEYS = 4
MARKS: dict[str, Mark] = {"pass": "good", "fail": "bad", "investigate": "open"}
MEANINGS: dict[Mark, str] = {
    "good": "the rule holds",
    "bad": "the rule is broken",
    "open": "open: the limit is inside the interval, or runs are too few or cannot be trusted",
}
BRACKETS = (
    "Brackets are 95\N{NO-BREAK SPACE}% intervals. Verdicts use a wider one where runs may be "
    "added and judged again."
)


@dataclass(frozen=True, eq=False, repr=False)
class GateReport(Result):
    """The verdict of a gate: `print` it, or get the file for a CI system.

    Args:
        result: The verdicts.

    >>> import seedproof as sp
    >>> runs = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
    >>> report = sp.gate(runs, max={"ambiguity": 0.5})
    >>> report.outcome, report.exit_code
    ('pass', 0)
    >>> report
    <GateReport pass: 1 rule, 3 runs>
    """

    result: GateResult

    _page_file = "gate.html"
    _json_file = "gate.json"
    _columns: ClassVar = {
        "kind": pa.string(),
        "metric": pa.string(),
        "limit": pa.float64(),
        "outcome": pa.string(),
        "reason": pa.string(),
        **ESTIMATE_COLUMNS,
        "baseline_value": pa.float64(),
        "more_runs": pa.int64(),
    }

    @property
    def outcome(self) -> str:
        """`pass`, `fail` or `investigate`."""
        return self.result.outcome

    def __bool__(self) -> bool:
        """Return whether the gate passed, for `assert sp.gate(...)`."""
        return self.outcome == "pass"

    @property
    def exit_code(self) -> int:
        """0, 1 or 3."""
        return self.result.exit_code

    @property
    def rules(self) -> tuple[RuleVerdict, ...]:
        """The verdict on each rule, in the order of the rules."""
        return self.result.rules

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input; an error that is not allowed keeps the gate from judging."""
        return self.result.checks

    @property
    def allowed(self) -> tuple[str, ...]:
        """Names of the checks whose errors were allowed."""
        return self.result.allowed

    def summary(self) -> dict[str, Any]:
        """Return the verdicts as plain data."""
        return formats.summary(self.result)

    def to_junit(self) -> str:
        """Return the verdicts as JUnit XML, one test case per rule and per error."""
        return formats.as_junit(self.result)

    def to_markdown(self, *, command: str | None = None) -> str:
        """Return the verdicts as a comment for a pull request.

        Args:
            command: The command that made it, for the end of the comment.

        Returns:
            GitHub's Markdown.
        """
        return formats.as_markdown(self.result, command=command)

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        return _Colored(self.result)

    def _records(self) -> list[dict[str, Any]]:
        return [
            asdict(verdict.rule)
            | estimate_cells(verdict.estimate)
            | {
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "baseline_value": None if verdict.baseline is None else verdict.baseline.value,
                "more_runs": formats.more_runs(verdict),
            }
            for verdict in self.rules
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(_figure(index, verdict) for index, verdict in enumerate(self.rules, start=1))

    def _first_figure(self) -> Figure | None:
        pairs = zip(self._figures(), self.rules, strict=True)
        return next((figure for figure, verdict in pairs if verdict.outcome == self.outcome), None)

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        rows = tuple(
            (verdict.rule.metric, verdict.outcome, *formats.cells(verdict))
            for verdict in self.rules
        )
        header = ("metric", "verdict", *formats.HEADER)
        return Overview(
            headline=str(formats.headline(self.result)),
            title=self._size,
            sentences=tuple(
                (verdict.outcome.capitalize(), formats.stated(verdict)) for verdict in self.rules
            ),
            key_figures=tuple(map(_key_figure, self.rules[:MAX_KEYS])),
            sections=(Section(RULES, "Every rule and its verdict", (TextTable(header, rows),)),),
            notes=tuple(formats.notes_of(self.result)),
            checks=formats.shown_checks(self.result),
            allowed=self.allowed,
            brackets=BRACKETS,
        )

    @property
    def _size(self) -> str:
        rules = "rule" if len(self.rules) == 1 else "rules"
        return f"{len(self.rules):,} {rules}, {self.result.n_runs:,} {self.result.stage.repeats}"

    def _about(self) -> str:
        return f"{self.outcome}: {self._size}"


@dataclass(frozen=True)
class _Colored:
    """The verdicts in colors, in the width of the terminal."""

    result: GateResult

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text(formats.as_text(self.result, width=min(options.max_width, MAX_LINE)))
        for word, style in STYLES.items():
            text.highlight_regex(f"(?m)^{word}", style=style)
        yield text


def _key_figure(verdict: RuleVerdict) -> KeyFigure:
    return KeyFigure(
        name=verdict.rule.metric,
        title=verdict.rule.metric,
        value=str(WithUnit(verdict.estimate.value, unit_of(verdict.rule))),
        unit="",
        interval=f"{verdict.outcome}: {formats.limit_text(verdict.rule)}",
        meaning=formats.sentence(verdict),
        bar=None,
    )


def _figure(index: int, verdict: RuleVerdict) -> Figure:
    """Return a chart of a rule: its value or its change, with the limit as a line."""
    effect, unit = verdict.effect, unit_of(verdict.rule)
    estimate, what = verdict.estimate, ""
    limit: float | None = verdict.rule.limit
    if verdict.rule.kind == "no-worse":
        limit = None
        if effect is not None and effect.value is not None:  # no ratio to a baseline of 0
            low, high = (
                None if end is None or math.isinf(end) else end for end in (effect.low, effect.high)
            )
            estimate, limit = Estimate(effect.value, low, high), verdict.limit
            what, unit = ", change from the baseline", "points" if unit == "percent" else unit
            if effect.scale == "ratio":
                what, unit = ", times the baseline", "score"
    wider = verdict.deciding
    if wider is not None and (
        (wider.low, wider.high) == (estimate.low, estimate.high)
        or not all(map(math.isfinite, (wider.low or 0.0, wider.value, wider.high or 0.0)))
    ):
        wider = None
    name = printable(verdict.rule.metric)
    in_unit = {"percent": ", %", "points": ", points", "nats": ", nats"}.get(unit, "")
    return intervals(
        f"rule_{index}",
        f"{name}: {formats.limit_text(verdict.rule)}",
        [
            Line("95 % interval", estimate, MARKS[verdict.outcome]),
            *([] if wider is None else [Line("judged by", wider, MARKS[verdict.outcome])]),
        ],
        section=RULES,
        axis=f"{name}{what}{in_unit}{'' if limit is None else ' (line: the limit)'}",
        unit=unit,
        marks=MEANINGS,
        reference=limit,
        takeaway=formats.sentence(verdict),
    )
