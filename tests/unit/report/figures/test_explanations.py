"""Top words by confidence: bins, bands and takeaways."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.measurement.explanations.curves import Curves
from seedproof.report.explanations.sentences import named
from seedproof.report.figures import build_figures
from seedproof.report.figures.explanations import top_words

NAME = "explanation_jaccard_20"


def _curves(means, *, errors=0.01, counts=50):
    """One class, ten bins."""
    return Curves(
        ("positive",),
        np.broadcast_to(counts, (1, 10)),
        {NAME: np.broadcast_to(np.asarray(means, dtype=float), (1, 10))},
        {NAME: np.broadcast_to(np.asarray(errors, dtype=float), (1, 10))},
    )


@pytest.fixture
def draw(three_methods):
    """The chart of one method with other curves and other classes."""

    def made(curves, *, classes=("negative", "positive"), method="attention"):
        explained = replace(three_methods.explanations[method], curves=curves)
        measurement = replace(
            three_methods.measurement, explanations={method: explained}, classes=classes
        )
        return top_words(measurement)[0]

    return made


def test_every_method_has_a_chart(three_methods):
    """It is named after the method, and has a floor if the noise is known."""
    figures = [f for f in build_figures(three_methods.measurement) if f.section == "Explanations"]

    methods = ("attention", "gradient", "lime")
    assert [figure.name for figure in figures] == [f"top_words_{method}" for method in methods]
    noise = three_methods.explanations["lime"].noise[NAME].value
    assert [figure.facts["floor"] for figure in figures] == [None, None, pytest.approx(100 * noise)]
    assert [len(figure.legend) for figure in figures] == [0, 0, 2]
    assert figures[2].title.endswith(named("lime"))


def test_every_chart_is_valid_and_can_be_drawn(three_methods, check_spec):
    """The spec matches the schema of Vega-Lite."""
    for figure in top_words(three_methods.measurement):
        check_spec(figure)
    assert three_methods.figure("top_words_lime").to_bytes("svg").startswith(b"<svg")


def test_bins_are_percentages_with_a_band(draw):
    """0.3 ± 1.96 · 0.01, in percent."""
    row = draw(_curves(0.3)).rows[0]

    assert (row["x"], row["differ"], row["count"]) == (0.05, pytest.approx(30), 50)
    assert (row["low"], row["high"]) == pytest.approx((28.04, 31.96), abs=1e-3)


def test_bins_without_a_band_are_left_out(draw):
    """An empty bin has no mean, and one example has no spread."""
    means = [0.3] * 8 + [np.nan, 0.3]
    errors = [0.01] * 7 + [np.nan, np.nan, 0.01]

    assert [row["x"] for row in draw(_curves(means, errors=errors)).rows] == [
        0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.95,
    ]  # fmt: skip


def test_classes_are_averaged_by_their_counts(draw):
    """30 examples at 0.2 and 10 at 0.4: 25 %, with the mean of their standard errors."""
    counts = np.full((2, 10), [[30], [10]])
    values = {NAME: np.full((2, 10), [[0.2], [0.4]])}
    errors = {NAME: np.full((2, 10), [[0.01], [0.03]])}

    figure = draw(Curves(("a", "b"), counts, values, errors), classes=("a", "b", "c"))

    row = figure.rows[0]
    assert row["differ"] == pytest.approx(25)
    assert row["high"] - row["differ"] == pytest.approx(1.96 * (0.75 * 1 + 0.25 * 3), rel=1e-3)
    assert [message.code for message in figure.reading] == ["bins", "counted-by-class"]
    assert [message.code for message in draw(_curves(0.3)).reading] == ["bins"]
    assert not [name for name in ("“a”", "“b”") if name in figure.facts["x"]]


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        (0.3, "steadier-but-not-steady-where-sure"),
        (0.1, "steadier-where-sure"),
        (0.4, "not-steady-where-sure"),
    ],
)
def test_takeaway_follows_from_the_bands(draw, ends, code):
    """Not steady: above half of the middle. Steadier: below the middle, with bands apart."""
    figure = draw(_curves([ends] * 2 + [0.4] * 6 + [ends] * 2))

    assert figure.takeaway.code == code
    assert figure.takeaway.fields == pytest.approx({"sure": 100 * ends, "doubtful": 40})


def test_takeaway_is_the_peak_if_bands_overlap(draw):
    """Neither sentence on sure examples holds."""
    figure = draw(_curves([0.1, 0.1, 0.11, 0.4, 0.4, 0.4, 0.4, 0.4, 0.1, 0.1]))

    assert figure.takeaway.code == "top-words-differ-most"
    assert figure.takeaway.fields == pytest.approx({"probability": 0.35, "differ": 40})


def test_backslash_in_a_class_name_is_escaped(draw):
    """Vega-Lite reads axis titles as expressions."""
    curves = replace(_curves(0.3), classes=("a\\b",))

    assert "“a\\\\b”" in draw(curves).facts["x"]


def test_low_probability_is_not_a_sure_answer_with_three_classes(draw):
    """One class may be improbable while runs waver between the other two."""
    means = [0.9, 0.9, *[0.4] * 6, 0.1, 0.1]

    figure = draw(_curves(means), classes=("a", "b", "c"))

    assert figure.takeaway.code == "steadier-where-sure"
    assert figure.takeaway.fields == pytest.approx({"sure": 10, "doubtful": 40})
