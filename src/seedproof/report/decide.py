"""The decision on a candidate of a research loop, for people and programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from seedproof.comparison.decide.judge import Answer, Decision
from seedproof.comparison.decide.ledger import Settings
from seedproof.measurement.selection import is_metric
from seedproof.messages import Message, Sentences, printable
from seedproof.metrics.card import Unit, card
from seedproof.predictions.checks import Check
from seedproof.report.checks import alerts, notes
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.numbers import WithInterval, WithUnit, sign
from seedproof.report.overview import Overview, Section
from seedproof.report.result import ESTIMATE_COLUMNS, Result, estimate_cells, refuse_columns
from seedproof.report.text import MAX_LINE, PLAIN_WIDTH, SEVERITY_STYLES, check_lines, wrapped
from seedproof.report.view import KeyFigure
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate

FORMAT = 1
TOPIC = "Decision"
STYLES = {
    "Keep": "bold green",
    "Discard": "bold red",
    "Run more": "bold yellow",
    "Repair": "bold yellow",
    **SEVERITY_STYLES,
}
MARKS: dict[Answer, Mark] = {"keep": "good", "discard": "bad", "run more": "open", "repair": "open"}
MEANINGS: dict[Mark, str] = {"good": "kept", "bad": "discarded", "open": "undecided"}
SENTENCES = {
    "shown-better": "Keep {name}: it is shown to be better than the baseline.",
    "quality-lost": "Discard {name}: it is shown to be worse in {quality}.",
    "not-shown": "Discard {name}: after {judged} it is not shown to be better.",
    "futile": "Discard {name}: it would hardly be kept after {most} ({chance}).",
    "gain-too-small": "Discard {name}: a gain of {min_gain:g} or more is unlikely.",
    "open": "Run more of {name}: nothing is decided after {judged}.",
    "too-few-runs": "Run more: there are too few {repeats} to judge {name}.",
    "untrusted-input": "Repair the input: a check reports an error, so {name} is not judged.",
    "difference": "{metric} {change} against the baseline, with {judged} against {n_baseline}; "
    "the brackets are a 95 % interval over {over}.",
    "ratio": "{metric} {change} times the baseline's, with {judged} against {n_baseline}; the "
    "brackets are a 95 % interval over {over}.",
    "no-change": "{metric} of {judged} was compared with {n_baseline} of the baseline.",
    "direction": "A {direction} {metric} is taken as better.",
    "trials": "Trials of one model are judged over examples, whose means contain their noise.",
    "next": "Add {more}, then decide again.",
    "chance": "If the gain is about what these {repeats} show, it will be kept with a probability "
    "of {chance}.",
    "loop": "This is candidate {position} of the loop, {n_kept} kept so far. It is kept if a "
    "one-sided test at {level:.2g} shows a gain, so that at most {false_keeps} of all keeps "
    "are expected to be false.",
    "recorded": "The decision was made earlier. Further {repeats} do not change it.",
    "after-keep": "If it becomes the baseline, add new {repeats} of it first, because its first "
    "{judged} were chosen for their results, and continue with --ledger {ledger}.",
    "selecting": "The first {n_selecting} {repeats} of the baseline were chosen for their results, "
    "so that new ones are needed in addition.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionReport(Result):
    """The decision on a candidate: `print` it, or read `answer` and `more_runs`.

    Args:
        result: The decision.

    >>> import numpy as np
    >>> import seedproof as sp
    >>> few = np.array([[0, 1], [1, 1]])
    >>> report = sp.decide(few, few + 1, labels=[0, 1], ledger="loop.jsonl")
    >>> report.answer, report.exit_code
    ('run more', 3)
    >>> report
    <DecisionReport run more: 2 runs against 2>
    """

    result: Decision

    _page_file = "decision.html"
    _json_file = "decision.json"
    _columns: ClassVar = {
        **dict.fromkeys(("answer", "reason", "metric", "candidate"), pa.string()),
        **ESTIMATE_COLUMNS,
        **dict.fromkeys(("n_runs", "n_baseline"), pa.int64()),
    }

    @property
    def answer(self) -> str:
        """`keep`, `discard`, `run more` or `repair`."""
        return self.result.verdict.answer

    def __bool__(self) -> bool:
        """Return whether the candidate is kept."""
        return self.answer == "keep"

    @property
    def exit_code(self) -> int:
        """0, 1 or 3."""
        return self.result.exit_code

    @property
    def reason(self) -> str:
        """Reason for the answer, such as `futile`."""
        return self.result.verdict.reason

    @property
    def more_runs(self) -> tuple[int, int]:
        """Runs to add until the next decision: of the candidate, and of the baseline."""
        return self.result.more_candidate, self.result.more_baseline

    @property
    def effect(self) -> Effect | None:
        """Effect of the candidate with its 95 % interval; None if it was not measured."""
        return self.result.effect

    @property
    def checks(self) -> tuple[Check, ...]:
        """Findings about the input; an error that is not allowed keeps it from being decided."""
        return self.result.checks

    def summary(self) -> dict[str, Any]:
        """Return the decision as plain data."""
        result = self.result
        fields = ("n_runs", "n_candidate", "n_baseline", "n_selecting", "level", "position")
        return {
            "format": FORMAT,
            "answer": self.answer,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "chance": result.verdict.chance,
            "name": result.name,
            "candidate": result.candidate,
            **asdict(result.settings),
            **{name: getattr(result, name) for name in fields},
            "more_runs": {"candidate": self.more_runs[0], "baseline": self.more_runs[1]},
            "n_kept": result.n_kept,
            "repeats": result.repeats,
            "is_recorded": result.is_recorded,
            "effect": None if result.effect is None else result.effect.summary(),
            "quality": None if result.quality is None else result.quality.summary(),
            "checks": [check.summary() for check in result.checks],
            "notes": [str(note) for note in result.notes],
        }

    def sentences(self) -> tuple[Message, ...]:
        """Return the answer, then its grounds."""
        return tuple(_sentences(self.result))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        return _Colored(self)

    def _lines(self, width: int) -> str:
        first, *others = map(str, self.sentences())
        blocks = [first, *check_lines(alerts(self.checks), width)]
        blocks += ["\n".join(wrapped(text, "", width) for text in others)] if others else []
        remarks = [*notes(self.checks), *map(str, self.result.notes)]
        blocks += ["\n".join(wrapped(printable(x), "Note: ", width) for x in remarks)]
        return "\n\n".join(block for block in blocks if block)

    def _estimate(self) -> Estimate | None:
        effect = self.effect
        if effect is None or effect.value is None:
            return None
        return Estimate(effect.value, effect.low, effect.high, effect.over)

    def _records(self) -> list[dict[str, Any]]:
        estimate, result = self._estimate(), self.result
        cells = {} if estimate is None else estimate_cells(estimate)
        row = {"answer": self.answer, "reason": self.reason, "metric": result.settings.metric}
        counts = {"n_runs": result.n_runs, "n_baseline": result.n_baseline}
        return [{**row, "candidate": result.name, **counts, **cells}]

    def _figures(self) -> tuple[Figure, ...]:
        estimate, effect = self._estimate(), self.effect
        if estimate is None or effect is None:
            return ()
        metric = self.result.settings.metric
        return (
            intervals(
                "gain",
                f"{metric}: change from the baseline",
                [Line(self.result.name, estimate, MARKS[self.result.verdict.answer])],
                section=TOPIC,
                axis=f"{metric}, change from the baseline (line: no change)",
                unit=_unit(effect),
                marks=MEANINGS,
                reference=1.0 if effect.scale == "ratio" else 0.0,
                takeaway=self.sentences()[0],
            ),
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        first, *others = self.sentences()
        estimate, effect = self._estimate(), self.effect
        keys: tuple[KeyFigure, ...] = ()
        if estimate is not None and effect is not None:
            value = str(WithUnit(estimate.value, _unit(effect)))
            metric = self.result.settings.metric
            keys = (KeyFigure(metric, metric, value, "", self.answer, others[0], None),)
        return Overview(
            headline=str(first),
            title=self._size,
            sentences=tuple((TOPIC, str(sentence)) for sentence in others),
            key_figures=keys,
            sections=(Section(TOPIC, str(first)),),
            notes=(*notes(self.checks), *map(str, self.result.notes)),
            checks=alerts(self.checks),
        )

    @property
    def _size(self) -> str:
        judged = _counted(self.result.n_candidate, self.result.repeats)
        return f"{judged} against {self.result.n_baseline:,}"

    def _about(self) -> str:
        return f"{self.answer}: {self._size}"


@dataclass(frozen=True)
class _Colored:
    """The decision in colors, in the width of the terminal."""

    report: DecisionReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, MAX_LINE) if console.is_terminal else PLAIN_WIDTH
        text = Text(self.report._lines(width))  # noqa: SLF001 - of the same file
        for word, style in STYLES.items():
            text.highlight_regex(f"(?m)^{word}", style=style)
        yield text


def _unit(effect: Effect) -> Unit:
    if effect.scale == "ratio":
        return "score"
    unit = card(effect.metric).unit if is_metric(effect.metric) else "value"
    return "points" if unit == "percent" else unit


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f}{sign('percent')}"


def _counted(n_runs: int, repeats: str) -> str:
    return f"{n_runs} {repeats.removesuffix('s' * (n_runs == 1))}"


def _direction(settings: Settings) -> str | None:
    """Return the direction in which the metric is better, unless its card says so."""
    if is_metric(settings.metric) and card(settings.metric).better != "neither":
        return None
    return "lower" if settings.lower_is_better else "higher"


def _sentences(result: Decision) -> Iterator[Message]:
    verdict, settings, repeats = result.verdict, result.settings, result.repeats
    judged = _counted(result.n_runs, repeats)
    yield _say(
        verdict.reason.replace(" ", "-"),
        name=repr(printable(result.name)),
        judged=judged,
        most=_counted(settings.max_runs, repeats),
        repeats=repeats,
        min_gain=settings.min_gain,
        chance=_percent(verdict.chance),
        quality="" if result.quality is None else result.quality.metric,
    )
    yield from _grounds(result, judged)
    yield from _outlook(result)
    if verdict.answer == "keep":
        yield _say("after-keep", judged=judged, repeats=repeats, ledger=result.ledger)
    if result.is_recorded:
        yield _say("recorded", repeats=repeats)


def _grounds(result: Decision, judged: str) -> Iterator[Message]:
    """Yield the change of the metric and of its quality, and what was assumed about them."""
    settings = result.settings
    for effect in (result.effect, result.quality):
        if effect is None:
            continue
        change: object = ""
        if effect.value is not None:
            estimate = Estimate(effect.value, effect.low, effect.high, effect.over)
            change = WithInterval(estimate, _unit(effect))
        yield _say(
            "no-change" if effect.value is None else effect.scale,
            metric=effect.metric,
            change=change,
            judged=judged,
            n_baseline=result.n_baseline,
            over=effect.over,
        )
    if (direction := _direction(settings)) is not None:
        yield _say("direction", direction=direction, metric=settings.metric)
    if result.are_trials:
        yield _say("trials")


def _outlook(result: Decision) -> Iterator[Message]:
    """Yield what to add, and the place of the candidate in the loop."""
    verdict, repeats = result.verdict, result.repeats
    if result.more_candidate or result.more_baseline:
        counts = ((result.more_candidate, "candidate"), (result.more_baseline, "baseline"))
        parts = [f"{_counted(n, repeats)} of the {whose}" for n, whose in counts if n]
        yield _say("next", more=" and ".join(parts))
    if verdict.answer == "run more" and verdict.chance is not None:
        yield _say("chance", chance=_percent(verdict.chance), repeats=repeats)
    if result.n_selecting:
        yield _say("selecting", n_selecting=result.n_selecting, repeats=repeats)
    if result.level is not None:
        yield _say(
            "loop",
            position=result.position,
            n_kept=result.n_kept,
            level=result.level,
            false_keeps=_percent(result.settings.false_keeps),
        )
