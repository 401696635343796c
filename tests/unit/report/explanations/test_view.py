"""Metrics of explanations as rows with the noise of the explainer, and as text."""

import json
from itertools import pairwise

import numpy as np
import pytest

import seedproof as sp
from seedproof.api.measure import measure_arms
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.metrics.card import card
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.records.explanation_shards import EXPLANATIONS_LEFT_OUT
from seedproof.records.location import Location
from seedproof.report.explanations.sentences import on_floor
from seedproof.report.side_by_side import SideBySide
from seedproof.testing.errors import WithFields
from support.explained import write_explained

NB = "\N{NO-BREAK SPACE}"
NAME = "explanation_jaccard_20"


def test_text(three_methods, snapshot):
    """The text in a terminal."""
    snapshot("measure.txt", f"{three_methods.text(show=['tokens'])}\n")


def test_page(three_methods, snapshot, visible):
    """The text of the page."""
    page = three_methods.to_html(show=["tokens"], command="seedproof measure runs")

    snapshot("measure-page.txt", visible(page, three_methods.to_json()))


def test_every_metric_has_a_row_with_its_noise(three_methods):
    """Value, interval and noise, in the unit of the card."""
    lime = three_methods.view().explanations[2]
    explained = three_methods.explanations["lime"]
    row = next(row for row in lime.rows if row.name == NAME)

    value, noise = explained.metrics[NAME], explained.noise[NAME]
    assert [row.name for row in lime.rows] == list(EXPLANATION_NAMES)
    assert row.value == f"{100 * value.value:.1f}{NB}%"
    assert row.interval == f"[{100 * value.low:.1f}, {100 * value.high:.1f}]"
    assert row.floor.startswith(f"{100 * noise.value:.1f}{NB}% [")
    assert (row.title, row.better, row.over) == (card(NAME).title, "lower", "runs × examples")


@pytest.mark.parametrize(
    ("report", "code"), [("three_methods", "no-noise"), ("hand_made", "noise-unknown")]
)
def test_noise_that_was_not_measured_has_no_number(request, report, code):
    """Attention is known to have none; that of a custom method is unknown."""
    result = request.getfixturevalue(report)
    explained = result.view().explanations[0]

    assert on_floor(result.explanations[explained.method]).code == code
    assert not explained.has_floor
    assert not any(sign.isdigit() for row in explained.rows for sign in row.floor)


def test_top_words_are_a_key_figure(three_methods):
    """By the first method, in place of the spread of the probability."""
    key = three_methods.view().key_figures[3]

    value = three_methods.explanations["attention"].metrics[NAME].value
    assert (key.name, key.value) == (NAME, f"{100 * value:.1f}")
    assert key.meaning.fields["words"].code == "attended-words"
    assert key.meaning.fields["pairs"].fields == {"n_pairs": 28}
    assert "noise" not in key.meaning.fields
    assert key.mark is None


def test_noise_is_a_mark_of_the_key_figure(make_explained_store, drawn_texts):
    """If the first method was drawn twice."""
    arm, tokens, labels = drawn_texts(0.8, methods=("lime",))
    report = sp.measure(make_explained_store({"none": arm}, tokens=tokens, labels=labels))

    key, explained = report.view().key_figures[3], report.explanations["lime"]

    noise, value = explained.noise[NAME].value, explained.metrics[NAME].value
    assert key.mark == pytest.approx(key.bar[1] * noise / value)
    assert key.meaning.fields["noise"].value == noise


def test_text_fits_80_columns(three_methods):
    """Metrics by method, and with `tokens` the top words of each run."""
    plain, with_tokens = str(three_methods), three_methods.text(show=["tokens"])

    assert max(map(len, with_tokens.splitlines())) <= 80
    view = three_methods.view(show=["tokens"])
    assert plain.count(NAME) == len(view.explanations) == 3
    heat_maps = [heat_map for explained in view.explanations for heat_map in explained.heat_maps]
    assert len(heat_maps) == 9
    captions = [str(heat_map.caption).split() for heat_map in heat_maps]
    assert all(" ".join(words) in " ".join(with_tokens.split()) for words in captions)
    assert not [words for words in captions if " ".join(words) in " ".join(plain.split())]


