"""A plan in words: what was asked, the answer, what seeds can show, and what was assumed."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from seedproof.comparison.planning.answers import Answer, Kind, Reach
from seedproof.comparison.planning.pilot import Pilot
from seedproof.measurement.intervals import SPREAD_FROM, Estimate
from seedproof.report.numbers import NO_BREAK
from seedproof.report.text import MAX_LINE

# Beyond this a ratio says no more than that nothing can be seen.
LARGEST_RATIO = 1000.0
SKEW: dict[Kind, str] = {
    "mean": "Skew hardly matters for means.",
    "sd": (
        "For standard deviations, comparing relies on that less and takes about three seeds more; "
        "runs with a kurtosis of k instead of 3 take (k - 1)/2 times as many."
    ),
    "flip_rate": "Rare bad runs make flip rates less certain than this says.",
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
    for answer in answers:
        text = _impossible(answer, figures) if answer.n_seeds is None else _needed(answer, figures)
        yield from (Text(textwrap.fill(text, width)), Text(""))
    if reaches:
        text = _how_to_read(reaches, figures)
        yield from (Text(textwrap.fill(text, width)), Text(""), _table(reaches, figures), Text(""))
    kinds = {answer.kind for answer in answers} | {reach.kind for reach in reaches}
    for note in _notes(kinds, reaches, figures):
        yield Text(textwrap.fill(f"Note: {note}", width), style="dim")


def _needed(answer: Answer, figures: Figures) -> str:
    seeds = f"{answer.n_seeds:,}{NO_BREAK}seeds"
    text = (
        f"To show {_effect(answer)}{_when(answer, figures)}, make {seeds} an arm: "
        f"{100 * figures.power:g} of 100 such studies then show it, with "
        f"{100 * figures.confidence:g}{NO_BREAK}% confidence."
    )
    if figures.pilot is None or answer.kind == "sd":
        return text
    return f"{text} {_how_sure(answer, figures.pilot)}"


def _effect(answer: Answer) -> str:
    if answer.kind == "mean":
        return f"a difference of {abs(answer.effect):.4g} between two means"
    if answer.kind == "sd":
        return f"that one arm's standard deviation is {answer.effect:.4g} times the other's"
    return f"that one arm's flip rate is {answer.effect:.4g} times the other's"


def _when(answer: Answer, figures: Figures) -> str:
    if answer.kind == "sd":
        return ""
    if answer.kind == "mean":
        text = f" when runs have a standard deviation of {figures.sd:.3g}"
    else:
        percent = f"{100 * (figures.cv or 0.0):.2g}{NO_BREAK}%"
        text = f" when disagreement varies by {percent} from run to run"
    if figures.paired_correlation is None:
        return text
    return f"{text} and those of one seed correlate by {figures.paired_correlation:.2g}"


def _how_sure(answer: Answer, pilot: Pilot) -> str:
    """The answer at both ends of what the pilot allows."""
    known = pilot.sd if answer.kind == "mean" else pilot.cv
    if answer.low is None or known is None:
        return (
            f"{pilot.n_runs} runs do not tell how well that is known; make {SPREAD_FROM} or more."
        )
    seeds = f"from {answer.low:,} to {answer.high:,}" if answer.high else f"{answer.low:,} or more"
    return (
        f"The pilot's {pilot.n_runs} runs know that figure only roughly "
        f"({_interval(known, answer.kind)}): it may take {seeds} seeds."
    )


def _interval(known: Estimate, kind: Kind) -> str:
    low, high = known.low or 0.0, known.high or 0.0
    if kind == "mean":
        return f"{low:.2g} to {high:.2g}"
    return f"{100 * low:.2g} to {100 * high:.2g}{NO_BREAK}%"


def _impossible(answer: Answer, figures: Figures) -> str:
    n_examples = figures.pilot.n_examples if figures.pilot else 0
    return (
        f"No number of seeds shows {_effect(answer)} on {n_examples:,} examples: other examples "
        "alone move the ratio too much. Take more than "
        f"{answer.n_examples:,} examples, or arms that flip much the same ones, with a correlation "
        f"of {answer.example_correlation:.2f} or more over examples."
    )


def _how_to_read(reaches: Sequence[Reach], figures: Figures) -> str:
    sizes = list(dict.fromkeys(reach.n_seeds for reach in reaches))
    whose = "today's " if figures.pilot and sizes == [figures.pilot.n_runs] else ""
    subject = f"What {whose}{sizes[0]} seeds an arm can show"
    if len(sizes) > 1:
        subject = "Each row below says what so many seeds an arm can show"
    return (
        f"{subject}: a study calls it a difference when it "
        f"observes the first figure or more, and {100 * figures.power:g} of 100 studies do when "
        "the second is true."
    )


def _table(reaches: Sequence[Reach], figures: Figures) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("what differs", style="bold", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    table.add_column("observed", justify="right", no_wrap=True)
    table.add_column(f"true, {100 * figures.power:g}{NO_BREAK}% power", justify="right")
    before = ""
    for reach in reaches:
        name = _name(reach)
        cells = (_size(reach, reach.observed), _size(reach, reach.detectable))
        table.add_row("" if name == before else name, f"{reach.n_seeds:,}", *cells)
        before = name
    return table


def _name(reach: Reach) -> str:
    if reach.kind == "mean":
        return "mean" if reach.given is None else f"mean (sd {reach.given:.3g})"
    return "standard deviation" if reach.kind == "sd" else f"flip rate (cv {reach.given:.2g})"


def _size(reach: Reach, effect: float) -> str:
    if reach.kind == "mean":
        return f"{effect:.2f}{NO_BREAK}sd" if reach.given is None else f"{effect:.3g}"
    if effect > LARGEST_RATIO:
        return "beyond sight"
    return f"{effect:.2f} or {1 / effect:.2f}"


def _notes(kinds: set[Kind], reaches: Sequence[Reach], figures: Figures) -> Iterator[str]:
    yield f"Runs are taken as normal. {' '.join(SKEW[kind] for kind in SKEW if kind in kinds)}"
    if kinds != {"sd"}:
        yield (
            "Both arms are taken to vary alike"
            + (" and to be unpaired" if figures.paired_correlation is None else "")
            + "."
        )
    if "flip_rate" in kinds:
        yield _about_examples(figures)
    if any(reach.n_seeds < SPREAD_FROM for reach in reaches):
        yield f"Fewer than {SPREAD_FROM} runs say nothing about a standard deviation."


def _about_examples(figures: Figures) -> str:
    if figures.pilot is None:
        return "For flip rates the examples are taken to be enough; a pilot tells whether they are."
    if figures.example_correlation == 0.0:
        return (
            "For flip rates both arms are taken to flip unrelated examples, which is cautious: "
            "give an example correlation if you know it."
        )
    return (
        "For flip rates the arms' flips are taken to correlate by "
        f"{figures.example_correlation:.2g} over examples."
    )
