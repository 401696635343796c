"""The page, the short form and the table of a plan, as plain data."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from seedproof.comparison.planning.answers import Answer, Reach
from seedproof.messages import Message
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.overview import Overview, Section, TextTable
from seedproof.report.planning_text import (
    LARGEST_RATIO,
    Figures,
    name_of,
    notes,
    sentences,
    size_of,
)
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate

ANSWERS, REACH = "Seeds needed", "What seeds can show"
KINDS = {
    "mean": "difference of means",
    "sd": "ratio of spreads",
    "flip_rate": "ratio of flip rates",
}
LINES = {"mean": "means, by", "sd": "spreads, times", "flip_rate": "flips, times"}
RANGE = Message("range-of-pilot", "Lines reach over what the pilot's runs allow.")


def build_overview(
    answers: Sequence[Answer], reaches: Sequence[Reach], figures: Figures
) -> Overview:
    """Return the answers and the table of what seeds can show."""
    sections = []
    if answers:
        rows = tuple(
            (KINDS[one.kind], f"{one.effect:.4g}", _seeds(one.n_seeds), _span(one))
            for one in answers
        )
        header = ("what differs", "by", "seeds per arm", "as the pilot allows")
        sections.append(Section(ANSWERS, headline(answers, reaches), (TextTable(header, rows),)))
    if reaches:
        rows = tuple(
            (
                name_of(reach),
                f"{reach.n_seeds:,}",
                size_of(reach, reach.observed),
                size_of(reach, reach.detectable),
            )
            for reach in reaches
        )
        header = ("what differs", "seeds", "observed", f"true, {100 * figures.power:g} % power")
        finding = "Differences that so many seeds per arm can show"
        sections.append(Section(REACH, finding, (TextTable(header, rows),)))
    said = sentences(answers, reaches, figures)
    topics = [ANSWERS] * len(answers) + [REACH]
    return Overview(
        headline=headline(answers, reaches),
        title=f"power {figures.power:g}, confidence {figures.confidence:g}",
        sentences=tuple(zip(topics, map(str, said), strict=False)),
        key_figures=tuple(_key_figure(answer) for answer in answers),
        sections=tuple(sections),
        notes=tuple(map(str, notes(answers, reaches, figures))),
        brackets="",
    )


def headline(answers: Sequence[Answer], reaches: Sequence[Reach]) -> str:
    """Return the plan in one short sentence."""
    if any(answer.n_seeds is None for answer in answers):
        return "No number of seeds is enough on these examples"
    needed = [answer.n_seeds for answer in answers if answer.n_seeds is not None]
    if needed:
        return f"{max(needed):,} seeds per arm are needed"
    sizes = [f"{n:,}" for n in dict.fromkeys(reach.n_seeds for reach in reaches)]
    listed = f"{', '.join(sizes[:-1])} and {sizes[-1]}" if len(sizes) > 1 else "".join(sizes)
    return f"Differences that {listed} seeds per arm can show"


def _key_figure(answer: Answer) -> KeyFigure:
    return KeyFigure(
        name=answer.kind,
        title=f"{KINDS[answer.kind]} of {answer.effect:.4g}".capitalize(),
        value="–" if answer.n_seeds is None else f"{answer.n_seeds:,}",
        unit="seeds per arm",
        interval="" if answer.low is None else _span(answer),
        meaning=Message("seeds-for-effect", "the fewest that show it with the power of the plan."),
        bar=None,
    )


def _seeds(n_seeds: int | None) -> str:
    return "no number is enough" if n_seeds is None else f"{n_seeds:,}"


def _span(answer: Answer) -> str:
    if answer.low is None:
        return "–"
    return (
        f"{answer.low:,} or more" if answer.high is None else f"{answer.low:,} to {answer.high:,}"
    )


def build_figures(answers: Sequence[Answer], reaches: Sequence[Reach]) -> tuple[Figure, ...]:
    """Return a chart of the seeds needed, and one of what seeds can show per kind of figure."""
    needed = [
        Line(f"{LINES[one.kind]} {one.effect:.4g}", Estimate(one.n_seeds, one.low, one.high))
        for one in answers
        if one.n_seeds is not None
    ]
    figures = list(_reach_figures(reaches))
    if needed:
        chart = intervals(
            "seeds_needed",
            "Seeds per arm that are needed",
            needed,
            section=ANSWERS,
            axis="seeds per arm",
            unit="score",
            reading=[RANGE] if any(one.low is not None for one in answers) else [],
        )
        figures.insert(0, chart)
    return tuple(figures)


def _reach_figures(reaches: Sequence[Reach]) -> Iterator[Figure]:
    groups: dict[tuple[str, str], list[Reach]] = {}
    for reach in reaches:
        groups.setdefault((reach.kind, name_of(reach)), []).append(reach)
    n_before: dict[str, int] = {}
    for (kind, name), members in groups.items():
        shown = [
            reach
            for reach in members
            if math.isfinite(reach.detectable)
            and (kind == "mean" or reach.detectable <= LARGEST_RATIO)
        ]
        if not shown:
            continue
        n_before[kind] = n_before.get(kind, 0) + 1
        ending = "" if n_before[kind] == 1 else f"_{n_before[kind]}"
        unit = " (in standard deviations)" if kind == "mean" and shown[0].given is None else ""
        yield intervals(
            f"reach_{kind}{ending}",
            f"Smallest true {KINDS[kind]} that seeds can show: {name}",
            [Line(f"{reach.n_seeds:,} seeds", Estimate(reach.detectable)) for reach in shown],
            section=REACH,
            axis=f"true {KINDS[kind]}{unit}",
            unit="score",
            reference=0.0 if kind == "mean" else 1.0,
        )


def records(answers: Sequence[Answer], reaches: Sequence[Reach]) -> list[dict[str, Any]]:
    """Return one row per answer and per number of seeds."""
    rows = [
        {
            "question": "seeds needed",
            "kind": answer.kind,
            "effect": answer.effect,
            "n_seeds": answer.n_seeds,
            "n_seeds_low": answer.low,
            "n_seeds_high": answer.high,
        }
        for answer in answers
    ]
    return rows + [
        {
            "question": "what seeds can show",
            "kind": reach.kind,
            "given": reach.given,
            "n_seeds": reach.n_seeds,
            "observed": reach.observed,
            "detectable": reach.detectable,
        }
        for reach in reaches
    ]
