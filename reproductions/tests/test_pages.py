"""The committed pages show what the stored results give, compared as data."""

import json
import math
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


def test_figures_of_the_page_match_the_json_files():
    """For SST with a CNN: geometric means of both halves, which have as many runs."""
    place = files("seedproof_reproductions.conll2019") / "results"
    paths = [place / f"sst-cnn-additive-seed-{root}.json" for root in (1, 3)]
    halves = [json.loads(path.read_text(encoding="utf-8"))["arms"] for path in paths]
    rows = {row[0]: row[1:] for row in page_data(stored_results())["headline"]["table"].rows}
    none, aswa, *_ = rows["flip rate"]

    assert {arm["n_runs"] for half in halves for arm in (half["none"], half["aswa"])} == {50}
    flips = [half["none"]["metrics"]["flip_rate"] for half in halves]
    # Its part from texts is not stored, so that both ends are averaged, too.
    means = [math.sqrt(first * second) for first, second in zip(*flips, strict=True)]
    assert NUMBER.findall(none) == [f"{100 * value:.1f}" for value in means]
    effects = [half["aswa"]["effects"]["flip_rate"] for half in halves]
    ratio = math.sqrt(effects[0]["value"] * effects[1]["value"])
    assert NUMBER.findall(aswa)[0] == f"−{100 * (1 - ratio):.0f}"
    assert {effect["verdict"] for effect in effects} == set(VERDICT.findall(aswa))
    kl = [half["none"]["explanations"]["attention"]["metrics"]["explanation_kl"] for half in halves]
    assert NUMBER.findall(rows["attention: KL"][0])[0] == f"{math.sqrt(kl[0][0] * kl[1][0]):.3f}"
