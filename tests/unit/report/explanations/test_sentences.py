"""Every sentence about explanations has a condition; where it fails, a weaker one is used."""

from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.explanations.sentences import (
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
    """Explanations by a method with other values of the top words, drawn once or twice."""

    def build(method="attention", *, value=None, noise=None, **others):
        explained = replace(three_methods.explanations["attention"], method=method, **others)
        if value is not None:
            explained = replace(explained, metrics={**explained.metrics, NAME: value})
        if noise is not None:
            explained = replace(explained, noise={**explained.metrics, NAME: noise})
        return explained

    return build


def test_view_has_a_sentence_per_method(three_methods):
    """After calibration; the first one in full."""
    by_topic = {topic.topic: topic.messages for topic in three_methods.view().sentences}

    assert list(by_topic)[-2] == "Calibration"
    explained = three_methods.explanations
    *on_words, on_noise = list(by_topic.values())[-1]
    assert [message.code for message in on_words] == ["top-words-differ"] * 3
    for message, method in zip(on_words, ("attention", "gradient", "lime"), strict=True):
        assert message.fields["method"] == named(method)
        assert message.fields["differ"].estimate == explained[method].metrics[NAME]
        assert message.fields["agreed"].value == explained[method].agreed[NAME]
    assert ["words" in message.fields for message in on_words] == [True, False, False]
    assert on_noise.code == "explainer-noise"
    assert on_noise.fields["noise"].value == explained["lime"].noise[NAME].value


def test_report_without_explanations_has_none():
    """No sentence, no key figure, no section."""
    view = sp.measure([[0, 1, 1], [0, 1, 0]]).view()

    assert [topic.topic for topic in view.sentences] == ["Answers"]
    assert view.explanations == ()
    assert view.key_figures[-1].name == "discrepancy"


@pytest.mark.parametrize(
    ("method", "code"), [("attention", "attended-words"), ("lime", "ranked-words")]
)
def test_sentence_depends_on_the_method(change, method, code):
    """Attention attends to words; other methods rank them."""
    explained = change(method, value=_estimate(0.5, 0.4, 0.6), n_agreed=0)

    (message,) = sentences({method: explained}, explained.n_examples)

    assert message.fields["words"].code == code
    assert message.fields["differ"].estimate == _estimate(0.5, 0.4, 0.6)
    assert not {"agreed", "n_examples"} & message.fields.keys()


def test_sentence_has_the_number_of_explained_examples(change):
    """LIME is expensive, so it may cover some of the examples only."""
    explained = change(value=_estimate(0.5, 0.4, 0.6), n_examples=200, n_agreed=200)

    (message,) = sentences({"attention": explained}, 1725)

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
def test_noise_is_exceeded_only_if_intervals_do_not_overlap(change, noise, code, shown):
    """The intervals of runs and of draws of the explainer."""
    explained = change(value=_estimate(0.5, 0.4, 0.6), noise=noise)

    message = sentences({"attention": explained}, explained.n_examples)[-1]

    assert (message.code, message.fields) == (code, shown)


def test_runs_with_the_same_top_words_have_their_own_sentence(change):
    """The distance is 0."""
    explained = change("gradient", value=_estimate(0.0, 0.0, 0.01))

    (message,) = sentences({"gradient": explained}, 60)

    assert message.code == section_title([explained]).code == "top-words-same"
    assert (message.fields["method"], message.fields["n_runs"]) == ("gradient", 8)


@pytest.mark.parametrize(
    ("values", "code", "shown"),
    [
        ((0.373,), "top-words-differ", {"differ": 0.373}),
        ((0.6, 0.373), "top-words-differ-by-method", {"low": 0.373, "high": 0.6}),
    ],
)
def test_section_title_is_the_finding(change, values, code, shown):
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
def test_noise_without_a_second_draw_depends_on_the_method(change, method, code):
    """Computed methods have none; for others it is unknown."""
    message = on_floor(change(method))

    assert (message.code, message.fields["method"]) == (code, named(method))


def test_measured_noise_has_its_number_of_examples(three_methods):
    """And the name of the method."""
    message = on_floor(three_methods.explanations["lime"])

    assert message.code == "noise-measured"
    assert message.fields == {"method": named("lime"), "n_repeated": 60}


def test_single_method_has_paragraphs_on_both_ways_to_count(three_methods):
    """Of 3 words per run, 2 shared: 2 of 4 words differ, 2 of 3 are kept."""
    explained = three_methods.explanations["attention"]
    differ, overlap = _estimate(2 / 4, 0.4, 0.6), _estimate(2 / 3, 0.5, 0.8)
    metrics = explained.metrics | {NAME: differ, "explanation_overlap": overlap}
    explained = replace(explained, metrics=metrics)

    lists, kept = paragraphs([explained])

    assert lists.fields["differ"].estimate == differ
    assert kept.fields["shared"].estimate == overlap
    assert paragraphs([explained, explained]) == ()


def test_known_methods_have_readable_names():
    """Other methods keep their own."""
    assert [named(m) for m in ("lime", "gradient_x_input", "my_scores")] == [
        TITLES["lime"],
        TITLES["gradient-x-input"],
        "my_scores",
    ]


def test_report_of_predicted_classes_has_explanations(make_explained_store):
    """Without a chart by confidence."""
    tokens = [["a", "b", "c", "d", "e"]] * 3
    scores = [np.random.default_rng(i).random((4, 1, 5)) for i in range(3)]
    labels = np.array([[0, 0, 1]] * 3 + [[0, 1, 1]])
    report = sp.measure(make_explained_store({"none": (labels, {"x": scores})}, tokens=tokens))

    assert report.view().sentences[-1].messages[0].fields["method"] == "x"
    assert 'id="explanations"' in report.to_html(show=["tokens"])
