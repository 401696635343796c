"""Pages of reproduced papers: plain data and one Markdown template in, files out.

`page.md.jinja` has the macros and the layout of all pages. Each paper extends it in a template of
its own, which holds the prose. Data is plain: texts, numbers, `Table`s, charts and checked claims.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from seedproof.report.numbers import NO_BREAK
from seedproof_reproductions.claims import CheckedClaim, count_claims
from seedproof_reproductions.figures import listed

INTERVAL = re.compile(r"\[([^],]+), ([^]]+)\]")
BLANK_LINES = re.compile(r"\n{3,}")
OUTCOMES = {
    "hold": "holds here in every comparison",
    "fail": "does not hold here in at least one",
    "open": "is open in at least one, and fails in none",
    "missing": "is not covered by our runs",
}


@dataclass(frozen=True)
class Table:
    """A table of texts; the macro `table` writes it as Markdown."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, header: Sequence[str], rows: Iterable[Sequence[str]]) -> "Table":
        """A table from any sequences of texts."""
        return cls(tuple(header), tuple(tuple(row) for row in rows))


@dataclass(frozen=True)
class Chart:
    """An image of a page; `title` is for readers who cannot see it."""

    name: str
    title: str
    svg: str


def claims_data(claims: Sequence[CheckedClaim]) -> dict[str, Any]:
    """Data of claims on all pages: themselves, how many hold, and their verdicts in one line."""
    counts = count_claims(claims)
    rows = ((item.claim.in_full, item.claim.where, item.summary) for item in claims)
    return {
        "claims": claims,
        "counts": Table.of(
            (f"of {len(claims)} claims of the paper", "how many"),
            ((words, str(counts[name])) for name, words in OUTCOMES.items()),
        ),
        "claims_table": Table.of(("the paper says", "where", "verdict"), rows),
    }


def checks_table(claim: CheckedClaim) -> Table:
    """The comparisons behind the verdict on a claim."""
    rows = ((each.where, each.published, each.ours, each.verdict.words) for each in claim.checks)
    return Table.of(("", "published", "ours", "verdict"), rows)


def command(paper: str, options: Mapping[str, Any]) -> str:
    """A command of `seedproof reproduce`; an option that is True has no value."""
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    parts = (name if value is True else f"{name} {value}" for name, value in given.items())
    return " ".join((f"seedproof reproduce {paper}", *parts))


def render(template: str, data: Mapping[str, Any]) -> str:
    """A page as Markdown, from a template such as `conll2019/page.md.jinja`.

    A name that the template uses and that `data` lacks is an error.
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
