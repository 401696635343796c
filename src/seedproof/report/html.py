"""The page: one self-contained file that loads nothing and sends nothing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.calibration import N_BINS
from seedproof.metrics.divergence import EPSILON
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.report.document import card_html, digest, page_parts, template, versions
from seedproof.report.explanations.heat import MAX_RUNS
from seedproof.report.explanations.view import TOKENS
from seedproof.report.explanations.words import paragraphs as on_reasons
from seedproof.report.figures import Figure, build_figures, section_titles
from seedproof.report.figures.base import MAX_NAMED_RUNS
from seedproof.report.view import Row, View, build_view
from seedproof.report.words import followed, on_accuracy

COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True)
class PageSection:
    """One topic of the page: its finding, its charts, words beside them, classes that swap."""

    topic: str
    finding: Message
    figures: tuple[Figure, ...]
    paragraphs: tuple[Message, ...] = ()
    swaps: tuple[tuple[str, str, str], ...] = ()


def render_page(
    measurement: Measurement, *, show: Sequence[str] = (), command: str | None = None
) -> str:
    """The whole report as one HTML file."""
    view = build_view(measurement, show=show)
    figures = build_figures(measurement)
    data = {
        "examples": [vars(example) | {"probs": _ticks(example.probs)} for example in view.unstable],
        "has_probs": "probability_sd" in measurement.metrics,
        "has_labels": bool(measurement.n_labeled),
    }
    return template("page.html").render(
        view=view_with_cards(view),
        dots=[group for group, count in enumerate(view.dots) for _ in range(count)],
        sections=_sections(measurement, figures),
        orders=_orders(measurement),
        n_runs=measurement.n_runs,
        shown=any(name in measurement.extras() for name in show),
        has_probs=data["has_probs"],
        has_labels=data["has_labels"],
        followed=f"Probability of {followed(measurement)}",
        table_note=_table_note(measurement, view),
        made=_made(measurement, command),
        shows_tokens=TOKENS in show,
        n_shown=COUNTS[min(MAX_RUNS, measurement.n_runs)],
        card_html=card_html,
        **page_parts(figures, data=data, css=_styles(measurement), identity=measurement.to_json()),
    )


def _ticks(probs: Sequence[float]) -> Sequence[float]:
    """Where the probabilities of the runs are marked: of many runs, once a hundredth."""
    if len(probs) <= MAX_NAMED_RUNS:
        return probs
    return sorted({round(p, 2) for p in probs})


def view_with_cards(view: View) -> dict[str, Any]:
    """The view as the template reads it, with every card as HTML."""

    def row(one: Row) -> dict[str, Any]:
        return asdict(one) | {"card_html": card_html(one.card)}

    shallow = {name: getattr(view, name) for name in view.__dataclass_fields__}
    return shallow | {"rows": [row(one) for one in view.rows]}


def _styles(measurement: Measurement) -> list[str]:
    return ["page.css", "reasons.css"] if measurement.explanations else ["page.css"]


def _sections(measurement: Measurement, figures: Sequence[Figure]) -> list[PageSection]:
    return [
        PageSection(
            topic=topic,
            finding=finding,
            figures=tuple(figure for figure in figures if figure.section == topic),
            paragraphs=_paragraphs(measurement, topic),
            swaps=_swaps(measurement) if topic == "Flips" else (),
        )
        for topic, finding in section_titles(measurement, figures).items()
    ]


def _paragraphs(measurement: Measurement, topic: str) -> tuple[Message, ...]:
    match topic:
        case "Accuracy":
            return on_accuracy(measurement)
        case "Reasons":
            return on_reasons(list(measurement.explanations.values()))
    return ()


def _swaps(measurement: Measurement) -> tuple[tuple[str, str, str], ...]:
    if "swap_counts" not in measurement.detail:
        return ()
    pairs, counts = measurement.detail["swap_classes"], measurement.detail["swap_counts"]
    names = measurement.classes
    found = [(names[a], names[b], f"{n:,}") for (a, b), n in zip(pairs, counts, strict=True)]
    return tuple(found[:10])


def _orders(measurement: Measurement) -> list[tuple[str, str]]:
    orders = [("flip_rate down", "most split first"), ("entropy down", "highest entropy first")]
    if "probability_sd" in measurement.metrics:
        orders.append(("sd down", "widest spread first"))
    return [*orders, ("example up", "by id")]


def _table_note(measurement: Measurement, view: View) -> str:
    unstable = round(measurement.metrics["ambiguity"].value * measurement.n_examples)
    shown = f"{len(view.unstable):,} of {unstable:,} examples on which runs differ"
    spread = f" Mean and sd are of the probability of {followed(measurement)}, over runs."
    return f"This page holds {shown}; all examples are in examples.parquet." + (
        spread if "probability_sd" in measurement.metrics else ""
    )


def _made(measurement: Measurement, command: str | None) -> list[tuple[str, str]]:
    runs = ", ".join(measurement.runs[:20]) + (", …" if measurement.n_runs > 20 else "")
    found = [("Command", command)] if command else []
    choices = (
        f"ECE: {N_BINS} bins of equal width. High entropy: above {HIGH_ENTROPY}. "
        "Equal probabilities: the first class wins."
    )
    if "predictive_kl" in measurement.metrics:
        choices += f" KL and JS: {EPSILON:g} added to each probability."
    if measurement.explanations:
        choices += (
            f" Top words: {PAPER_TOP} % of the tokens with the largest scores, rounded up; signs "
            "are left out, and among equals the earlier word comes first."
        )
    return [
        *found,
        ("Runs", f"{measurement.n_runs}: {runs}"),
        ("Intervals", "95 %, closed form from totals without each run; no resampling, no seed"),
        ("Choices", choices),
        ("Limits", "This speaks of these examples, this recipe and whatever the runs varied."),
        ("Versions", versions()),
        ("Digest", f"{digest(measurement.to_json())} (of summary.json)"),
    ]
