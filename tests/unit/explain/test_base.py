import numpy as np
import pytest
import torch

from seedproof.errors import DtypeError, EmptyInputError, OptionError, ShapeError
from seedproof.explain import TokenBatch, to_shares
from seedproof.explain.base import score_words
from seedproof.testing.errors import WithFields

TOKENS = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0], [0, 4, 3, 2]])
MASK = TOKENS > 0


def test_chunks_have_one_length_and_no_padding():
    """Texts are cut on both sides, and come with their places."""
    texts = TokenBatch(TOKENS, MASK, ["a", "b", "c"], targets=torch.tensor([1, 0, 2]))

    chunks = list(texts.chunks(10))

    assert [rows for rows, _ in chunks] == [[0, 2], [1]]
    assert [some.tokens.tolist() for _, some in chunks] == [[[5, 6, 7], [4, 3, 2]], [[8, 9]]]
    assert all(some.mask.all() for _, some in chunks)
    assert [list(some.ids) for _, some in chunks] == [["a", "c"], ["b"]]
    assert [some.targets.tolist() for _, some in chunks] == [[1, 2], [0]]


def test_chunks_are_no_larger_than_requested():
    """Two texts of one length, one at a time."""
    texts = TokenBatch(TOKENS, MASK, ["a", "b", "c"])

    assert [rows for rows, _ in texts.chunks(1)] == [[0], [2], [1]]


def test_gap_in_a_text_stays_in_its_mask():
    """Only padding at the ends is cut."""
    mask = torch.tensor([[True, False, True, False]])
    ((_, some),) = TokenBatch(torch.ones(1, 4, dtype=torch.long), mask, [0]).chunks(1)

    assert some.mask.tolist() == [[True, False, True]]


def test_scores_are_of_words_and_in_the_order_of_texts():
    """Scores of other positions are dropped."""
    words = MASK.clone()
    words[0, 0] = False
    texts = TokenBatch(TOKENS, MASK, ["a", "b", "c"], words=words)

    scores = score_words(texts, 1, lambda some: some.tokens * 10.0)

    assert [of_text.tolist() for of_text in scores] == [[60, 70], [80, 90], [40, 30, 20]]


@pytest.mark.parametrize(
    ("change", "error", "fields"),
    [
        ({"tokens": TOKENS[0]}, ShapeError, {"shape": (4,)}),
        ({"mask": MASK[:, :3]}, ShapeError, {"argument": "mask", "other_shape": (3, 3)}),
        ({"words": MASK[:2]}, ShapeError, {"argument": "words", "other_shape": (2, 4)}),
        ({"ids": ["a"]}, ShapeError, {"n_texts": 3, "n_ids": 1}),
        ({"targets": torch.tensor([1])}, ShapeError, {"n_texts": 3, "shape": (1,)}),
        ({"tokens": TOKENS.float()}, DtypeError, {"argument": "tokens", "dtype": torch.float32}),
        ({"targets": torch.tensor([0.0, 1.0, 0.0])}, DtypeError, {"argument": "targets"}),
        ({"mask": MASK.long()}, DtypeError, {"argument": "mask", "dtype": torch.int64}),
        ({"words": torch.ones_like(MASK)}, OptionError, {"argument": "words"}),
        (
            {"words": MASK & torch.tensor([[True], [False], [True]])},
            EmptyInputError,
            {"example": "b"},
        ),
    ],
    ids=[
        "tokens", "mask", "words", "ids", "targets",
        "token-type", "target-type", "mask-type", "padding", "no-word",
    ],
)  # fmt: skip
def test_texts_that_do_not_fit_are_refused(change, error, fields):
    """The error says what is wrong and where."""
    with pytest.raises(error, check=WithFields(**fields)):
        TokenBatch(**({"tokens": TOKENS, "mask": MASK, "ids": ["a", "b", "c"]} | change))


@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_invalid_batch_size_is_refused(size):
    """Also True, which would pass as 1."""
    with pytest.raises(OptionError, check=WithFields(batch_size=size)):
        score_words(TokenBatch(TOKENS, MASK, ["a", "b", "c"]), size, lambda some: some.tokens)


def test_shares_are_absolute_values_that_sum_to_one():
    """By hand: −1, 3, 0 of 4."""
    shares = to_shares([np.array([-1.0, 3.0, 0.0]), np.array([2.0])])

    assert [of_text.tolist() for of_text in shares] == [[0.25, 0.75, 0.0], [1.0]]


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-200, 1e308])
def test_shares_of_equals_are_equal_at_any_size(size):
    """Zeros, tiny and huge numbers give no NaN."""
    (shares,) = to_shares([np.full(4, size)])

    assert shares.tolist() == [0.25] * 4
