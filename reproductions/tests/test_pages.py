"""The committed pages show what the stored results give, compared as data."""

import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from seedproof_reproductions.build import build_pages
from seedproof_reproductions.conll2019.page_data import page_data
from seedproof_reproductions.conll2019.results import stored_results

DOCS = Path(__file__).parents[2] / "docs" / "results"
PAGES = ("conll2019", "findings2023", "thesis2019", "which-mitigation")
NUMBER = re.compile(r"[−+]?\d+(?:,\d{3})*(?:\.\d+)?")
VERDICT = re.compile(
    r"less steady|steadier|better|worse|no difference shown|too few runs|not determined|"
    r"does not hold here|holds here|its size is open|not shown here|not covered"
)


def facts_on(text):
    """Numbers and verdicts in the cells of every table row; wording is free."""
    rows = [line.strip().split("|") for line in text.splitlines() if line.strip().startswith("|")]
    return Counter(
        tuple((*NUMBER.findall(cell), *VERDICT.findall(cell)) for cell in row) for row in rows
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with all pages, built anew."""
    folder = tmp_path_factory.mktemp("pages")
    build_pages(folder)
    return folder


@pytest.mark.parametrize("name", PAGES)
def test_committed_page_matches_the_stored_results(built, name):
    """To update it, run `python -m seedproof_reproductions.build docs/results`."""
    text = (built / f"{name}.md").read_text(encoding="utf-8")

    assert facts_on((DOCS / f"{name}.md").read_text(encoding="utf-8")) == facts_on(text)
    shown = set(re.findall(r"\]\(([\w-]+/[\w-]+\.svg)\)", text))
    assert shown
    for folder in (built, DOCS):
        assert all((folder / image).read_text("utf-8").startswith("<svg") for image in shown)


def test_figures_of_the_page_match_the_json_file():
    """For SST with a CNN."""
    path = files("seedproof_reproductions.conll2019") / "results" / "sst-cnn-additive-seed-1.json"
    arms = json.loads(path.read_text(encoding="utf-8"))["arms"]
    effect = arms["aswa"]["effects"]["flip_rate"]
    rows = {row[0]: row[1:] for row in page_data(stored_results())["headline"]["table"].rows}
    none, aswa, *_ = rows["flip rate"]

    flips = arms["none"]["metrics"]["flip_rate"]
    assert NUMBER.findall(none) == [f"{100 * value:.1f}" for value in flips]
    ends = [f"−{100 * (1 - effect[end]):.0f}" for end in ("value", "low", "high")]
    assert NUMBER.findall(aswa) == ends
    assert aswa.endswith(effect["verdict"])
    kl = arms["none"]["explanations"]["attention"]["metrics"]["explanation_kl"]
    assert NUMBER.findall(rows["attention: KL"][0]) == [f"{value:.3f}" for value in kl]
