import numpy as np
import pytest
from seedproof_reproductions.datasets.texts import TextData, Texts, tokenize

from seedproof.errors import OptionError, ShapeError


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


def test_columns_of_different_lengths_are_refused():
    """Every example has an id, a text and a label."""
    with pytest.raises(ShapeError, match=r"\[1, 2\]"):
        Texts(ids=np.array([1]), tokens=(("a",),), labels=np.array([0, 1]))


def test_a_part_keeps_ids_queries_and_order(texts):
    """A random part is in the order of the whole, and its examples are who they were."""
    part = texts.some(3, rng=np.random.default_rng(0))

    assert len(part) == 3
    assert list(part.ids) == sorted(part.ids)
    for name, words, query in zip(part.ids, part.tokens, part.queries, strict=True):
        place = list(texts.ids).index(name)
        assert (words, query) == (texts.tokens[place], texts.queries[place])


def test_a_part_of_none_or_too_many_is_the_whole(texts):
    """Nothing is drawn where everything is asked for."""
    rng = np.random.default_rng(0)

    assert texts.some(None, rng=rng) is texts
    assert texts.some(9, rng=rng) is texts


def test_a_part_of_one_is_refused(texts):
    """One example is no split."""
    with pytest.raises(OptionError, match="2 or more"):
        texts.some(1, rng=np.random.default_rng(0))


def test_two_parts_make_up_the_whole(texts):
    """No example is in both parts, and none is lost."""
    larger, smaller = texts.parted(0.5, rng=np.random.default_rng(1))

    assert sorted([*larger.ids, *smaller.ids]) == [3, 5, 8, 9]
    assert len(smaller) == 2


def test_cutting_shortens_both_texts_of_a_pair(texts):
    """Nothing is longer afterwards, and shorter texts are as they were."""
    cut = texts.cut(1)

    assert cut.tokens == (("a",), ("b",), ("c",), ("d",))
    assert cut.queries == (("q",), ("s",), ("t",), ("u",))
    assert texts.tokens[2] == ("c", "c", "c")


def test_a_smaller_data_set_is_the_same_each_time(texts):
    """What is drawn depends on the seed given, and on nothing else."""
    data = TextData("made", ("no", "yes"), texts, texts, texts)

    parts = [data.smaller(n_train=2, n_dev=2, n_test=None, seed=s) for s in (0, 0)]

    assert list(parts[0].train.ids) == list(parts[1].train.ids)
    assert list(parts[0].dev.ids) == list(parts[1].dev.ids)
    assert parts[0].test is texts
    drawn = {tuple(data.smaller(n_train=2, n_dev=2, n_test=2, seed=s).train.ids) for s in range(10)}
    assert len(drawn) > 1
