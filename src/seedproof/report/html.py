"""The page of a measurement."""

from collections.abc import Sequence

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.calibration import N_BINS
from seedproof.metrics.divergence import EPSILON
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.report.document import card_html, page_parts, provenance, template
from seedproof.report.explanations.heat import MAX_RUNS
from seedproof.report.explanations.sentences import paragraphs as on_explanations
from seedproof.report.explanations.view import TOKENS
from seedproof.report.figures import build_figures, section_titles
from seedproof.report.figures.base import MAX_NAMED_RUNS
from seedproof.report.next_steps import after_measuring
from seedproof.report.overview import PageOptions, group_table
from seedproof.report.sentences import followed, on_accuracy
from seedproof.report.view import View, build_view

NUMERALS = {2: "two", 3: "three", 4: "four", 5: "five"}
MAX_SWAPS = 10
MAX_LISTED_RUNS = 20


def render_page(measurement: Measurement, options: PageOptions) -> str:
    """Return the whole report as one HTML file."""
    show = options.show
    view = build_view(measurement, show=show)
    figures = build_figures(measurement)
    identity = measurement.to_json()
    examples = [vars(example) | {"probs": _ticks(example.probs)} for example in view.unstable]
    columns = {
        "has_probs": "probability_sd" in measurement.metrics,
        "has_labels": bool(measurement.n_labeled),
    }
    css = ["page.css"]
    css += ["comparison.css"] if view.groups else []  # tables of groups
    css += ["explanations.css"] if measurement.explanations else []
    return template("page.html").render(
        view=view,
        dots=[group for group, count in enumerate(view.dots) for _ in range(count)],
        sections=[
            (topic, finding, [figure for figure in figures if figure.section == topic])
            for topic, finding in section_titles(measurement, figures).items()
        ],
        paragraphs=_paragraphs(measurement),
        swaps=_swaps(measurement),
        orders=_orders(measurement),
        n_runs=measurement.n_runs,
        shown=any(name in measurement.extras() for name in show),
        **columns,
        followed=f"Probability of {followed(measurement)}",
        table_note=_table_note(measurement, view),
        made=provenance(identity, json_file="summary.json", details=_details(measurement)),
        shows_tokens=TOKENS in show,
        n_shown=NUMERALS[min(MAX_RUNS, measurement.n_runs)],
        group_table=group_table,
        card_html=card_html,
        **page_parts(
            figures,
            data={"examples": examples, **columns},
            css=css,
            identity=identity,
            options=options,
            steps=after_measuring(measurement),
        ),
    )


def _ticks(probs: Sequence[float]) -> Sequence[float]:
    """Return the probabilities to mark: one per hundredth if there are many runs."""
    return probs if len(probs) <= MAX_NAMED_RUNS else sorted({round(p, 2) for p in probs})


def _paragraphs(measurement: Measurement) -> dict[str, tuple[Message, ...]]:
    return {
        "Accuracy": on_accuracy(measurement) if "accuracy" in measurement.metrics else (),
        "Explanations": on_explanations(list(measurement.explanations.values())),
    }


def _swaps(measurement: Measurement) -> list[tuple[str, str, str]]:
    """Return the pairs of classes that are swapped most often, with their counts."""
    names, detail = measurement.classes, measurement.detail
    pairs, counts = detail.get("swap_classes", ()), detail.get("swap_counts", ())
    return [
        (names[a], names[b], f"{count:,}")
        for (a, b), count in zip(pairs[:MAX_SWAPS], counts[:MAX_SWAPS], strict=True)
    ]


def _orders(measurement: Measurement) -> list[tuple[str, str]]:
    orders = [("flip_rate down", "most split first"), ("entropy down", "highest entropy first")]
    if "probability_sd" in measurement.metrics:
        orders.append(("sd down", "widest spread first"))
    return [*orders, ("example up", "by id")]


def _table_note(measurement: Measurement, view: View) -> str:
    n_unstable = round(measurement.metrics["ambiguity"].value * measurement.n_examples)
    note = (
        f"This page shows {len(view.unstable):,} of {n_unstable:,} examples on which runs differ; "
        "all examples are in examples.parquet."
    )
    if "probability_sd" in measurement.metrics:
        note += f" Mean and sd are those of the probability of {followed(measurement)} across runs."
    return note


def _details(measurement: Measurement) -> list[tuple[str, str]]:
    runs = ", ".join(measurement.runs[:MAX_LISTED_RUNS])
    if measurement.n_runs > MAX_LISTED_RUNS:
        runs += ", …"
    choices = (
        f"ECE: {N_BINS} bins of equal width. High entropy: above {HIGH_ENTROPY}. "
        "Ties: the first class wins."
    )
    if "predictive_kl" in measurement.metrics:
        choices += f" KL and JS: {EPSILON:g} added to each probability."
    if measurement.explanations:
        choices += (
            f" Top words: {PAPER_TOP} % of the tokens with the largest scores, rounded up; signs "
            "are ignored, and among equal scores the earlier word comes first."
        )
    return [
        ("Runs", f"{measurement.n_runs}: {runs}"),
        ("Intervals", "95 %, in closed form from leave-one-run-out totals; no resampling, no seed"),
        ("Choices", choices),
    ]
