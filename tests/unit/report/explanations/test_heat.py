"""Heat maps: shades, top words and captions, computed by hand."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.measurement.explanations.illustrations import (
    OTHER_EXPLANATIONS,
    SAME_EXPLANATIONS,
    SCHEMA,
)
from seedproof.report.explanations.heat import has_signs, heat_maps
from seedproof.testing.errors import WithFields

OPTION = "--show tokens"


@pytest.fixture
def shown(three_methods):
    """The heat map of one text."""

    def build(
        scores, *, rule=OTHER_EXPLANATIONS, predictions=None, confidences=None, classes=("n", "p")
    ):
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
        explained = replace(
            three_methods.explanations["attention"],
            runs=tuple(map(str, range(n_runs))),
            illustrations=pa.Table.from_pylist([row], schema=SCHEMA),
        )
        return heat_maps(explained, classes)[0]

    return build


def test_shades_are_multiples_of_an_even_share(shown):
    """Ten words: 0.65 of the weight is 6.5 even shares; a single even share has no shade."""
    row = shown([[0.65, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0, 0.0]] * 2).rows[0]

    assert [word.times for word in row.words[:3]] == pytest.approx([6.5, 1.0, 0.5])
    assert [word.step for word in row.words] == [4, 0, 0, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("times", "step"), [(0.9, 0), (1.5, 1), (2.5, 2), (4, 3), (7, 4)])
def test_steps_begin_at_their_multiples(shown, times, step):
    """Up to 1, 2, 3.5, 6 times an even share, and more; 10 words, the rest spread evenly."""
    rest = (10 - times) / 9

    assert shown([[times, *[rest] * 9]] * 2).rows[0].words[0].step == step


def test_even_scores_have_no_shade(shown):
    """Also if every score is 0."""
    for value in (0.0, 1 / 7):
        row = shown([[value] * 7] * 2).rows[0]
        assert {word.step for word in row.words} == {0}


def test_sign_of_a_score_is_ignored(shown, three_methods):
    """A word against the answer counts like one for it."""
    row = shown([[-0.6, 0.1, 0.1, 0.1, 0.1]] * 2).rows[0]

    assert row.words[0].times == pytest.approx(3.0)
    assert row.top_words == ("w0",)
    assert not has_signs(three_methods.explanations["attention"])


def test_top_words_are_a_fifth_of_the_words(shown):
    """3 of 11 words; ties go to the earlier ones."""
    row = shown([[1.0] * 11] * 2).rows[0]

    assert row.top_words == ("w0", "w1", "w2")
    assert [word.is_top for word in row.words] == [True] * 3 + [False] * 8


def test_first_five_runs_are_shown(shown):
    """In their order; the caption counts all of them."""
    result = shown(np.eye(7, 10), predictions=[1] * 7, confidences=[0.9] * 6 + [0.712])

    assert [row.run for row in result.rows] == ["0", "1", "2", "3", "4"]
    assert [row.answer for row in result.rows] == ["p 0.90"] * 5
    rule, answers, top_words = result.captions
    assert rule.code == "agreed-and-farthest-apart"
    assert answers.code == "answer-of-all"
    assert answers.fields == {"n_runs": 7, "class_name": "p", "least_sure": 71}
    # The second place goes to the earliest of equals, which is word 0 in every run but the first.
    assert top_words.code == "top-words-counted"
    assert top_words.fields == {"n_runs": 7, "n_each": 2, "n_any": 7, "n_all": 1}


def test_split_answers_are_counted(shown):
    """The most frequent first; beyond three they are counted together."""
    scores = np.random.default_rng(0).random((8, 6))
    result = shown(scores, predictions=[2, 2, 2, 0, 0, 1, 3, 4], classes="abcde")

    assert result.captions[1].code == "answers-split"
    votes = result.captions[1].fields["votes"]
    assert (votes.n_runs, votes.named, votes.n_others) == (8, (("c", 3), ("a", 2), ("b", 1)), 2)
    assert result.rows[0].answer == "c"


@pytest.mark.parametrize(
    ("scores", "rule", "code"),
    [
        ([[9, 1, 1, 1, 1], [1, 9, 1, 1, 1]], OTHER_EXPLANATIONS, "same-answer-other-explanations"),
        ([[9, 1, 1, 1, 1], [8, 2, 1, 1, 1]], OTHER_EXPLANATIONS, "same-answer-same-top-words"),
        ([[9, 8, 1, 1, 1], [8, 9, 1, 1, 1]], SAME_EXPLANATIONS, "same-answer-closest-explanations"),
    ],
)
def test_title_agrees_with_the_top_words(shown, scores, rule, code):
    """Other explanations need different top words, the same ones need equal top words."""
    assert shown(scores, rule=rule).title.code == code


def test_long_texts_are_cut_with_a_caption(shown):
    """60 of 70 words; the top words are complete."""
    result = shown([np.arange(70.0)] * 2)

    assert len(result.rows[0].words) == 60
    assert len(result.rows[0].top_words) == 14
    assert result.is_cut
    assert result.captions[-1].code == "words-left-out"
    assert result.captions[-1].fields == {"n_shown": 60, "n_tokens": 70}


def test_rules_select_their_texts(hand_made):
    """Same answer, other words: text 1; other answers: text 2; same answer, closest: text 0."""
    result = hand_made.view(show=["tokens"]).explanations[0].heat_maps

    assert [(entry.example, entry.title.code) for entry in result] == [
        ("1", "same-answer-other-explanations"),
        ("2", "other-answers-other-explanations"),
        ("0", "same-answer-same-top-words"),
    ]
    assert result[0].rows[1].top_words == ("h",)
    assert hand_made.view(show=["tokens"]).explanations[0].has_signs
    # The distance is a mean, so the closest text may still have different top words.
    assert [entry.captions[0].code for entry in result] == [
        "agreed-and-farthest-apart",
        "disagreed-and-farthest-apart",
        "agreed-and-closest",
    ]
    answers = [entry.captions[1] for entry in result]
    assert answers[0].fields == {"n_runs": 2, "class_name": "positive", "least_sure": 80}
    assert answers[1].fields["votes"].named == (("negative", 1), ("positive", 1))
    assert answers[2].fields["least_sure"] == 90
    counts = [entry.captions[2] for entry in result]
    assert [entry.code for entry in counts] == [*["top-words-counted"] * 2, "top-words-same"]
    assert counts[0].fields == counts[1].fields == {
        "n_runs": 2, "n_each": 1, "n_any": 2, "n_all": 0,
    }  # fmt: skip


def test_texts_are_shown_on_request_only(hand_made):
    """By default no token is in the view, on the page or in the text."""
    assert hand_made.view().explanations[0].heat_maps == ()
    assert ">good<" not in hand_made.to_html()
    assert OPTION in hand_made.to_html()
    assert ">good<" in hand_made.to_html(show=["tokens"])
    assert "good" not in str(hand_made)


def test_tokens_need_explanations(hand_made):
    """A report of predictions has none, and the error lists the known columns."""
    with pytest.raises(ColumnError, check=WithFields(column="tokens")):
        sp.measure([[0, 1], [1, 1]]).to_html(show=["tokens"])
    with pytest.raises(ColumnError, check=WithFields(column="text", known=("tokens",))):
        hand_made.view(show=["text"])
