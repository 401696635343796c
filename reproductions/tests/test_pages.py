"""The committed pages are those of the stored results; they show what people read."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from seedproof_reproductions.build import build_pages
from seedproof_reproductions.conll2019.page_data import page_data
from seedproof_reproductions.conll2019.results import stored_results

DOCS = Path(__file__).parents[2] / "docs" / "results"
PAGES = ("conll2019", "findings2023", "which-mitigation")
NUMBER = re.compile(r"[−+]?\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with all pages, built anew."""
    folder = tmp_path_factory.mktemp("pages")
    build_pages(folder)
    return folder


@pytest.mark.parametrize("name", PAGES)
def test_committed_page_is_that_of_the_results(built, name):
    """Rewrite it with `python -m seedproof_reproductions.build docs/results`, and read the diff."""
    text = (built / f"{name}.md").read_text(encoding="utf-8")

    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == text
    shown = set(re.findall(r"\]\(([\w-]+/[\w-]+\.svg)\)", text))
    assert shown
    for folder in (built, DOCS):
        assert all((folder / image).read_text("utf-8").startswith("<svg") for image in shown)


def test_figures_of_the_page_are_those_in_the_files():
    """SST with a CNN, read from the JSON by hand."""
    path = files("seedproof_reproductions.conll2019") / "results" / "sst-cnn-additive.json"
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