def test_long_tokens_do_not_break_the_text(make_explained_store, drawn_texts):
    """Long lines are cut, and control codes are escaped."""
    arm, tokens, _ = drawn_texts(0.5, n_runs=3, n_examples=12)
    odd = [["\x1b[2J" + 90 * "x" + word for word in words] for words in tokens]
    report = sp.measure(make_explained_store({"none": arm}, tokens=odd))

    text = report.text(show=["tokens"])

    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_metrics_of_explanations_are_read_by_method(three_methods):
    """The error for reading them elsewhere has their place."""
    assert three_methods.explanations["lime"].metrics[NAME].value > 0
    places = tuple(
        f"report.explanations[{method!r}].metrics" for method in ("attention", "gradient", "lime")
    )
    with pytest.raises(UnknownNameError, check=WithFields(metric=NAME, places=places)):
        _ = three_methods[NAME]


def test_short_form_has_a_part_for_each_method(three_methods):
    """With all metrics."""
    short = three_methods._repr_html_()

    assert all(explained.title in short for explained in three_methods.view().explanations)
    assert short.count(NAME) == 3


def test_arms_side_by_side_have_their_explanations(make_explained_store, drawn_texts, tmp_path):
    """A page shows tokens if its arm has some."""
    arm, tokens, labels = drawn_texts(0.8)
    plain = (drawn_texts(0.4, seed=2)[0][0], {})
    store = make_explained_store({"none": arm, "plain": plain}, tokens=tokens, labels=labels)
    reports = measure_arms(store)

    text = str(reports)
    reports.save(tmp_path, show=["tokens"])

    assert NAME in text
    assert max(map(len, text.splitlines())) <= 80
    pages = {name: (tmp_path / name / "report.html").read_text() for name in ("none", "plain")}
    assert ">w0<" in pages["none"]
    assert 'id="explanations"' not in pages["plain"]
    with pytest.raises(ColumnError, check=WithFields(column="words", known=("tokens",))):
        reports.save(tmp_path, show=["words"])


def test_tokens_without_explanations_are_refused_with_the_reason(tmp_path):
    """None was logged, or they were left out; then the error has the note."""
    with pytest.raises(ColumnError, check=WithFields(column="tokens", left_out=())):
        sp.measure([[0, 1, 1], [0, 1, 0]]).view(show=["tokens"])

    place = Location.of(tmp_path / "store")
    scores = [np.ones((2, 1, 3), dtype=np.float32)] * 2
    probs = np.full((2, 2, 2), 0.5, dtype=np.float32)
    write_explained(place, [1, 2], scores, probs=probs)
    write_explained(place, [1, 2], scores, probs=probs, arm="other")
    next((tmp_path / "store" / "runs" / "none-1").rglob("explanations/**/*.parquet")).unlink()
    report = sp.measure(place, arm="none", skip_damaged=True)
    notes = report.measurement.notes
    left_out = tuple(note for note in notes if note.code == EXPLANATIONS_LEFT_OUT)
    assert left_out
    with pytest.raises(ColumnError, check=WithFields(column="tokens", left_out=left_out)):
        report.view(show=["tokens"])
    reports = SideBySide({"none": report, "again": report})
    with pytest.raises(ColumnError, check=WithFields(column="tokens", left_out=left_out)):
        reports.save(tmp_path / "out", show=["tokens"])


def test_arms_side_by_side_have_the_noise(make_explained_store, drawn_texts, snapshot):
    """Below each metric of a method that was drawn twice, and of no other."""
    methods = ("attention", "lime")
    none, tokens, _ = drawn_texts(0.8, methods=methods)
    calm = drawn_texts(0.3, methods=methods, seed=2)[0]
    reports = measure_arms(make_explained_store({"none": none, "calm": calm}, tokens=tokens))

    text = str(reports)

    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(NAME)]
    place = starts[1]  # attention, then LIME
    floors = [
        f"{100 * report.explanations['lime'].noise[NAME].value:.1f}" for report in reports.values()
    ]
    assert [word for word in lines[place + 2].split() if word[0].isdigit()] == floors
    assert len(starts) == 2
    # A line for the value, one for its interval, and for LIME one for the noise.
    figures = [i for i, line in enumerate(lines) if line.startswith("explanation_")]
    assert [after - before for before, after in pairwise(figures[:7])] == [2] * 6
    assert [after - before for before, after in pairwise(figures[7:])] == [3] * 6
    assert max(map(len, text.splitlines())) <= 80
    snapshot("side-by-side.txt", f"{text}\n")


def test_saved_report_has_metrics_and_no_tokens(hand_made, tmp_path):
    """`summary.json` has the metrics by method."""
    hand_made.save(tmp_path)

    text = (tmp_path / "summary.json").read_text()
    assert json.loads(text)["explanations"]["my-scores"]["metrics"][NAME]["value"] == (
        pytest.approx(2 / 3)
    )
    assert "good" not in text
