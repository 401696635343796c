import numpy as np
import pytest

from seedproof.errors import OptionError, ShapeError
from seedproof_reproductions.datasets.texts import MARKS, TextData, Texts, Vocabulary, tokenize


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
    """Tags and punctuation are dropped, a number is one token, and no text is empty."""
    assert tokenize(text) == tokens


def test_samples_and_splits_keep_ids_queries_and_order(texts):
    """A sample larger than the data is the whole; a sample of one is refused."""
    rng = np.random.default_rng(0)
    part, (larger, smaller), cut = texts.sample(3, rng=rng), texts.split(0.5, rng=rng), texts.cut(1)

    places = [list(texts.ids).index(name) for name in part.ids]
    assert places == sorted(places)
    assert part.tokens == tuple(texts.tokens[i] for i in places)
    assert part.labels.tolist() == [texts.labels[i] for i in places]
    assert part.queries == tuple(texts.queries[i] for i in places)
    assert sorted([*larger.ids, *smaller.ids]) == [3, 5, 8, 9]
    assert len(smaller) == 2
    assert cut.tokens == (("a",), ("b",), ("c",), ("d",))
    assert cut.queries == texts.queries
    assert texts.sample(None, rng=rng) is texts.sample(9, rng=rng) is texts
    with pytest.raises(OptionError):
        texts.sample(1, rng=rng)
    with pytest.raises(ShapeError):
        Texts(ids=np.array([1]), tokens=(("a",),), labels=np.array([0, 1]))


def test_smaller_data_set_depends_only_on_the_seed(texts):
    """Splits without a limit stay complete."""
    data = TextData("made", ("no", "yes"), texts, texts, texts)
    parts = [data.sample(n_train=2, n_dev=2, n_test=None, seed=seed) for seed in (0, *range(10))]

    ids = [(tuple(part.train.ids), tuple(part.dev.ids)) for part in parts]
    assert ids[0] == ids[1]
    assert len(set(ids)) > 1
    assert parts[0].test is texts


def test_vocabulary_is_sorted_by_frequency_in_the_training_split():
    """Ties are sorted by name; second texts count; rare words are dropped."""
    train = Texts(np.arange(2), (("b", "c"), ("d",)), np.arange(2), queries=(("c", "a"), ("a",)))
    other = Texts(np.arange(2), (("x",), ("y",)), np.arange(2), queries=(("z",), ("z",)))
    data = TextData("made", ("no", "yes"), train, other, other)

    vocabulary = Vocabulary.of_training(data)

    assert vocabulary.words == (*MARKS, "a", "c", "b", "d")
    encoded = [vocabulary.words[number] for number in vocabulary.encode(["c", "x", "a"])]
    assert encoded == ["<start>", "c", "<unknown>", "a", "<end>"]
    assert Vocabulary.of_training(data, min_count=2).words == (*MARKS, "a", "c")
