"""Pictures of charts, which are read without their page."""

import re
from html import unescape

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.report import charts
from seedproof.report.comparison.figures import build_figures as comparison_figures
from seedproof.report.figures import build_figures
from seedproof.testing.errors import WithFields

WHITE = re.compile(r'<rect width="\d+" height="\d+" fill="#ffffff"')


def _probs(noise, n_runs=5, n_examples=200):
    rng = np.random.default_rng(5)
    logits = 2 * rng.normal(size=(1, n_examples, 2))
    raised = np.exp(logits + noise * rng.normal(size=(n_runs, n_examples, 2)))
    return raised / raised.sum(axis=2, keepdims=True)


@pytest.fixture(scope="module")
def figures():
    """All charts of a report with labels, and those of a comparison of two arms."""
    report = sp.measure(_probs(1.0), labels=np.arange(200) % 2)
    comparison = sp.compare({"none": _probs(1.0), "calm": _probs(0.3)})
    return (*build_figures(report.measurement), *comparison_figures(comparison.comparison))


def _texts(svg):
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_every_picture_is_white_and_has_its_title_and_legend(figures):
    """Colors are values, because CSS variables of the page are not defined there."""
    for figure in figures:
        svg = charts.picture(figure, "svg").decode()
        texts = _texts(svg)
        title = charts.picture_spec(figure)["title"]["text"]

        assert WHITE.search(svg), figure.name
        assert "var(--" not in svg, figure.name
        assert " ".join(title)[:20] in " ".join(texts), figure.name
        for _, _, text in figure.alone.get("legend", figure.legend):
            assert text in texts, figure.name


def test_picture_of_a_forest_has_the_axis_that_a_page_has_once(figures):
    """On the page only the last of several charts labels the common axis."""
    first = next(figure for figure in figures if figure.name == "forest_flip_rate")

    assert first.facts["axis"] is None
    assert "×1" in _texts(charts.picture(first, "svg").decode())


def test_names_given_by_the_user_are_drawn_as_text():
    """Neither an invisible character nor the name of a color reaches the renderer."""
    arms = {"none": _probs(1.0), "var(--x)\x00<b>": _probs(0.3)}
    figures = comparison_figures(sp.compare(arms).comparison)

    votes = charts.picture(figures[-1], "svg").decode()

    assert "\x00" not in votes
    assert "<b>" not in votes
    assert any("var(--x)" in text for text in _texts(votes))


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
)
def test_format_follows_from_the_file_extension(figures, tmp_path, kind, start):
    """Each format begins as it should, and the folder is created."""
    chart = sp.Chart(figures[1])

    chart.save(tmp_path / "charts" / f"flips.{kind}")

    assert (tmp_path / "charts" / f"flips.{kind}").read_bytes().startswith(start)
    assert chart.to_bytes(kind).startswith(start)


def test_unknown_format_is_refused_with_the_known_ones(figures):
    """The error carries them as fields."""
    known = ("png", "svg", "pdf")
    with pytest.raises(OptionError, check=WithFields(file_format="gif", known=known)):
        sp.Chart(figures[0]).to_bytes("gif")
