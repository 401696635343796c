"""Texts that are the same answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.records.text_answers import Normalization, answer_codes

SAME = [
    ("Paris", "paris."),
    ("  The\tanswer\n", "the answer"),
    ("1,000", "1000.00"),
    ("+7", "7"),
    ("-0.0", "0"),
    ("007", "7"),
    ("ﬁne", "FINE"),
    ("“Yes” — really", "yes really"),
]
DIFFERENT = [
    ("-5", "5"),
    ("3.5", "35"),
    ("1,00", "100"),
    ("v1.0", "v10"),
    ("no", "not"),
    ("", "0"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_same_answers_have_the_same_form(first, second):
    normalize = Normalization().of

    assert normalize(first) == normalize(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_answers_stay_different(first, second):
    normalize = Normalization().of

    assert normalize(first) != normalize(second)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("case", "Yes", "yes"),
        ("spaces", "a  b", "a b"),
        ("punctuation", "yes!", "yes?"),
        ("numbers", "1000", "1,000"),
    ],
)
def test_each_difference_can_be_made_to_count(name, first, second):
    counts = Normalization(**{name: False})

    assert Normalization().of(first) == Normalization().of(second)
    assert counts.of(first) != counts.of(second)
    assert name not in counts.ignored


@given(st.text())
def test_the_form_of_a_form_is_itself(text):
    normalize = Normalization().of

    assert normalize(normalize(text)) == normalize(text)


def test_codes_are_equal_where_answers_are():
    rng = np.random.default_rng(0)
    for _ in range(200):
        texts = rng.choice(list("abcd"), (5, 6)).tolist()
        references = [set(rng.choice(list("abcd"), rng.integers(0, 3)).tolist()) for _ in range(6)]
        codes = answer_codes(texts, references)
        for example in range(6):
            for run in range(5):
                is_right = texts[run][example] in references[example]
                assert (codes[run, example] == 0) == is_right
                for other in range(5):
                    are_right = is_right and texts[other][example] in references[example]
                    are_equal = texts[run][example] == texts[other][example] or are_right
                    assert (codes[run, example] == codes[other, example]) == are_equal


def test_a_missing_answer_is_an_answer_of_its_own():
    codes = answer_codes([["a"], [None], [None], [""]])

    assert codes[:, 0].tolist() == [1, 2, 2, 3]
