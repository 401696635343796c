"""The texts that show what the figures mean: shades, top words and captions, by hand."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.measurement.explanations.illustrations import OTHER_REASONS, SAME_REASONS, SCHEMA
from seedproof.report.explanations.heat import has_signs, heat_maps
from seedproof.testing.errors import WithFields

# What shows the words.
OPTION = "--show tokens"


@pytest.fixture
def shown(three_methods):
    """The heat-map of one text as some runs explain it."""

    def made(scores, *, rule=OTHER_REASONS, predictions=None, confidences=None, classes=("n", "p")):
        scores = np.asarray(scores, dtype=np.float32)
        n_runs, n_tokens = scores.shape
        row = {
            "rule": rule,
            "example": "7",
            "distance": 0.1,
            "tokens": [f"w{i}" for i in range(n_tokens)],
            "scores": scores.tolist(),
            "predictions": [0] * n_runs if predictions is None else predictions,
            "confidences": confidences,
        }
        found = replace(
            three_methods.explanations["attention"],
            runs=tuple(map(str, range(n_runs))),
            telling=pa.Table.from_pylist([row], schema=SCHEMA),
        )
        return heat_maps(found, classes)[0]

    return made


def test_shades_are_steps_of_the_share_against_an_even_one(shown):
    """Ten words: 0.65 of all weight is 6.5 even shares, 0.1 is one, and one is not more."""
    row = shown([[0.65, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0, 0.0]] * 2).rows[0]

    assert [word.times for word in row.words[:3]] == pytest.approx([6.5, 1.0, 0.5])
    assert [word.step for word in row.words] == [4, 0, 0, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("times", "step"), [(0.9, 0), (1.5, 1), (2.5, 2), (4, 3), (7, 4)])
def test_each_step_begins_where_the_key_says(shown, times, step):
    """Up to 1, 2, 3.5, 6 times an even share, and more; 10 words, the rest spread evenly."""
    rest = (10 - times) / 9

    assert shown([[times, *[rest] * 9]] * 2).rows[0].words[0].step == step


def test_even_scores_have_no_shade(shown):
    """Nothing stands out where every word has the same weight, be it 0."""
    for value in (0.0, 1 / 7):
        row = shown([[value] * 7] * 2).rows[0]
        assert {word.step for word in row.words} == {0}


def test_the_sign_of_a_score_does_not_count(shown, three_methods):
    """A word against the answer is as dark as one for it, and as high."""
    row = shown([[-0.6, 0.1, 0.1, 0.1, 0.1]] * 2).rows[0]

    assert row.words[0].times == pytest.approx(3.0)
    assert row.top_words == ("w0",)
    assert not has_signs(three_methods.explanations["attention"])


def test_a_fifth_of_the_words_is_at_the_top(shown):
    """Of 11 words 3, and among equals the earlier ones."""
    row = shown([[1.0] * 11] * 2).rows[0]

    assert row.top_words == ("w0", "w1", "w2")
    assert [word.is_top for word in row.words] == [True] * 3 + [False] * 8


def test_the_first_five_runs_are_shown(shown):
    """In their order, never chosen; the caption counts all of them."""
    found = shown(np.eye(7, 10), predictions=[1] * 7, confidences=[0.9] * 6 + [0.712])

    assert [row.run for row in found.rows] == ["0", "1", "2", "3", "4"]
    assert [row.answer for row in found.rows] == ["p 0.90"] * 5
    rule, answers, top_words = found.captions
    assert rule.code == "agreed-and-farthest-apart"
    assert answers.code == "answer-of-all"
    assert answers.fields == {"n_runs": 7, "class_name": "p", "least_sure": 71}
    # The second place goes to the earliest of equals, which is word 0 in every run but the first.
    assert top_words.code == "top-words-counted"
    assert top_words.fields == {"n_runs": 7, "n_each": 2, "n_any": 7, "n_all": 1}


def test_split_answers_are_counted(shown):
    """The most frequent first; beyond three they are put together."""
    scores = np.random.default_rng(0).random((8, 6))
    found = shown(scores, predictions=[2, 2, 2, 0, 0, 1, 3, 4], classes="abcde")

    assert found.captions[1].code == "answers-split"
    votes = found.captions[1].fields["votes"]
    assert (votes.n_runs, votes.named, votes.n_others) == (8, (("c", 3), ("a", 2), ("b", 1)), 2)
    assert found.rows[0].answer == "c"


@pytest.mark.parametrize(
    ("scores", "rule", "code"),
    [
        ([[9, 1, 1, 1, 1], [1, 9, 1, 1, 1]], OTHER_REASONS, "same-answer-other-reasons"),
        ([[9, 1, 1, 1, 1], [8, 2, 1, 1, 1]], OTHER_REASONS, "same-answer-same-top-words"),
        ([[9, 8, 1, 1, 1], [8, 9, 1, 1, 1]], SAME_REASONS, "same-answer-closest-reasons"),
    ],
)
def test_a_title_promises_what_the_top_words_keep(shown, scores, rule, code):
    """A title of other reasons needs a top word that is another; of the same, that none is."""
    assert shown(scores, rule=rule).title.code == code


def test_long_texts_are_cut_and_it_is_said(shown):
    """Sixty of seventy words; the top words are all there."""
    found = shown([np.arange(70.0)] * 2)

    assert len(found.rows[0].words) == 60
    assert len(found.rows[0].top_words) == 14
    assert found.is_cut
    assert found.captions[-1].code == "words-left-out"
    assert found.captions[-1].fields == {"n_shown": 60, "n_tokens": 70}


def test_rules_find_the_texts_that_they_say(hand_made):
    """Same answer but other words: text 1; other answers: text 2; same answer, closest: text 0."""
    found = hand_made.view(show=["tokens"]).reasons[0].heat_maps

    assert [(one.example, one.title.code) for one in found] == [
        ("1", "same-answer-other-reasons"),
        ("2", "other-answers-other-reasons"),
        ("0", "same-answer-same-top-words"),
    ]
    assert found[0].rows[1].top_words == ("h",)
    assert hand_made.view(show=["tokens"]).reasons[0].has_signs
    # Closest is a mean distance: it does not promise that all runs name the same top words.
    assert [one.captions[0].code for one in found] == [
        "agreed-and-farthest-apart",
        "disagreed-and-farthest-apart",
        "agreed-and-closest",
    ]
    answers = [one.captions[1] for one in found]
    assert answers[0].fields == {"n_runs": 2, "class_name": "positive", "least_sure": 80}
    assert answers[1].fields["votes"].named == (("negative", 1), ("positive", 1))
    assert answers[2].fields["least_sure"] == 90
    counts = [one.captions[2] for one in found]
    assert [one.code for one in counts] == [*["top-words-counted"] * 2, "top-words-same"]
    assert counts[0].fields == counts[1].fields == {
        "n_runs": 2, "n_each": 1, "n_any": 2, "n_all": 0,
    }  # fmt: skip


def test_texts_are_shown_only_if_asked_for(hand_made):
    """By default no token is in the view, in the page or in the text."""
    assert hand_made.view().reasons[0].heat_maps == ()
    assert ">good<" not in hand_made.to_html()
    assert OPTION in hand_made.to_html()
    assert ">good<" in hand_made.to_html(show=["tokens"])
    assert "good" not in str(hand_made)


def test_tokens_are_known_only_with_explanations(hand_made):
    """A report of predictions alone has none, and the list of columns says so."""
    with pytest.raises(ColumnError, check=WithFields(column="tokens")):
        sp.measure([[0, 1], [1, 1]]).to_html(show=["tokens"])
    with pytest.raises(ColumnError, check=WithFields(column="text", known=("tokens",))):
        hand_made.view(show=["text"])
