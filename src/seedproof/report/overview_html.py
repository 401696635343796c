"""A result as HTML: a short form without scripts for notebooks, and a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from seedproof.report import charts
from seedproof.report.document import digest, page_parts, template, versions
from seedproof.report.figures.base import Figure
from seedproof.report.overview import Overview, TextTable

# A notebook keeps every output: a chart of thousands of marks stays out of it.
MAX_CHART_BYTES = 120_000


@dataclass(frozen=True)
class _Topic:
    """A section with its charts."""

    topic: str
    slug: str
    finding: str
    paragraphs: tuple[str, ...]
    tables: tuple[TextTable, ...]
    figures: tuple[Figure, ...]


def render_short(overview: Overview, figure: Figure | None) -> str:
    """Return the short form of a result: headline, key figures and one chart, without scripts."""
    chart = b"" if figure is None else charts.picture(figure, "svg")
    if len(chart) > MAX_CHART_BYTES:
        chart = b""
    return template("short.html").render(
        view=overview,
        chart=Markup(chart.decode()),  # noqa: S704 - drawn by us, words escaped by what draws it
        chart_title="" if figure is None else figure.title,
    )


def render_page(
    overview: Overview,
    figures: Sequence[Figure],
    *,
    identity: str,
    json_file: str,
    command: str | None,
) -> str:
    """Return a result as one HTML file."""
    topics = [
        _Topic(
            section.topic,
            section.slug,
            section.finding,
            section.paragraphs,
            section.tables,
            tuple(figure for figure in figures if figure.section == section.topic),
        )
        for section in overview.sections
    ]
    made = [("Command", command)] if command else []
    made += [
        ("Limits", "This speaks of these examples, this recipe and whatever the runs varied."),
        ("Versions", versions()),
        ("Digest", f"{digest(identity)} (of {json_file})"),
    ]
    return template("result.html").render(
        view=overview,
        topics=topics,
        made=made,
        **page_parts(figures, data={}, css=["page.css", "comparison.css"], identity=identity),
    )
