"""Examples of different lengths, cut into blocks of one length."""

import numpy as np
import pytest

from seedproof.metrics.explanations import RaggedScores, ragged

SCORES = np.array([[1.0, -2.0, 3.0, -4.0, 5.0], [-6.0, 7.0, 8.0, 9.0, -10.0]])


def test_examples_of_one_length_share_a_block():
    """With their places, and without the signs of their scores."""
    blocks = list(RaggedScores(SCORES, np.array([1, 0, 2, 1, 1])).blocks())

    assert [places.tolist() for places, _ in blocks] == [[0, 3, 4], [2]]
    assert blocks[0][1].tolist() == [[[1.0], [4.0], [5.0]], [[6.0], [9.0], [10.0]]]
    assert blocks[1][1].tolist() == [[[2.0, 3.0]], [[7.0, 8.0]]]


def test_repeated_examples_have_an_axis_of_draws():
    """The first example has two draws of two tokens, the second one draw of one."""
    batch = RaggedScores(SCORES, np.array([2, 1]), np.array([2, 1]))

    ((places, magnitudes),) = batch.repeated()

    assert places.tolist() == [0]
    assert magnitudes.shape == (2, 2, 1, 2)
    assert magnitudes[1].tolist() == [[[3.0, 4.0]], [[8.0, 9.0]]]
    assert [places.tolist() for places, _ in batch.blocks()] == [[1], [0]]


@pytest.mark.parametrize("values", [1, 4, 5, 100])
def test_blocks_of_any_size_hold_every_example(monkeypatch, values):
    """In their order."""
    monkeypatch.setattr(ragged, "BLOCK_VALUES", values)
    batch = RaggedScores(np.arange(20.0).reshape(2, 10), np.ones(10, dtype=np.int64))

    blocks = list(batch.blocks())

    assert np.concatenate([places for places, _ in blocks]).tolist() == list(range(10))
    together = np.concatenate([block for _, block in blocks], axis=1)
    np.testing.assert_array_equal(together[:, :, 0], batch.scores)
