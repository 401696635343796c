"""Every sentence about reasons has a condition, and the weaker one is said where it fails."""

from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.measurement.intervals import Estimate
from seedproof.report.reasons.words import (
    named,
    on_floor,
    paragraphs,
    section_title,
    sentence,
)

NB = "\N{NO-BREAK SPACE}"
NAME = "explanation_jaccard_20"


def _estimate(value, low=None, high=None):
    return Estimate(value, low, high, "runs × examples")


@pytest.fixture
def change(three_methods):
    """Explanations by some method with other figures of the top words, drawn once or twice."""

    def made(method="attention", *, value=None, noise=None, **others):
        found = replace(three_methods.explanations["attention"], method=method, **others)
        if value is not None:
            found = replace(found, metrics={**found.metrics, NAME: value})
        return found if noise is None else replace(found, noise={**found.metrics, NAME: noise})

    return made


def test_the_sentence_stands_among_the_verdicts(three_methods):
    """Topic "Reasons", after calibration; one sentence a method, the first in full."""
    said = {one.topic: one.text for one in three_methods.view().sentences}

    assert list(said)[-2:] == ["Calibration", "Reasons"]
    first, second, third = (
        three_methods.explanations[m] for m in ("attention", "gradient", "lime")
    )
    value = first.metrics[NAME]
    assert said["Reasons"].startswith(
        f"Of the words two runs attend to most, {100 * value.value:.1f}{NB}% "
        f"[{100 * value.low:.1f}, {100 * value.high:.1f}] are named by only one; "
        f"{100 * first.agreed[NAME]:.1f}{NB}% where all runs give the same answer. By gradient: "
        f"{100 * second.metrics[NAME].value:.1f}{NB}% ["
    )
    noise = third.noise[NAME].value
    assert said["Reasons"].endswith(
        f"Two draws of one explainer already differ in {100 * noise:.1f}{NB}%."
    )


def test_nothing_is_said_without_explanations():
    """No sentence, no key figure, no section."""
    view = sp.measure([[0, 1, 1], [0, 1, 0]]).view()

    assert "Reasons" not in {one.topic for one in view.sentences}
    assert view.reasons == ()
    assert view.key_figures[-1].title != "Top words that differ"


def test_words_depend_on_the_method(change):
    """Only attention attends; others rank words."""
    lime = change("lime", value=_estimate(0.5, 0.4, 0.6), n_agreed=0)

    text = sentence({"lime": lime}, lime.n_examples)

    assert text == (
        f"Of the words that two runs rank highest by LIME, 50.0{NB}% [40.0, 60.0] are named by "
        "only one."
    )


def test_fewer_examples_are_told(change):
    """LIME is dear, so that it may cover a part of the examples only."""
    found = change(value=_estimate(0.5, 0.4, 0.6), n_examples=200, n_agreed=200)

    assert sentence({"attention": found}, 1725) == (
        f"Of the words two runs attend to most on 200 examples, 50.0{NB}% [40.0, 60.0] are named "
        "by only one."
    )


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (_estimate(0.2, 0.15, 0.25), f"already differ in 20.0{NB}%."),
        (
            _estimate(0.45, 0.3, 0.55),
            "45.0\N{NO-BREAK SPACE}%: these runs do not clearly show more.",
        ),
        (_estimate(0.45), "45.0\N{NO-BREAK SPACE}%: these runs do not clearly show more."),
        (_estimate(0.0, 0.0, 0.0), "Explained twice, a run names the same ones."),
    ],
)
def test_the_floor_takes_the_edge_off(change, noise, says):
    """Runs differ more than draws only where the two intervals do not touch."""
    found = change(value=_estimate(0.5, 0.4, 0.6), noise=noise)

    assert sentence({"attention": found}, found.n_examples).endswith(says)


def test_agreement_of_all_runs_is_called_that(change):
    """A distance of 0 is no distance."""
    found = change("gradient", value=_estimate(0.0, 0.0, 0.01))

    assert sentence({"gradient": found}, 60) == "By gradient, all 8 runs name the same top words."
    assert section_title([found]) == "All runs name the same top words"


@pytest.mark.parametrize(
    ("values", "title"),
    [
        ((0.373,), f"Between two runs, 37.3{NB}% of the top words differ"),
        (
            (0.6, 0.373),
            f"Between two runs, 37.3 to 60.0{NB}% of the top words differ, by explainer",
        ),
    ],
)
def test_the_title_is_the_finding(change, values, title):
    """The share that differs, or its range over methods."""
    assert section_title([change(value=_estimate(value)) for value in values]) == title


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("attention", "Nothing is drawn for attention"),
        ("integrated_gradients", "Nothing is drawn for integrated gradients"),
        ("lime", "unknown: not every run was explained twice by LIME"),
        ("my-method", "unknown: not every run was explained twice by my-method"),
    ],
)
def test_without_a_second_draw_the_floor_is_known_by_name_alone(change, method, says):
    """What is computed has no noise; of anything else nobody knows."""
    assert says in on_floor(change(method))


def test_a_measured_floor_is_explained(three_methods):
    """Over how many examples, and what it means."""
    text = on_floor(three_methods.explanations["lime"])

    assert "two draws of LIME" in text
    assert "over 60 examples" in text


def test_both_ways_to_count_stand_beside_one_chart(three_methods):
    """Of 3 words each of two runs, 2 shared: 2 of 4 words differ, 2 of 3 are kept."""
    found = three_methods.explanations["attention"]
    one = replace(
        found,
        metrics={
            **found.metrics,
            NAME: _estimate(2 / 4, 0.4, 0.6),
            "explanation_overlap": _estimate(2 / 3, 0.5, 0.8),
        },
    )

    text = " ".join(paragraphs([one]))

    assert f"50.0{NB}% [40.0, 60.0] are in only one" in text
    assert f"66.7{NB}% [50.0, 80.0] of its top words are in the other’s list" in text
    assert paragraphs([one, one]) == ()


def test_known_methods_have_names_for_people():
    """Others keep their own."""
    assert [named(m) for m in ("lime", "gradient_x_input", "my_scores")] == [
        "LIME",
        "gradient × input",
        "my_scores",
    ]


def test_a_report_of_labels_alone_has_reasons_without_a_curve(make_explained_store):
    """Predicted classes have no confidence to go by."""
    tokens = [["a", "b", "c", "d", "e"]] * 3
    scores = [np.random.default_rng(i).random((4, 1, 5)) for i in range(3)]
    labels = np.array([[0, 0, 1]] * 3 + [[0, 1, 1]])
    report = sp.measure(make_explained_store({"none": (labels, {"x": scores})}, tokens=tokens))

    assert report.view().sentences[-1].topic == "Reasons"
    assert "Reasons" in report.to_html(show=["tokens"])
