"""The page and the pictures, without a browser."""

import json
import re

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import card
from seedproof.report.html import card_html
from seedproof.testing.errors import WithFields


def _probs(n_runs, n_examples, n_classes):
    rng = np.random.default_rng(3)
    logits = 3 * rng.normal(size=(1, n_examples, n_classes))
    raised = np.exp(logits + rng.normal(size=(n_runs, n_examples, n_classes)))
    return (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)


def _data(page):
    """What the script of a page reads."""
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


@pytest.fixture(scope="module")
def report():
    """Six runs, 300 examples, two classes."""
    return sp.measure(_probs(6, 300, 2), labels=np.arange(300) % 2)


def test_the_page_refers_to_nothing_outside(report):
    """No address is loaded: every link stays on the page."""
    page = report.to_html()

    body = page.split("<script", maxsplit=1)[0]
    assert not re.findall(r'(?:src|href)="(?!#)', body)
    assert "@import" not in body
    assert "url(" not in body


def test_the_page_stays_small_whatever_the_size():
    """Nothing but aggregates and 500 examples is in it: under 3 MB for 60,000 examples."""
    page = sp.measure(_probs(3, 60_000, 3), labels=np.zeros(60_000, dtype=int)).to_html()

    assert len(page.encode()) < 3_000_000
    assert len(_data(page)["examples"]) == 500


def test_there_is_one_runtime_and_one_spec_a_chart(report):
    """The page has one script for Vega, and its data block names each chart once."""
    page = report.to_html()

    names = [figure["name"] for figure in _data(page)["figures"]]
    assert page.count("window.vegaEmbed=") == 1
    assert len(set(names)) == len(names) == 8
    assert all(f'id="c-{name}"' in page for name in names)


def test_the_page_is_the_same_each_time(report):
    """No time and no random number is in it."""
    assert report.to_html() == report.to_html()


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
)
def test_pictures_are_what_they_say(report, tmp_path, kind, start):
    """Each format begins as it should, and follows from the extension of the file."""
    chart = report.figure("flip_matrix")

    chart.save(tmp_path / "charts" / f"flips.{kind}")

    content = (tmp_path / "charts" / f"flips.{kind}").read_bytes()
    assert content.startswith(start)
    assert chart.to_bytes(kind).startswith(start)


def test_a_picture_has_no_css_variable_left(report):
    """Outside the page nobody knows its colors by name."""
    for name in ("accuracy_by_run", "flip_matrix", "votes", "reliability_0"):
        assert b"var(--" not in report.figure(name).to_bytes("svg")


def test_an_unknown_figure_or_format_is_answered_with_the_known_ones(report):
    """A typo costs one look."""
    with pytest.raises(UnknownNameError, check=WithFields(figure="flips")):
        report.figure("flips")
    with pytest.raises(
        OptionError, check=WithFields(file_format="gif", known=("png", "svg", "pdf"))
    ):
        report.figure("votes").to_bytes("gif")


def test_a_notebook_gets_a_short_form(report):
    """Headline, key figures and one chart, no script."""
    short = report._repr_html_()

    view = report.view()
    assert view.headline in short
    assert all(key.title in short for key in view.key_figures)
    assert short.count("<svg") == 1
    assert "flip_rate" in short
    assert "<script" not in short
    assert len(short) < 40_000


@pytest.mark.parametrize("name", METRIC_NAMES)
def test_every_card_becomes_html_without_leftovers(name):
    """Cards use paragraphs, bold and code alone, so no Markdown sign is left."""
    found = str(card_html(card(name).text))

    assert found.startswith("<p>")
    assert "**" not in found
    assert "`" not in found
