import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import OptionError, ShapeError
from seedproof_reproductions.datasets.texts import (
    END,
    MARKS,
    PADDING,
    START,
    UNKNOWN,
    TextData,
    Texts,
    Vocabulary,
    tokenize,
)

WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=8)


@pytest.fixture
def texts():
    """Four pairs of different lengths."""
    return Texts(
        ids=np.array([3, 5, 8, 9]),
        tokens=(("a",), ("b", "b"), ("c", "c", "c"), ("d",)),
        labels=np.array([0, 1, 0, 1]),
        queries=(("q", "r"), ("s",), ("t",), ("u",)),
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't STOP.", ("don", "t", "stop")),
        ("so<br /><br />good", ("so", "good")),
        ("in 1994, 2 of 10", ("in", "<number>", "<number>", "of", "<number>")),
        ("a < b and c > d", ("a", "d")),
        ("…!", ("<empty>",)),
        ("", ("<empty>",)),
    ],
)
def test_tokens_are_lower_case_words_and_numbers(text, tokens):
    """Tags and punctuation are dropped, numbers are one token, and no text is without any."""
    assert tokenize(text) == tokens


def test_a_sample_keeps_ids_queries_and_order(texts):
    """A part of all, or of more than there are, is the whole; one example is refused."""
    rng = np.random.default_rng(0)
    part = texts.sample(3, rng=rng)

    places = [list(texts.ids).index(name) for name in part.ids]
    assert places == sorted(places)
    assert part.tokens == tuple(texts.tokens[i] for i in places)
    assert part.queries == tuple(texts.queries[i] for i in places)
    assert texts.sample(None, rng=rng) is texts.sample(9, rng=rng) is texts
    with pytest.raises(OptionError):
        texts.sample(1, rng=rng)
    with pytest.raises(ShapeError):
        Texts(ids=np.array([1]), tokens=(("a",),), labels=np.array([0, 1]))


def test_splitting_and_cutting_lose_no_example(texts):
    """No example is in both parts; both texts of a pair are cut."""
    larger, smaller = texts.split(0.5, rng=np.random.default_rng(1))
    cut = texts.cut(1)

    assert sorted([*larger.ids, *smaller.ids]) == [3, 5, 8, 9]
    assert len(smaller) == 2
    assert cut.tokens == (("a",), ("b",), ("c",), ("d",))
    assert cut.queries == (("q",), ("s",), ("t",), ("u",))


def test_a_smaller_data_set_depends_on_the_seed_alone(texts):
    """Each split is drawn by itself; what is not limited stays whole."""
    data = TextData("made", ("no", "yes"), texts, texts, texts)

    def ids(seed):
        part = data.sample(n_train=2, n_dev=2, n_test=None, seed=seed)
        return [tuple(split.ids) for split in (part.train, part.dev, part.test)]

    assert ids(0) == ids(0)
    assert ids(0)[2] == tuple(texts.ids)
    assert len({ids(seed)[0] for seed in range(10)}) > 1


def test_the_most_frequent_words_come_first_and_ties_by_name():
    """Counts 3, 2, 2, 1: the rarest is dropped by its count."""
    texts = [["b", "a", "c"], ["c", "a", "c"], ["b", "d"]]

    assert Vocabulary.of(texts).words == (*MARKS, "c", "a", "b", "d")
    assert Vocabulary.of(texts, min_count=2).words == (*MARKS, "c", "a", "b")
    assert Vocabulary.of(texts[::-1]).words == Vocabulary.of(texts).words


def test_the_vocabulary_is_that_of_the_training_split():
    """Words of dev and test stay unknown; second texts of pairs count."""
    train = Texts(np.arange(2), (("a",), ("b",)), np.arange(2), queries=(("c",), ("a",)))
    other = Texts(np.arange(2), (("x",), ("y",)), np.arange(2), queries=(("z",), ("z",)))

    vocabulary = Vocabulary.of_training(TextData("made", ("no", "yes"), train, other, other))

    assert vocabulary.words == (*MARKS, "a", "b", "c")
    assert vocabulary.encode(["c", "x", "a"]).tolist() == [START, 6, UNKNOWN, 4, END]


@given(texts=WORDS.filter(bool))
def test_padding_adds_nothing_but_zeros(texts):
    """Each row is its text between marks, then padding up to the longest."""
    vocabulary = Vocabulary.of(texts)

    numbers, lengths = vocabulary.encode_all(texts)

    assert numbers.shape == (len(texts), 2 + max(map(len, texts)))
    for row, length, tokens in zip(numbers, lengths, texts, strict=True):
        assert [vocabulary.words[number] for number in row[1 : length - 1]] == tokens
        assert (row[length:] == PADDING).all()
