import numpy as np
import pytest
import torch
from seedproof_reproductions.conll2019.data import encode, prepare
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.texts import Texts
from seedproof_reproductions.datasets.vocabulary import Vocabulary


def test_a_batch_is_as_wide_as_its_longest_text():
    """Rows come in the order asked for; second texts are padded on their own."""
    texts = Texts(
        ids=np.arange(3),
        tokens=(("a",), ("a", "b", "b"), ("b", "a")),
        labels=np.array([1, 0, 1]),
        queries=(("b",), ("b",), ("a", "a", "a", "a")),
    )

    split = encode(texts, Vocabulary(["a", "b"]))
    numbers, lengths, queries, query_lengths = split.inputs(torch.tensor([2, 0]))

    assert numbers.tolist() == [[2, 5, 4, 3], [2, 4, 3, 0]]
    assert lengths.tolist() == [4, 3]
    assert queries.shape == (2, 6)
    assert query_lengths.tolist() == [6, 3]


@pytest.mark.usefixtures("made_sst")
def test_nothing_that_runs_share_is_drawn_anew():
    """Two preparations of a setting are the same, parts included."""
    setting = Setting(n_train=50, n_dev=20, n_test=20)

    one, two = prepare(setting), prepare(setting)

    assert one.vocabulary.words == two.vocabulary.words
    np.testing.assert_array_equal(one.vectors, two.vectors)
    for name in ("train", "dev", "test"):
        first, second = getattr(one, name), getattr(two, name)
        assert first.texts.ids.tolist() == second.texts.ids.tolist()
        assert torch.equal(first.numbers, second.numbers)
    assert [len(one.train), len(one.dev), len(one.test)] == [50, 20, 20]
    assert (one.shape.n_classes, one.shape.is_pair) == (2, False)
