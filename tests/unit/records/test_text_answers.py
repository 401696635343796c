"""Texts that are the same answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import OptionError
from seedproof.records.text_answers import MISSING, RIGHT, Normalization, answer_keys, codes_of

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


def test_unknown_differences_are_refused():
    with pytest.raises(OptionError):
        Normalization.distinguishing(["accents"])


def test_keys_are_equal_where_forms_are():
    texts = ["Paris", "paris!", None, "", "Lyon", None]

    keys = answer_keys(texts, Normalization())

    forms = [None if text is None else Normalization().of(text) for text in texts]
    for first, key in zip(forms, keys, strict=True):
        assert [key == other for other in keys] == [first == other for other in forms]
    assert RIGHT not in keys
    assert (keys == MISSING).tolist() == [text is None for text in texts]


def test_codes_are_equal_where_keys_are():
    """At most as many as there are runs, and 0 for right answers alone."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        keys = rng.integers(0, 4, (5, 6)).astype(np.uint64)
        codes = codes_of(keys)
        for of_example, own in zip(keys.T, codes.T, strict=True):
            assert ((of_example[:, None] == of_example) == (own[:, None] == own)).all()
            assert ((of_example == RIGHT) == (own == 0)).all()
            assert own.max() <= 5
