"""Explanations are measured along with predictions, and notes report what is left out."""

import numpy as np
import pytest

import seedproof as sp

TOKENS = [["so", "wird", "das", "nichts"], ["ja", "doch"]]


def log(run, *, split, draws=1):
    """Predictions of the split "test", and explanations by LIME."""
    rng = np.random.default_rng(int(run.name))
    probs = rng.dirichlet([1, 1], 2)
    run.log_predictions("test", ids=[1, 2], probs=probs)
    for draw in range(draws):
        scores = [rng.normal(0, 1, len(words)) for words in TOKENS]
        run.log_explanations(split, "lime", ids=[1, 2], tokens=TOKENS, scores=scores, draw=draw)


@pytest.fixture
def study(tmp_path):
    """Run a study whose runs log this way."""

    def make(train, seeds=2):
        study = sp.Study("small", train, seeds=seeds, store=tmp_path / "store")
        study.run("serial", progress=False)
        return study

    return make


def test_explanations_of_another_split_give_a_note(study):
    """They do not belong to these predictions."""
    measured = study(lambda run: log(run, split="dev")).measure().measurement

    assert measured.explanations == {}
    (note,) = measured.notes
    assert (note.code, note.fields["method"]) == ("explanations-left-out", "lime")
    why = note.fields["why"]
    assert (why.code, why.fields["splits"], why.fields["split"]) == (
        "other-split",
        ("dev",),
        "test",
    )


def test_explanations_of_the_measured_split_give_no_note(study):
    """Explanations of further splits are ignored."""

    def train(run):
        log(run, split="test")
        scores = [np.ones(len(words)) for words in TOKENS]
        run.log_explanations("dev", "lime", ids=[1, 2], tokens=TOKENS, scores=scores)

    measured = study(train).measure().measurement

    assert list(measured.explanations) == ["lime"]
    assert measured.notes == ()


def test_second_draw_in_some_runs_only_leaves_out_the_noise(study, tmp_path):
    """First draws are measured, as if there were no others; a note names runs with fewer draws."""
    made = study(lambda run: log(run, split="test", draws=2 if run.name == "1" else 1), 4)
    measured = made.measure().measurement.explanations["lime"]

    other = sp.Study("other", lambda run: log(run, split="test"), seeds=4, store=tmp_path / "other")
    other.run("serial", progress=False)
    expected = other.measure().measurement.explanations["lime"]
    assert measured.metrics == expected.metrics
    assert (measured.noise, measured.n_repeated) == (None, 0)
    (note,) = measured.notes
    assert (note.code, note.fields["runs"]) == ("fewer-draws", ("0", "2", "3"))


def test_note_names_at_most_five_runs(study):
    """Its fields have all."""
    made = study(lambda run: log(run, split="test", draws=2 if run.name == "7" else 1), 8)

    (note,) = made.measure().measurement.explanations["lime"].notes
    assert note.fields["runs"] == ("0", "1", "2", "3", "4", "5", "6")
    is_named = [repr(run) in str(note) for run in note.fields["runs"]]
    assert is_named == [True] * 5 + [False] * 2
