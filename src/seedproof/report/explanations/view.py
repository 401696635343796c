"""Explanations by each method, as plain data for a report."""

from dataclasses import dataclass

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.metrics.card import card
from seedproof.report.explanations.heat import HeatMap, has_signs, heat_maps
from seedproof.report.explanations.sentences import is_computed, named, on_floor
from seedproof.report.numbers import WithUnit, bracketed, in_brackets, number, sign
from seedproof.stats.intervals import Estimate

# Value of `show` that shows the words of explained texts.
TOKENS = "tokens"


@dataclass(frozen=True)
class ExplanationRow:
    """One metric of explanations; the floor is its value between two draws of one run."""

    name: str
    title: str
    value: str
    interval: str
    over: str
    floor: str
    bare_floor: str
    better: str
    card: str


@dataclass(frozen=True)
class ExplanationTable:
    """Explanations by one method."""

    method: str
    title: str
    n_examples: int
    rows: tuple[ExplanationRow, ...]
    floor: str
    has_floor: bool
    heat_maps: tuple[HeatMap, ...]
    has_signs: bool
    notes: tuple[str, ...]


def build_explanations(
    measurement: Measurement, *, with_texts: bool
) -> tuple[ExplanationTable, ...]:
    """Return the view of the explanations by each method."""
    return tuple(
        ExplanationTable(
            method=method,
            title=named(method),
            n_examples=explained.n_examples,
            rows=tuple(_row(name, value, explained) for name, value in explained.metrics.items()),
            floor=str(on_floor(explained)),
            has_floor=explained.noise is not None,
            heat_maps=heat_maps(explained, measurement.classes) if with_texts else (),
            has_signs=has_signs(explained),
            notes=tuple(map(str, explained.notes)),
        )
        for method, explained in measurement.explanations.items()
    )


def _row(name: str, value: Estimate, explained: ExplanationMeasurement) -> ExplanationRow:
    about = card(name)
    floor = bare_floor = "no noise" if is_computed(explained.method) else "unknown"
    if explained.noise is not None:
        floor = bracketed(explained.noise[name], about.unit)
        bare_floor = str(WithUnit(explained.noise[name].value, about.unit))
    return ExplanationRow(
        name=name,
        title=about.title,
        value=number(value.value, about.unit) + sign(about.unit),
        interval=in_brackets(value, lambda end: number(end, about.unit)).strip(),
        over=value.over or "",
        floor=floor,
        bare_floor=bare_floor,
        better=about.better,
        card=about.text,
    )
