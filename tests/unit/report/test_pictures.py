"""Pictures of charts stand alone: white, with a title, and a legend where there are series."""

import re
from html import unescape

import numpy as np
import pytest

import seedproof as sp
from seedproof.report import charts
from seedproof.report.charts import picture_spec
from seedproof.report.comparison.figures import build_figures as figures_of_comparison
from seedproof.report.figures import build_figures

WHITE = re.compile(r'<rect width="\d+" height="\d+" fill="#ffffff"')


def _probs(noise, n_runs=5, n_examples=200):
    rng = np.random.default_rng(5)
    logits = 2 * rng.normal(size=(1, n_examples, 2))
    raised = np.exp(logits + noise * rng.normal(size=(n_runs, n_examples, 2)))
    return raised / raised.sum(axis=2, keepdims=True)


@pytest.fixture(scope="module")
def figures():
    """All charts of a report with labels, and those of a comparison of two arms."""
    labels = np.arange(200) % 2
    report = sp.measure(_probs(1.0), labels=labels)
    comparison = sp.compare({"none": _probs(1.0), "calm": _probs(0.3)})
    return (*build_figures(report.measurement), *figures_of_comparison(comparison.comparison))


def _words(svg):
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_every_picture_is_white_and_has_its_title_and_legend(figures):
    """Pasted into a paper or a dark chat, it can be read and understood."""
    for figure in figures:
        svg = charts.picture(figure, "svg").decode()
        words = _words(svg)
        spec = picture_spec(figure)

        assert WHITE.search(svg), figure.name
        assert " ".join(spec["title"]["text"])[:20] in " ".join(words), figure.name
        for _, _, text in figure.alone.get("legend", figure.legend):
            assert text in words, figure.name


def test_a_forest_alone_has_the_axis_that_its_page_has_once(figures):
    """On the page only the last of several charts labels the common axis."""
    first = next(figure for figure in figures if figure.name == "forest_flip_rate")

    assert first.facts["axis"] is None
    assert "×1" in _words(charts.picture(first, "svg").decode())


def test_words_of_users_in_a_title_are_drawn_as_they_are():
    """Neither a sign that nobody sees nor the name of a color reaches what draws."""
    arms = {"none": _probs(1.0), "var(--x)\x00<b>": _probs(0.3)}
    figures = figures_of_comparison(sp.compare(arms).comparison)

    votes = charts.picture(figures[-1], "svg").decode()

    assert "\x00" not in votes
    assert "<b>" not in votes
    assert any("var(--x)" in text for text in _words(votes))
