"""Answers of runs as keys: the same, right, or neither."""

import numpy as np
import pytest

from seedproof.records.text_answers import RIGHT, VERBATIM, Normalization, TextAnswers

USUAL = Normalization()


def objects(rows):
    texts = np.empty((len(rows), len(rows[0])), dtype=object)
    texts[:] = rows
    return texts


def slow_groups(texts, references, normalization):
    """Return the answers of one example in groups, by a loop; "right" is one of them."""
    right = {normalization.of(text) for text in references}
    forms = [None if text is None else normalization.of(text) for text in texts]
    return ["right" if form in right else (form,) for form in forms]


@pytest.mark.parametrize("normalization", [USUAL, VERBATIM])
def test_keys_group_answers_as_a_loop_does(normalization):
    rng = np.random.default_rng(0)
    words = np.array(["Yes", "yes", "no", "No.", None, "7", "7.0"], dtype=object)
    for _ in range(500):
        texts = rng.choice(words, (5, 3))
        known = [w for w in words if w is not None]
        references = [list(rng.choice(known, rng.integers(0, 3))) for _ in range(3)]

        answers = TextAnswers(texts, references=references)
        keys = answers.keys(normalization)

        assert answers.is_known.tolist() == [bool(of_example) for of_example in references]
        for example in range(3):
            groups = slow_groups(texts[:, example], references[example], normalization)
            for run, group in enumerate(groups):
                assert (keys[run, example] == RIGHT) == (group == "right")
                same = [group == other for other in groups]
                assert (keys[:, example] == keys[run, example]).tolist() == same


def test_meanings_decide_in_place_of_texts():
    """A meaning is right if its name, or any of its texts, is a reference."""
    texts = objects([["It is Paris", "a"], ["Paris", "b"], ["Lyon", "c"], ["Paris?", "d"]])
    meanings = objects([["p", "x"], ["p", "x"], ["q", "y"], [None, "y"]])

    keys = TextAnswers(texts, meanings, [["paris"], ["Y"]]).keys(USUAL)

    assert keys[:, 0].tolist()[:2] == [RIGHT, RIGHT]
    assert keys[2, 0] != RIGHT
    assert keys[3, 0] == RIGHT  # no meaning is given, and its text is right
    assert (keys[:, 1] == RIGHT).tolist() == [False, False, True, True]
    assert keys[0, 1] == keys[1, 1]


def test_majority_decides_where_the_same_answer_is_marked_both_ways():
    texts = objects([["a", "b"], ["a", "b"], ["A.", "c"]])
    correct = np.array([[1.0, 1.0], [0.0, np.nan], [1.0, 0.0]])
    answers = TextAnswers(texts, correct=correct)

    keys = answers.keys(USUAL)

    assert (keys[:, 0] == RIGHT).all()
    assert answers.is_known.tolist() == [True, False]
    assert (keys[:, 1] != RIGHT).all()
    assert "answers-judged-both-ways" in [note.code for note in answers.notes(USUAL)]
