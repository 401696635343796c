"""What a report shows of the explanations by one method, as plain data."""

from dataclasses import dataclass

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.metrics.card import card
from seedproof.report.explanations.heat import HeatMap, has_signs, heat_maps
from seedproof.report.explanations.words import is_computed, named, on_floor
from seedproof.report.numbers import WithUnit, bracketed, in_brackets, number, sign
from seedproof.stats.intervals import Estimate

# What `show` calls the words of explained texts.
TOKENS = "tokens"


@dataclass(frozen=True)
class ReasonRow:
    """One figure of explanations; the floor is that between two draws of one run."""

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
class Reasons:
    """The explanations by one method."""

    method: str
    title: str
    n_examples: int
    rows: tuple[ReasonRow, ...]
    floor: str
    has_floor: bool
    heat_maps: tuple[HeatMap, ...]
    has_signs: bool
    notes: tuple[str, ...]


def build_reasons(measurement: Measurement, *, with_texts: bool) -> tuple[Reasons, ...]:
    """What to show of the explanations, by each method."""
    return tuple(
        Reasons(
            method=method,
            title=named(method),
            n_examples=found.n_examples,
            rows=tuple(_row(name, value, found) for name, value in found.metrics.items()),
            floor=str(on_floor(found)),
            has_floor=found.noise is not None,
            heat_maps=heat_maps(found, measurement.classes) if with_texts else (),
            has_signs=has_signs(found),
            notes=tuple(map(str, found.notes)),
        )
        for method, found in measurement.explanations.items()
    )


def _row(name: str, value: Estimate, found: ExplanationMeasurement) -> ReasonRow:
    about = card(name)
    floor = bare_floor = "no noise" if is_computed(found.method) else "unknown"
    if found.noise is not None:
        floor = bracketed(found.noise[name], about.unit)
        bare_floor = str(WithUnit(found.noise[name].value, about.unit))
    return ReasonRow(
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
