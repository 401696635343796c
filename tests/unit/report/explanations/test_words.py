"""Every sentence about reasons has a condition, and the weaker one is said where it fails."""

from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.explanations.words import (
    TITLES,
    named,
    on_floor,
    paragraphs,
    section_title,
    sentences,
)
from seedproof.report.numbers import WithUnit
from seedproof.stats.intervals import Estimate

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
    said = {one.topic: one.messages for one in three_methods.view().sentences}

    assert list(said)[-2:] == ["Calibration", "Reasons"]
    explained = three_methods.explanations
    *on_words, on_noise = said["Reasons"]
    assert [message.code for message in on_words] == ["top-words-differ"] * 3
    for message, method in zip(on_words, ("attention", "gradient", "lime"), strict=True):
        assert message.fields["method"] == named(method)
        assert message.fields["differ"].estimate == explained[method].metrics[NAME]
        assert message.fields["agreed"].value == explained[method].agreed[NAME]
    assert ["words" in message.fields for message in on_words] == [True, False, False]
    assert on_noise.code == "explainer-noise"
    assert on_noise.fields["noise"].value == explained["lime"].noise[NAME].value


def test_nothing_is_said_without_explanations():
    """No sentence, no key figure, no section."""
    view = sp.measure([[0, 1, 1], [0, 1, 0]]).view()

    assert "Reasons" not in {one.topic for one in view.sentences}
    assert view.reasons == ()
    assert view.key_figures[-1].name == "discrepancy"


@pytest.mark.parametrize(
    ("method", "code"), [("attention", "attended-words"), ("lime", "ranked-words")]
)
def test_words_depend_on_the_method(change, method, code):
    """Only attention attends; others rank words."""
    found = change(method, value=_estimate(0.5, 0.4, 0.6), n_agreed=0)

    (message,) = sentences({method: found}, found.n_examples)

    assert message.fields["words"].code == code
    assert message.fields["differ"].estimate == _estimate(0.5, 0.4, 0.6)
    assert not {"agreed", "n_examples"} & message.fields.keys()


def test_fewer_examples_are_told(change):
    """LIME is dear, so that it may cover a part of the examples only."""
    found = change(value=_estimate(0.5, 0.4, 0.6), n_examples=200, n_agreed=200)

    (message,) = sentences({"attention": found}, 1725)

    assert (message.code, message.fields["n_examples"]) == ("top-words-differ", 200)


@pytest.mark.parametrize(
    ("noise", "code", "shown"),
    [
        (_estimate(0.2, 0.15, 0.25), "explainer-noise", {"noise": WithUnit(0.2, "percent")}),
        (
            _estimate(0.45, 0.3, 0.55),
            "explainer-noise-not-exceeded",
            {"noise": WithUnit(0.45, "percent")},
        ),
        (_estimate(0.45), "explainer-noise-not-exceeded", {"noise": WithUnit(0.45, "percent")}),
        (_estimate(0.0, 0.0, 0.0), "explainer-steady", {}),
    ],
)
def test_the_floor_takes_the_edge_off(change, noise, code, shown):
    """Runs differ more than draws only where the two intervals do not touch."""
    found = change(value=_estimate(0.5, 0.4, 0.6), noise=noise)

    message = sentences({"attention": found}, found.n_examples)[-1]

    assert (message.code, message.fields) == (code, shown)


def test_agreement_of_all_runs_is_called_that(change):
    """A distance of 0 is no distance."""
    found = change("gradient", value=_estimate(0.0, 0.0, 0.01))

    (message,) = sentences({"gradient": found}, 60)

    assert message.code == section_title([found]).code == "top-words-same"
    assert (message.fields["method"], message.fields["n_runs"]) == ("gradient", 8)


@pytest.mark.parametrize(
    ("values", "code", "shown"),
    [
        ((0.373,), "top-words-differ", {"differ": 0.373}),
        ((0.6, 0.373), "top-words-differ-by-method", {"low": 0.373, "high": 0.6}),
    ],
)
def test_the_title_is_the_finding(change, values, code, shown):
    """The share that differs, or its range over methods."""
    title = section_title([change(value=_estimate(value)) for value in values])

    assert title.code == code
    assert {name: field.value for name, field in title.fields.items()} == shown


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("attention", "no-noise"),
        ("integrated_gradients", "no-noise"),
        ("lime", "noise-unknown"),
        ("my-method", "noise-unknown"),
    ],
)
def test_without_a_second_draw_the_floor_is_known_by_name_alone(change, method, code):
    """What is computed has no noise; of anything else it is unknown."""
    message = on_floor(change(method))

    assert (message.code, message.fields["method"]) == (code, named(method))


def test_a_measured_floor_is_explained(three_methods):
    """Over how many examples, and what it means."""
    message = on_floor(three_methods.explanations["lime"])

    assert message.code == "noise-measured"
    assert message.fields == {"method": named("lime"), "n_repeated": 60}


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

    lists, kept = paragraphs([one])

    assert lists.fields["differ"].estimate == _estimate(2 / 4, 0.4, 0.6)
    assert kept.fields["shared"].estimate == _estimate(2 / 3, 0.5, 0.8)
    assert paragraphs([one, one]) == ()


def test_known_methods_have_names_for_people():
    """Others keep their own."""
    assert [named(m) for m in ("lime", "gradient_x_input", "my_scores")] == [
        TITLES["lime"],
        TITLES["gradient-x-input"],
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
