"""The page of a measurement, without a browser."""

import json
import re

import numpy as np
import pytest

import seedproof as sp
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import card
from seedproof.report.document import card_html


def _probs(n_runs, n_examples, n_classes):
    rng = np.random.default_rng(3)
    logits = 3 * rng.normal(size=(1, n_examples, n_classes))
    raised = np.exp(logits + rng.normal(size=(n_runs, n_examples, n_classes)))
    return (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)


def _data(page):
    """The data block that the script of a page reads."""
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


@pytest.fixture(scope="module")
def report():
    """Six runs, 300 examples, two classes."""
    return sp.measure(_probs(6, 300, 2), labels=np.arange(300) % 2)


def test_page_is_self_contained_and_reproducible(report):
    """It loads no address, and contains neither a time nor a random number."""
    page = report.to_html()

    body = page.split("<script", maxsplit=1)[0]
    assert not re.findall(r'(?:src|href)="(?!#)', body)
    assert "@import" not in body
    assert "url(" not in body
    assert report.to_html() == page


def test_page_stays_small_whatever_the_size():
    """It holds only aggregates and 500 examples: under 3 MB for 60,000 examples."""
    page = sp.measure(_probs(3, 60_000, 3), labels=np.zeros(60_000, dtype=int)).to_html()

    assert len(page.encode()) < 3_000_000
    assert len(_data(page)["examples"]) == 500


def test_page_has_one_runtime_and_one_spec_per_chart(report):
    """One script for Vega; the data block names each chart once."""
    page = report.to_html()

    names = [figure["name"] for figure in _data(page)["figures"]]
    assert page.count("window.vegaEmbed=") == 1
    assert len(set(names)) == len(names) == 10


def test_short_form_is_small_and_has_the_headline(report):
    """The rest of the short form is tested for every result."""
    short = report._repr_html_()

    assert report.view().headline in short
    assert "flip_rate" in short
    assert len(short) < 40_000


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_every_card_becomes_html_without_leftovers(name):
    """Cards use paragraphs, bold and code only, so no Markdown sign is left."""
    html = str(card_html(card(name).text))

    assert html.startswith("<p>")
    assert "**" not in html
    assert "`" not in html
