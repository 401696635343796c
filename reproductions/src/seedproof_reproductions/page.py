"""Pages of reproduced papers, rendered from plain data and a Markdown template.

`page.md.jinja` has the layout of all pages, and each paper extends it in its own template. The data
are plain: texts, numbers, `Table`s, charts and checked claims.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.claims import CheckedClaim
from seedproof_reproductions.figures import MISSING, listed
from seedproof_reproductions.results import study_hours

# In place of a purpose.
EVERYTHING = "all"
INTERVAL = re.compile(r"\[([^],]+), ([^]]+)\]")
BLANK_LINES = re.compile(r"\n{3,}")
OUTCOMES = {
    "hold": "hold",
    "fail": "do not hold",
    "open": "are open",
    "missing": "are not covered by our runs",
}


@dataclass(frozen=True)
class Table:
    """A table of texts; the macro `table` writes it as Markdown."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str], rows: Iterable[Sequence[str]]) -> "Table":
        """Return a table from any sequences of texts."""
        return cls(tuple(header), tuple(tuple(row) for row in rows))


@dataclass(frozen=True)
class Chart:
    """An image of a page; `title` is for readers who cannot see it."""

    name: str
    title: str
    svg: str


def hours_table(
    results: Iterable[Mapping[str, Any]], purpose: Callable[[Mapping[str, Any]], str]
) -> Table:
    """Return how many arms and runs each study has and how long they took, with totals.

    `purpose` says what a study is for; each purpose has a total of its own.
    """
    rows, totals = [], defaultdict[str, list[tuple[int, float | None]]](list)
    for study in sorted(results, key=lambda study: str(study["name"])):
        n_runs, hours = sum(arm["n_runs"] for arm in study["arms"].values()), study_hours(study)
        for name in (purpose(study), EVERYTHING):
            totals[name].append((n_runs, hours))
        cells = (f"{len(study['arms']):,}", f"{n_runs:,}", _hours([hours]))
        rows.append((f"`{study['name']}`", purpose(study), *cells))
    totals[EVERYTHING] = totals.pop(EVERYTHING, [])  # comes last
    for name, parts in totals.items():
        n_all = sum(n_runs for n_runs, _ in parts)
        rows.append(("total", name, "", f"{n_all:,}", _hours([hours for _, hours in parts])))
    return Table.of(("study", "purpose", "arms", "runs", "hours"), rows)


def _hours(parts: Sequence[float | None]) -> str:
    """Sum of the hours that were recorded."""
    known = [hours for hours in parts if hours is not None]
    return f"{sum(known):.1f}" if known else MISSING


def claims_data(claims: Sequence[CheckedClaim]) -> dict[str, Any]:
    """Return the claims, their topics by outcome, and a table of their verdicts."""
    rows = ((item.claim.in_full, item.claim.where, item.decision) for item in claims)
    return {
        "claims": claims,
        "outcomes": {
            words: [_topic(item) for item in claims if item.outcome == outcome]
            for outcome, words in OUTCOMES.items()
        },
        "claims_table": Table.of(("the paper says", "where", "verdict"), rows),
    }


def _topic(item: CheckedClaim) -> str:
    """Short form of a claim, with further comparisons that contradict its verdict."""
    return item.claim.topic + (f" ({item.exception})" if item.exception else "")


def checks_table(claim: CheckedClaim) -> Table:
    """Return the comparisons behind the verdict on a claim."""
    rows = ((each.where, each.published, each.ours, each.words) for each in claim.checks)
    return Table.of(("", "published", "ours", "verdict"), rows)


def command(paper: str, options: Mapping[str, Any]) -> str:
    """Return a command of `seedproof reproduce`; an option that is True has no value."""
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    parts = (name if value is True else f"{name} {value}" for name, value in given.items())
    return " ".join((f"seedproof reproduce {paper}", *parts))


def render(template: str, data: Mapping[str, Any]) -> str:
    """Render a page as Markdown, from a template such as `conll2019/page.md.jinja`.

    A name that is missing from `data` is an error.
    """
    environment = Environment(  # noqa: S701 - Markdown is not escaped as HTML
        loader=PackageLoader("seedproof_reproductions", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["listed"] = listed
    environment.filters["cell"] = lambda text: INTERVAL.sub(rf"[\1,{NO_BREAK}\2]", text)
    environment.globals["checks_table"] = checks_table
    text = environment.get_template(template).render(data)
    return BLANK_LINES.sub("\n\n", text).strip() + "\n"


def write(text: str, charts: Sequence[Chart], path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a page, and its charts into a folder with the page's name; return all files."""
    page = Path(path)
    images = [page.with_suffix("") / f"{chart.name}.svg" for chart in charts]
    page.with_suffix("").mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    for image, chart in zip(images, charts, strict=True):
        image.write_text(chart.svg, encoding="utf-8")
    return page, *images
