"""Report of `sp.plan`: seeds needed to detect a difference, and what given seeds can detect."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.comparison.planning.answers import Answer, Reach
from seedproof.comparison.planning.pilot import Drawn, Kind, Pilot
from seedproof.messages import Message, Sentences
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import NO_BREAK, span
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.planning_reaches import KINDS, REACH, reach_cells, reach_figures
from seedproof.report.result import Result, refuse_columns
from seedproof.report.text import Prose, bare_table
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate
from seedproof.stats.spread_interval import SPREAD_FROM

FORMAT = 1
ANSWERS = "Seeds needed"
LINES: dict[Kind, str] = {"mean": "means, by", "sd": "spreads, times", "flip_rate": "flips, times"}
SENTENCES = {
    "mean": "a difference of {effect:.4g} between two means",
    "sd": "that the standard deviation of one arm is {effect:.4g} times the other's",
    "flip_rate": "that the flip rate of one arm is {effect:.4g} times the other's",
    "skew-of-mean": "If runs have a long tail, means of few of them are less certain: in "
    "simulations of 5 to 80 runs, an arm whose tail the other lacks is shown to be better wrongly "
    "in up to 5 % of studies instead of 2.5 %, and passes a limit of its own in up to 18 %.",
    "skew-of-sd": "For standard deviations, seedproof compare relies less on this assumption and "
    "needs about three more seeds; with a kurtosis of k instead of 3, you need (k - 1)/2 times as "
    "many.",
    "skew-of-flip_rate": "Rare bad runs make flip rates less certain than this plan assumes.",
    "too-few-pilot-runs": "{n_runs} runs are too few to show how precise that is; use {at_least} "
    "or more.",
    "too-few-examples": "If these figures hold, no number of {repeats} shows {effect} on "
    "{n_examples:,} examples{clusters}: the choice of examples alone changes the {contrast} too "
    "much. Use more than {n_needed:,} examples{more_clusters}, or arms that {answer} on the same "
    "examples, with a correlation of {correlation:.3g} or more.",
    "too-few-examples-of-pilot": "To show {effect}, you need more than the {n_examples:,} "
    "examples{clusters} of the pilot, whose choice alone changes the {contrast} too much: more "
    "than {n_needed:,}{range}{more_clusters}, or arms that {answer} on the same examples, with a "
    "correlation of {correlation:.3g} or more.",
    "maybe-too-few-examples": "To show {effect} on {n_examples:,} examples{clusters}, you need "
    "{low:,} {repeats} per arm or more: the pilot leaves open whether any number is enough. At its "
    "estimates, use more than {n_needed:,} examples{range}{more_clusters}, or arms that {answer} "
    "on the same examples, with a correlation of {correlation:.3g} or more.",
    "or-examples": "With {n_runs} trials of each, as in the pilot, you need {n_examples:,} "
    "examples{range}.",
    "normal-runs": "The metric is assumed to be normally distributed across runs. {skew}",
    "trials-over-examples": "Trials of one model are judged over examples, so any number of them "
    "is enough for a verdict; more trials shrink their noise, and more examples shrink both.",
    "equal-unpaired-arms": "All arms are assumed to vary equally and to be unpaired.",
    "equal-arms": "All arms are assumed to vary equally.",
    "several-arms": "Each of the {n_arms:,} arms is compared with the same baseline. All verdicts "
    "hold simultaneously with the confidence of the plan, and the power is that of each arm.",
    "primary-metric": "The power holds for the primary metric of the comparison, see --primary of "
    "seedproof compare. Other metrics are exploratory and need more {repeats}.{guarded}",
    "guarded": " Flips and spreads are judged together with a quality such as accuracy, if there "
    "is one: pass --confidence 0.975.",
    "weighted": "The mean is weighted by the column {column!r}: the pilot's examples are as "
    "informative as {n_effective:.1f} of equal weight. New ones are assumed to have like weights.",
    "enough-examples": "For {kinds}, the number of examples is assumed to be sufficient; a pilot "
    "checks that.",
    "unrelated-examples": "For {kinds}, both arms are assumed to {answer} on unrelated examples, "
    "which is conservative. If you know the correlation over examples, pass it with "
    "--example-correlation, or example_correlation= in Python. A pilot of two arms estimates it.",
    "correlated-examples": "For {kinds}, both arms are assumed to {answer} on the same examples, "
    "with a correlation of {correlation:.2g}{range}.",
    "seeds-for-effect": "the fewest that detect it with the power of the plan.",
    "range-of-pilot": "Lines cover the range that the pilot allows.",
}
_say = Sentences(SENTENCES)
# Confidence of a metric that is judged together with a quality.
GUARDED = 0.975
# Plural of each kind that depends on examples.
OVER_EXAMPLES: dict[Kind, str] = {"mean": "means", "flip_rate": "flip rates"}


@dataclass(frozen=True)
class Figures:
    """Input of a plan; unknown figures are None.

    Both sd and cv come from the pilot, or are assumed if there is none. Unpaired arms have no
    correlation of runs. Kinds without examples are planned as if there were enough of them.
    """

    power: float
    confidence: float
    arms: int
    sd: float | None
    cv: float | None
    paired_correlation: float | None
    examples: Mapping[Kind, Drawn]
    pilot: Pilot | None


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """Number of seeds to run: `print` it, or read its figures.

    Args:
        answers: One per requested effect.
        reaches: Differences that given numbers of seeds can detect.
        figures: Input of both.

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
        **dict.fromkeys(("question", "kind"), pa.string()),
        **dict.fromkeys(("effect", "given"), pa.float64()),
        **dict.fromkeys(("n_seeds", "n_seeds_low", "n_seeds_high"), pa.int64()),
        **dict.fromkeys(("observed", "detectable"), pa.float64()),
    }

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        figures, pilot = asdict(self.figures), self.figures.pilot
        if pilot is not None:
            del figures["pilot"]["weights"]
            if pilot.weights is not None:
                figures["pilot"]["weights"] = pilot.weights.summary()
        return {
            "format": FORMAT,
            **figures,
            "answers": [asdict(answer) for answer in self.answers],
            "reaches": [asdict(reach) for reach in self.reaches],
        }

    def sentences(self) -> tuple[Message, ...]:
        """Return the answers, and how to read the table of detectable differences."""
        answers = [_answer(answer, self.figures) for answer in self.answers]
        return (*answers, *([_how_to_read(self.reaches, self.figures)] if self.reaches else []))

    def notes(self) -> tuple[Message, ...]:
        """Return the assumptions."""
        return tuple(_notes(self.answers, self.reaches, self.figures))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        parts: list[RenderableType] = []
        for message in self.sentences():
            parts += [Prose(str(message)), Text("")]
        if self.reaches:
            table, before = bare_table(), ""
            table.add_column(self._header[0], style="bold", no_wrap=True)
            for title in self._header[1:]:
                table.add_column(title, justify="right", no_wrap=True)
            for name, *cells in map(reach_cells, self.reaches):
                table.add_row("" if name == before else name, *cells)
                before = name
            parts += [table, Text("")]
        return Group(*parts, *(Prose(f"Note: {note}", style="dim") for note in self.notes()))

    @property
    def _header(self) -> tuple[str, ...]:
        return (
            "quantity",
            _repeats(self.figures),
            "observed",
            f"true, {100 * self.figures.power:g}{NO_BREAK}% power",
        )

    def _records(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [
            {
                "question": "seeds needed",
                "kind": answer.kind,
                "effect": answer.effect,
                "n_seeds": answer.n_seeds,
                "n_seeds_low": answer.low,
                "n_seeds_high": answer.high,
            }
            for answer in self.answers
        ]
        names = ("kind", "given", "n_seeds", "observed", "detectable")
        return rows + [
            {"question": "what seeds can show", **{name: getattr(reach, name) for name in names}}
            for reach in self.reaches
        ]

    def _figures(self) -> tuple[Figure, ...]:
        needed = [
            Line(
                f"{LINES[answer.kind]} {answer.effect:.4g}",
                Estimate(answer.n_seeds, answer.low, answer.high),
            )
            for answer in self.answers
            if answer.n_seeds is not None
        ]
        reaches = tuple(reach_figures(self.reaches, _repeats(self.figures)))
        if not needed:
            return reaches
        is_range = any(answer.low is not None for answer in self.answers)
        chart = intervals(
            "seeds_needed",
            f"{_repeats(self.figures).capitalize()} per arm that are needed",
            needed,
            section=ANSWERS,
            axis=f"{_repeats(self.figures)} per arm",
            unit="score",
            reading=[_say("range-of-pilot")] if is_range else [],
        )
        return chart, *reaches

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        figures, sections = self.figures, []
        if self.answers:
            rows = tuple(
                (
                    KINDS[answer.kind],
                    f"{answer.effect:.4g}",
                    "more examples" if answer.n_seeds is None else f"{answer.n_seeds:,}",
                    _span(answer) or "–",
                )
                for answer in self.answers
            )
            repeats = f"{_repeats(figures)} per arm"
            header = ("quantity", "by", repeats, "range of the pilot")
            sections.append(Section(ANSWERS, self._about(), (TextTable(header, rows),)))
        if self.reaches:
            table = TextTable(self._header, tuple(map(reach_cells, self.reaches)))
            finding = f"Differences that given {_repeats(figures)} per arm can detect"
            sections.append(Section(REACH, finding, (table,)))
        topics = [ANSWERS] * len(self.answers) + [REACH]
        return Overview(
            headline=self._about(),
            title=f"power {figures.power:g}, confidence {figures.confidence:g}",
            sentences=tuple(zip(topics, map(str, self.sentences()), strict=False)),
            key_figures=tuple(_key_figure(answer, _repeats(figures)) for answer in self.answers),
            sections=tuple(sections),
            notes=tuple(map(str, self.notes())),
            brackets="",
        )

    def __repr__(self) -> str:
        return f"<Plan: {self._about()}>"

    def _about(self) -> str:
        """Return the plan in one short sentence."""
        needed = [answer.n_seeds for answer in self.answers]
        if None in needed:
            return "More examples are needed" + " for a part of the questions" * any(needed)
        if needed:
            most = max(n for n in needed if n is not None)
            return f"{most:,} {_repeats(self.figures)} per arm are needed"
        sizes = [f"{n:,}" for n in dict.fromkeys(reach.n_seeds for reach in self.reaches)]
        listed = f"{', '.join(sizes[:-1])} and {sizes[-1]}" if len(sizes) > 1 else "".join(sizes)
        return f"Differences that {listed} {_repeats(self.figures)} per arm can detect"


def _repeats(figures: Figures) -> str:
    """Return the unit that is planned: trials of one model, or seeds."""
    return "trials" if figures.pilot is not None and figures.pilot.are_trials else "seeds"


def _verb(kind: Kind, figures: Figures) -> str:
    """Return what arms do on an example."""
    if kind == "flip_rate":
        return "flip"
    is_of_numbers = figures.pilot is not None and figures.pilot.is_of_numbers
    return "score high" if is_of_numbers else "be right"


def _answer(answer: Answer, figures: Figures) -> Message:
    pilot = figures.pilot
    effect = abs(answer.effect) if answer.kind == "mean" else answer.effect
    what = _say(answer.kind, effect=effect)
    if answer.n_seeds is None:
        drawn = figures.examples[answer.kind]
        has_clusters = drawn.n_clusters is not None
        code = "too-few-examples" if pilot is None else "too-few-examples-of-pilot"
        return _say(
            code if answer.low is None else "maybe-too-few-examples",
            effect=what,
            low=answer.low,
            range=_examples_range(answer),
            repeats=_repeats(figures),
            n_examples=drawn.n_examples,
            clusters=f" in {drawn.n_clusters:,} clusters" if has_clusters else "",
            contrast="difference" if answer.kind == "mean" else "ratio",
            more_clusters=", in as many more clusters" if has_clusters else "",
            answer=_verb(answer.kind, figures).replace("be right", "are right"),
            n_needed=answer.n_examples,
            correlation=answer.example_correlation,
        )
    uncertainty = "" if pilot is None or answer.kind == "sd" else _how_sure(answer, pilot)
    or_examples: Message | str = ""
    if pilot is not None and answer.n_examples is not None:
        fields = {
            "n_examples": answer.n_examples,
            "n_runs": pilot.n_runs,
            "range": _examples_range(answer),
        }
        or_examples = _say("or-examples", **fields)
    return Message(
        "seeds-needed",
        f"To show {{effect}}{{condition}}, you need {{n_seeds:,}}{NO_BREAK}{{repeats}} per arm for "
        f"{{power:g}}{NO_BREAK}% power at {{confidence:g}}{NO_BREAK}% confidence."
        f"{' {uncertainty}' if uncertainty else ''}{' {or_examples}' if or_examples else ''}",
        effect=what,
        condition=_when(answer, figures),
        n_seeds=answer.n_seeds,
        repeats=_repeats(figures),
        power=100 * figures.power,
        confidence=100 * figures.confidence,
        uncertainty=uncertainty,
        or_examples=or_examples,
    )


def _examples_range(answer: Answer) -> str:
    """Return the examples needed at both ends of the range that the pilot allows."""
    if answer.n_examples_low is None or answer.n_examples_high is None:
        return ""
    ends = span(f"{answer.n_examples_low:,}", f"{answer.n_examples_high:,}")
    return f" ({ends} by the pilot's uncertainty)"


def _when(answer: Answer, figures: Figures) -> Message | str:
    """Return the assumption about the runs; empty for standard deviations."""
    if answer.kind == "sd":
        return ""
    correlation = figures.paired_correlation
    paired = (
        "" if correlation is None else " and runs of the same seed correlate by {correlation:.2g}"
    )
    if answer.kind == "mean":
        what = "means of single trials" if _repeats(figures) == "trials" else "runs"
        words = f" if {what} have a standard deviation of {{sd:.3g}}{paired}"
        return Message("assumed-spread", words, sd=figures.sd, correlation=correlation)
    words = f" if disagreement varies by {{percent:.2g}}{NO_BREAK}% between runs{paired}"
    percent = 100 * (figures.cv or 0.0)
    return Message("assumed-variation", words, percent=percent, correlation=correlation)


def _how_sure(answer: Answer, pilot: Pilot) -> Message:
    """Return the answer at both ends of the range that the pilot allows."""
    known = pilot.sd if answer.kind == "mean" else pilot.cv
    if answer.low is None or known is None:
        return _say("too-few-pilot-runs", n_runs=pilot.n_runs, at_least=SPREAD_FROM)
    factor, unit = (1, "") if answer.kind == "mean" else (100, f"{NO_BREAK}%")
    need = f", so you may need {_span(answer)} {{repeats}}."
    if answer.low == answer.high == answer.n_seeds:
        need = "; {low:,} {repeats} are enough all the same."
    figures = span(*(f"{factor * (x or 0.0):.2g}" for x in (known.low, known.high)))
    examples = ", and what the choice of examples adds as well" if pilot.drawn else ""
    return Message(
        "rough-pilot",
        "The pilot's {n_runs} {noun} estimate this spread only roughly "
        f"({figures}{unit}){examples}{need}",
        noun="trials" if pilot.are_trials else "runs",
        repeats="trials" if pilot.are_trials else "seeds",
        n_runs=pilot.n_runs,
        low_figure=factor * (known.low or 0.0),
        high_figure=factor * (known.high or 0.0),
        low=answer.low,
        high=answer.high,
    )


def _how_to_read(reaches: Sequence[Reach], figures: Figures) -> Message:
    sizes = tuple(dict.fromkeys(reach.n_seeds for reach in reaches))
    repeats = _repeats(figures)
    noun = "trials" if repeats == "trials" else "runs"
    code, subject = "reach-of-pilot", f"{{n_seeds}} {noun} per arm, as in the pilot"
    if len(sizes) > 1:
        code, subject = "reaches", f"each number of {repeats} per arm"
    elif figures.pilot is None or sizes[0] != figures.pilot.n_runs:
        code, subject = "reach", f"{{n_seeds}} {repeats} per arm"
    return Message(
        code,
        f"For {subject}, the table gives the smallest observed difference that would be "
        f"reported, and the smallest true difference that is detected with {{power:g}}{NO_BREAK}% "
        "power.",
        n_seeds=sizes[0],
        sizes=sizes,
        power=100 * figures.power,
    )


def _notes(
    answers: Sequence[Answer], reaches: Sequence[Reach], figures: Figures
) -> Iterator[Message]:
    requested = {answer.kind for answer in answers} | {reach.kind for reach in reaches}
    kinds = tuple(kind for kind in KINDS if kind in requested)
    skew = " ".join(SENTENCES[f"skew-of-{kind}"] for kind in kinds)
    if figures.pilot is not None and figures.pilot.are_trials:
        yield _say("trials-over-examples")
    else:
        yield _say("normal-runs", skew=skew, kinds=kinds)
    if kinds != ("sd",):
        is_paired = figures.paired_correlation is not None
        yield _say("equal-arms" if is_paired else "equal-unpaired-arms")
    if figures.arms > 1:
        yield _say("several-arms", n_arms=figures.arms)
    is_guarded = set(kinds) != {"mean"} and figures.confidence < GUARDED
    guarded = _say("guarded") if is_guarded else ""
    yield _say("primary-metric", repeats=_repeats(figures), guarded=guarded)
    weights = None if figures.pilot is None else figures.pilot.weights
    if weights is not None:
        yield _say("weighted", column=weights.column, n_effective=weights.n_effective)
    if figures.pilot is None or figures.pilot.n_examples:
        yield from _about_examples(kinds, figures)


def _about_examples(kinds: Sequence[Kind], figures: Figures) -> Iterator[Message]:
    """Yield what is assumed about examples, for each kind that depends on them."""
    unknown = []
    for kind, plural in OVER_EXAMPLES.items():
        verb = _verb(kind, figures)
        drawn = figures.examples.get(kind)
        if kind not in kinds:
            continue
        if drawn is None:
            unknown.append(plural)
        elif drawn.correlation == 0.0 and not drawn.correlation_high:
            yield _say("unrelated-examples", kinds=plural, answer=verb)
        else:
            ends = drawn.correlation_low, drawn.correlation_high
            yield _say(
                "correlated-examples",
                kinds=plural,
                answer=verb,
                correlation=drawn.correlation,
                low=ends[0],
                high=ends[1],
                range="" if None in ends else f" ({span(*(f'{x:.2g}' for x in ends))})",
            )
    if unknown:
        yield _say("enough-examples", kinds=" and ".join(unknown))


def _span(answer: Answer) -> str:
    """Return the range that the pilot allows; empty if it is unknown."""
    if answer.low is None:
        return ""
    if answer.high is None:
        return f"{answer.low:,} or more"
    return span(f"{answer.low:,}", f"{answer.high:,}")


def _key_figure(answer: Answer, repeats: str) -> KeyFigure:
    return KeyFigure(
        name=answer.kind,
        title=f"{KINDS[answer.kind]} of {answer.effect:.4g}".capitalize(),
        value="–" if answer.n_seeds is None else f"{answer.n_seeds:,}",
        unit=f"{repeats} per arm",
        interval=_span(answer),
        meaning=_say("seeds-for-effect"),
        bar=None,
    )
