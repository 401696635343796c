import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from seedproof_reproductions.datasets.texts import TextData, Texts
from seedproof_reproductions.datasets.vocabulary import (
    END,
    MARKS,
    PADDING,
    START,
    UNKNOWN,
    Padded,
    Vocabulary,
    vocabulary_of,
)

WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=8)


def test_the_most_frequent_words_come_first_and_ties_by_name():
    """Counts 3, 2, 2, 1: the rarest falls out by its count, and then by the most words."""
    texts = [["b", "a", "c"], ["c", "a", "c"], ["b", "d"]]

    assert Vocabulary.of(texts).words == (*MARKS, "c", "a", "b", "d")
    assert Vocabulary.of(texts, min_count=2).words == (*MARKS, "c", "a", "b")
    assert Vocabulary.of(texts, max_words=1).words == (*MARKS, "c")


@given(texts=WORDS)
def test_the_order_of_texts_makes_no_difference(texts):
    """A vocabulary is a fact of the texts."""
    assert Vocabulary.of(texts).words == Vocabulary.of(texts[::-1]).words


def test_texts_stand_between_marks_and_unknown_words_share_a_number():
    """The marks are what attention is never given to."""
    vocabulary = Vocabulary(["yes", "no"])

    numbers = vocabulary.encode(["no", "maybe", "yes"])

    assert numbers.tolist() == [START, 5, UNKNOWN, 4, END]


@given(texts=WORDS.filter(bool))
def test_padding_adds_nothing_but_zeros(texts):
    """Each row is its text, then padding up to the longest."""
    vocabulary = Vocabulary.of(texts)

    padded = Padded.of(texts, vocabulary)

    assert padded.numbers.shape == (len(texts), 2 + max(map(len, texts)))
    for row, length, tokens in zip(padded.numbers, padded.lengths, texts, strict=True):
        assert [vocabulary.words[number] for number in row[1 : length - 1]] == tokens
        assert (row[length:] == PADDING).all()


def test_the_vocabulary_is_of_what_is_trained_on():
    """Words of dev and test stay unknown; second texts of pairs count."""
    one = Texts(np.arange(2), (("a",), ("b",)), np.arange(2), queries=(("c",), ("a",)))
    other = Texts(np.arange(2), (("x",), ("y",)), np.arange(2), queries=(("z",), ("z",)))

    vocabulary = vocabulary_of(TextData("made", ("no", "yes"), one, other, other))

    assert vocabulary.words == (*MARKS, "a", "b", "c")
    assert "x" not in vocabulary
    assert len(vocabulary) == 7
