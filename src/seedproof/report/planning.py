"""`sp.plan`: how many seeds a difference needs, and what a number of seeds can show."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from seedproof.comparison.planning.answers import Answer, Reach
from seedproof.messages import Message
from seedproof.report import planning_overview
from seedproof.report.figures.base import Figure
from seedproof.report.overview import Overview
from seedproof.report.planning_text import Figures, lines, notes, sentences
from seedproof.report.result import Result, refuse_columns

FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """How many seeds to make: `print` it, or take its figures.

    Args:
        answers: One per effect that was asked for.
        reaches: What numbers of seeds can show.
        figures: What both were computed from.

    >>> import seedproof as sp
    >>> plan = sp.plan(sd=0.012, detect=0.01)
    >>> plan
    <Plan: 24 seeds per arm are needed>
    >>> plan.answers[0].n_seeds
    24
    """

    answers: tuple[Answer, ...]
    reaches: tuple[Reach, ...]
    figures: Figures

    _page_file = "plan.html"
    _json_file = "plan.json"
    _columns: ClassVar = {
        "question": pa.string(),
        "kind": pa.string(),
        "effect": pa.float64(),
        "given": pa.float64(),
        "n_seeds": pa.int64(),
        "n_seeds_low": pa.int64(),
        "n_seeds_high": pa.int64(),
        "observed": pa.float64(),
        "detectable": pa.float64(),
    }

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "format": FORMAT,
            **asdict(self.figures),
            "answers": [asdict(answer) for answer in self.answers],
            "reaches": [asdict(reach) for reach in self.reaches],
        }

    def sentences(self) -> tuple[Message, ...]:
        """Return the answers, and how to read what seeds can show."""
        return tuple(sentences(self.answers, self.reaches, self.figures))

    def notes(self) -> tuple[Message, ...]:
        """Return what the figures take for granted."""
        return tuple(notes(self.answers, self.reaches, self.figures))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from lines(self.answers, self.reaches, self.figures, width=options.max_width)

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        return self

    def _records(self) -> list[dict[str, Any]]:
        return planning_overview.records(self.answers, self.reaches)

    def _figures(self) -> tuple[Figure, ...]:
        return planning_overview.build_figures(self.answers, self.reaches)

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        return planning_overview.build_overview(self.answers, self.reaches, self.figures)

    def __repr__(self) -> str:
        return f"<Plan: {self._about()}>"

    def _about(self) -> str:
        return planning_overview.headline(self.answers, self.reaches)
