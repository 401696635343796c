"""A plan in words: what was asked, the answer, what seeds can show, and what was assumed."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.planning.answers import Answer, Kind, Reach
from seedproof.comparison.planning.pilot import Pilot
from seedproof.messages import Message
from seedproof.report.numbers import NO_BREAK
from seedproof.report.text import MAX_LINE
from seedproof.stats.intervals import SPREAD_FROM

# Beyond this a ratio says no more than that nothing can be seen.
LARGEST_RATIO = 1000.0
SKEW: dict[Kind, Message] = {
    "mean": Message("skew-of-means", "Skew hardly matters for means."),
    "sd": Message(
        "skew-of-spreads",
        "For standard deviations, comparing relies on that less and takes about three seeds more; "
        "runs with a kurtosis of k instead of 3 take (k - 1)/2 times as many.",
    ),
    "flip_rate": Message(
        "skew-of-flip-rates", "Rare bad runs make flip rates less certain than this says."
    ),
}


@dataclass(frozen=True)
class Figures:
    """What a plan was computed from.

    Args:
        power: Probability with which a true effect is to be shown.
        confidence: That of the interval.
        sd: Standard deviation over runs; None if unknown.
        cv: Variation of the runs' mean disagreements; None if unknown.
        paired_correlation: That of runs which share a seed; None for unpaired arms.
        example_correlation: That of the arms' flips over examples; None without a pilot.
        pilot: Where sd and cv are from; None if they are assumed.
    """

    power: float
    confidence: float
    sd: float | None
    cv: float | None
    paired_correlation: float | None
    example_correlation: float | None
    pilot: Pilot | None


def lines(
    answers: Sequence[Answer], reaches: Sequence[Reach], figures: Figures, *, width: int
) -> Iterator[RenderableType]:
    """What a terminal shows, line by line."""
    width = min(width, MAX_LINE)
    for message in sentences(answers, reaches, figures):
        yield from (Text(textwrap.fill(str(message), width)), Text(""))
    if reaches:
        yield from (_table(reaches, figures), Text(""))
    for note in notes(answers, reaches, figures):
        yield Text(textwrap.fill(f"Note: {note}", width), style="dim")


def sentences(
    answers: Sequence[Answer], reaches: Sequence[Reach], figures: Figures
) -> Iterator[Message]:
    """The answers, and how to read the table of what seeds can show."""
    for answer in answers:
        yield _impossible(answer, figures) if answer.n_seeds is None else _needed(answer, figures)
    if reaches:
        yield _how_to_read(reaches, figures)


def _needed(answer: Answer, figures: Figures) -> Message:
    words = (
        "To show {effect}{condition}, make {n_seeds:,}\N{NO-BREAK SPACE}seeds an arm: {power:g} of "
        "100 such studies then show it, with {confidence:g}\N{NO-BREAK SPACE}% confidence."
    )
    fields: dict[str, object] = {
        "effect": _effect(answer),
        "condition": _when(answer, figures),
        "n_seeds": answer.n_seeds,
        "power": 100 * figures.power,
        "confidence": 100 * figures.confidence,
    }
    if figures.pilot is not None and answer.kind != "sd":
        words += " {doubt}"
        fields["doubt"] = _how_sure(answer, figures.pilot)
    return Message("seeds-needed", words, **fields)


def _effect(answer: Answer) -> Message:
    if answer.kind == "mean":
        return Message(
            "difference-of-means",
            "a difference of {effect:.4g} between two means",
            effect=abs(answer.effect),
        )
    if answer.kind == "sd":
        return Message(
            "ratio-of-spreads",
            "that one arm's standard deviation is {effect:.4g} times the other's",
            effect=answer.effect,
        )
    return Message(
        "ratio-of-flip-rates",
        "that one arm's flip rate is {effect:.4g} times the other's",
        effect=answer.effect,
    )


def _when(answer: Answer, figures: Figures) -> Message | str:
    """What was assumed of the runs; nothing for standard deviations."""
    if answer.kind == "sd":
        return ""
    paired = ""
    if figures.paired_correlation is not None:
        paired = " and those of one seed correlate by {correlation:.2g}"
    if answer.kind == "mean":
        return Message(
            "assumed-spread",
            f" when runs have a standard deviation of {{sd:.3g}}{paired}",
            sd=figures.sd,
            correlation=figures.paired_correlation,
        )
    return Message(
        "assumed-variation",
        f" when disagreement varies by {{percent:.2g}}{NO_BREAK}% from run to run{paired}",
        percent=100 * (figures.cv or 0.0),
        correlation=figures.paired_correlation,
    )


def _how_sure(answer: Answer, pilot: Pilot) -> Message:
    """The answer at both ends of what the pilot allows."""
    known = pilot.sd if answer.kind == "mean" else pilot.cv
    if answer.low is None or known is None:
        return Message(
            "too-few-pilot-runs",
            "{n_runs} runs do not tell how well that is known; make {at_least} or more.",
            n_runs=pilot.n_runs,
            at_least=SPREAD_FROM,
        )
    low, high = known.low or 0.0, known.high or 0.0
    ends = "{low_figure:.2g} to {high_figure:.2g}"
    if answer.kind != "mean":
        low, high = 100 * low, 100 * high
        ends += f"{NO_BREAK}%"
    seeds = "from {low:,} to {high:,}" if answer.high else "{low:,} or more"
    return Message(
        "rough-pilot",
        f"The pilot's {{n_runs}} runs know that figure only roughly ({ends}): it may take {seeds} "
        "seeds.",
        n_runs=pilot.n_runs,
        low_figure=low,
        high_figure=high,
        low=answer.low,
        high=answer.high,
    )


def _impossible(answer: Answer, figures: Figures) -> Message:
    return Message(
        "too-few-examples",
        "No number of seeds shows {effect} on {n_examples:,} examples: other examples alone move "
        "the ratio too much. Take more than {n_needed:,} examples, or arms that flip much the same "
        "ones, with a correlation of {correlation:.2f} or more over examples.",
        effect=_effect(answer),
        n_examples=figures.pilot.n_examples if figures.pilot else 0,
        n_needed=answer.n_examples,
        correlation=answer.example_correlation,
    )


def _how_to_read(reaches: Sequence[Reach], figures: Figures) -> Message:
    sizes = tuple(dict.fromkeys(reach.n_seeds for reach in reaches))
    code, subject = "reach-of-pilot", "What today's {n_seeds} seeds an arm can show"
    if len(sizes) > 1:
        code, subject = "reaches", "Each row below says what so many seeds an arm can show"
    elif figures.pilot is None or sizes[0] != figures.pilot.n_runs:
        code, subject = "reach", "What {n_seeds} seeds an arm can show"
    return Message(
        code,
        f"{subject}: a study calls it a difference when it observes the first figure or more, and "
        "{power:g} of 100 studies do when the second is true.",
        n_seeds=sizes[0],
        sizes=sizes,
        power=100 * figures.power,
    )


def _table(reaches: Sequence[Reach], figures: Figures) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("what differs", style="bold", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    table.add_column("observed", justify="right", no_wrap=True)
    table.add_column(f"true, {100 * figures.power:g}{NO_BREAK}% power", justify="right")
    before = ""
    for reach in reaches:
        name = name_of(reach)
        cells = (size_of(reach, reach.observed), size_of(reach, reach.detectable))
        table.add_row("" if name == before else name, f"{reach.n_seeds:,}", *cells)
        before = name
    return table


def name_of(reach: Reach) -> str:
    """Return what differs, with what is assumed of it."""
    if reach.kind == "mean":
        return "mean" if reach.given is None else f"mean (sd {reach.given:.3g})"
    return "standard deviation" if reach.kind == "sd" else f"flip rate (cv {reach.given:.2g})"


def size_of(reach: Reach, effect: float) -> str:
    """Return an effect as text."""
    if reach.kind == "mean":
        return f"{effect:.2f}{NO_BREAK}sd" if reach.given is None else f"{effect:.3g}"
    if effect > LARGEST_RATIO:
        return "beyond sight"
    return f"{effect:.2f} or {1 / effect:.2f}"


def notes(
    answers: Sequence[Answer], reaches: Sequence[Reach], figures: Figures
) -> Iterator[Message]:
    """What the figures take for granted."""
    kinds = {answer.kind for answer in answers} | {reach.kind for reach in reaches}
    skew = [message for kind, message in SKEW.items() if kind in kinds]
    yield Message(
        "normal-runs",
        "Runs are taken as normal. {skew}",
        skew=" ".join(map(str, skew)),
        kinds=tuple(kind for kind in SKEW if kind in kinds),
    )
    if kinds != {"sd"}:
        if figures.paired_correlation is None:
            yield Message(
                "equal-unpaired-arms", "Both arms are taken to vary alike and to be unpaired."
            )
        else:
            yield Message("equal-arms", "Both arms are taken to vary alike.")
    if "flip_rate" in kinds:
        yield _about_examples(figures)
    if any(reach.n_seeds < SPREAD_FROM for reach in reaches):
        yield Message(
            "too-few-runs-for-spread",
            "Fewer than {at_least} runs say nothing about a standard deviation.",
            at_least=SPREAD_FROM,
        )


def _about_examples(figures: Figures) -> Message:
    if figures.pilot is None:
        return Message(
            "enough-examples",
            "For flip rates the examples are taken to be enough; a pilot tells whether they are.",
        )
    if figures.example_correlation == 0.0:
        return Message(
            "unrelated-examples",
            "For flip rates both arms are taken to flip unrelated examples, which is cautious: "
            "give an example correlation if you know it.",
        )
    return Message(
        "correlated-examples",
        "For flip rates the arms' flips are taken to correlate by {correlation:.2g} over examples.",
        correlation=figures.example_correlation,
    )
