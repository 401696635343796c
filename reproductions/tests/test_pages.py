"""The committed pages show what the stored results give, compared as data."""

import json
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from seedproof_reproductions.claims import CheckedClaim
from seedproof_reproductions.conll2019 import page_data as conll2019
from seedproof_reproductions.conll2019.results import stored_results as conll2019_results
from seedproof_reproductions.findings2023 import pages as findings2023
from seedproof_reproductions.findings2023.results import stored_results as findings2023_results
from seedproof_reproductions.page import Table, checks_table

DOCS = Path(__file__).parents[2] / "docs" / "results"
BUILT = {
    "conll2019": lambda: conll2019.page_data(conll2019_results()),
    "findings2023": lambda: findings2023.build_data(findings2023_results()),
    "which-mitigation": lambda: findings2023.build_decision(findings2023_results()),
}
VERDICT = re.compile(
    r"less steady|steadier|better|worse|no difference shown|too few runs|not determined|"
    r"does not hold here|holds here|its size is open|not shown here|not covered"
)
NUMBER = re.compile(r"[−+]?\d+(?:,\d{3})*(?:\.\d+)?")


def facts(cell):
    """Numbers and verdicts of a table cell."""
    return (*NUMBER.findall(cell), *VERDICT.findall(cell))


def tables_in(data):
    """All tables anywhere in a page's data, and those of the checks of its claims."""
    if isinstance(data, Table):
        return [data]
    if isinstance(data, CheckedClaim):
        return [checks_table(data)] if data.checks else []
    values = data.values() if isinstance(data, dict) else data
    nested = values if isinstance(data, (dict, list, tuple)) else ()
    return [table for value in nested for table in tables_in(value)]


def rows_on(page):
    """Cells of all tables of a Markdown page, without headers."""
    lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
    rows = [line for line in lines if line.startswith("|")]
    rules = [place for place, line in enumerate(rows) if set(line) <= set("| -")]
    skipped = {*rules, *(place - 1 for place in rules)}
    return [row.strip("|").split("|") for place, row in enumerate(rows) if place not in skipped]


@cache
def built(name):
    """Data of a page from the stored results."""
    return BUILT[name]()


@pytest.mark.parametrize("name", BUILT)
def test_tables_of_the_page_are_those_of_the_results(name):
    """Numbers and verdicts of every row, wherever it is; wording is free."""
    seen = {key: value for key, value in built(name).items() if key not in {"checked", "overall"}}
    rows = [row for table in tables_in(seen) for row in table.rows]

    given = Counter(tuple(map(facts, row)) for row in rows)
    shown = Counter(tuple(map(facts, row)) for row in rows_on(DOCS / f"{name}.md"))

    assert shown == given
    assert len(rows) >= 5


@pytest.mark.parametrize("name", BUILT)
def test_images_of_the_page_are_there(name):
    """In a folder next to the page."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(([\w-]+/[\w-]+\.svg)\)", text))

    assert shown
    assert all((DOCS / image).stat().st_size > 0 for image in shown)


def test_figures_of_the_page_are_those_in_the_files():
    """SST with a CNN, read from the JSON by hand."""
    path = files("seedproof_reproductions.conll2019") / "results" / "sst-cnn-additive.json"
    arms = json.loads(path.read_text(encoding="utf-8"))["arms"]
    effect = arms["aswa"]["effects"]["flip_rate"]
    low, high = (100 * (1 - effect[end]) for end in ("low", "high"))
    drawn = built("conll2019")["headline"]["rows"]

    flips, *ends = (f"{100 * value:.1f}" for value in arms["none"]["metrics"]["flip_rate"])
    assert facts(drawn["flip rate"]["none"]) == (flips, *ends)
    assert facts(drawn["flip rate"]["changes"]["ASWA"]) == (
        f"−{100 * (1 - effect['value']):.0f}",
        f"−{low:.0f}",
        f"−{high:.0f}",
        effect["verdict"],
    )
    kl = arms["none"]["explanations"]["attention"]["metrics"]["explanation_kl"]
    assert facts(drawn["attention: KL"]["none"]) == tuple(f"{value:.3f}" for value in kl)
