import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seedproof.explain import Attention, Gradients, Lime, TakesLengths
from seedproof.testing.explainers import N_TOKENS, ExplainerContract
from seedproof_reproductions import models
from seedproof_reproductions.datasets.texts import END, PADDING, START
from seedproof_reproductions.models import Classifier, Shape

pytestmark = pytest.mark.usefixtures("single_thread")
SIZE = 6
MODELS = [
    Shape(encoder, attention, n_classes, is_pair)
    for encoder, attention in itertools.product(models.ENCODERS, models.ATTENTIONS)
    for n_classes, is_pair in ((2, False), (4, False), (3, True))
]
TEXTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16, 17]]
QUERIES = [[5], [9, 8, 7, 6], [4, 5]]
EXPLAINERS = (Attention(), Gradients(cut_attention=True), Lime(replacement=0, seed=0, n_samples=50))


def assert_close(actual, expected):
    """Sums over other lengths are added up in another order: a few units of the last place."""
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def made(shape):
    """A model with the same weights each time; global generators are as before."""
    vectors = np.random.default_rng(0).normal(size=(N_TOKENS, SIZE)).astype(np.float32)
    vectors[PADDING] = 0
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        return Classifier(shape, vectors).eval()


def padded(texts, width=None):
    """Texts as numbers between marks."""
    rows = [[START, *text, END] for text in texts]
    width = width or max(map(len, rows))
    numbers = [row + [PADDING] * (width - len(row)) for row in rows]
    return torch.tensor(numbers, dtype=torch.int32), torch.tensor([len(row) for row in rows])


def inputs(shape, texts=TEXTS, queries=QUERIES, width=None):
    """Inputs of a model of some shape."""
    first = padded(texts, width)
    return (*first, *padded(queries, width)) if shape.is_pair else first


def drawn(*size):
    """Numbers that are the same each time."""
    return torch.randn(*size, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_probabilities_and_attention_do_not_depend_on_the_batch(shape):
    """Two classes share one logit; padding and markers have no attention."""
    model = made(shape)
    answer = model(*inputs(shape))

    assert answer.logits.shape == (3, 1 if shape.n_classes == 2 else shape.n_classes)
    assert answer.probs().shape == (3, shape.n_classes)
    assert_close(answer.probs().sum(-1), torch.ones(3))
    assert_close(answer.attention.sum(-1), torch.ones(3))
    assert_close(model(*inputs(shape, width=30)).probs(), answer.probs())
    for place, (text, query) in enumerate(zip(TEXTS, QUERIES, strict=True)):
        weights = answer.attention[place]
        assert (weights[1 : len(text) + 1] > 0).all()
        assert weights[0] == 0
        assert (weights[len(text) + 1 :] == 0).all()
        alone = model(*inputs(shape, [text], [query]))
        assert_close(alone.probs()[0], answer.probs()[place])
        assert_close(alone.attention[0], weights[: len(text) + 2])


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_every_weight_is_trained_and_padding_stays_zero(shape):
    """Training has no dropout; gradients with respect to words start from `from_embedded`."""
    model = made(shape).train()
    numbers, lengths, *query = inputs(shape)
    embedded = [model.embedding(query[0]), query[1]] if query else []

    logits = model.from_embedded(model.embedding(numbers), lengths, *embedded).logits
    logits.square().sum().backward()

    assert torch.equal(logits, model.eval()(numbers, lengths, *query).logits)
    for name, weights in model.named_parameters():
        assert weights.grad.abs().sum() > 0, name
    assert (model.embedding.weight.grad[PADDING] == 0).all()


def test_cnn_is_a_sum_over_windows():
    """32 filters per width; a width of 3 includes the neighbors; outside the text is 0."""
    encoder = models.CNNEncoder(2)
    words = torch.tensor([[[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]])
    weight, bias = encoder.windows[1].weight, encoder.windows[1].bias
    middle = sum(weight[:, :, j] @ words[0, j] for j in range(3)) + bias
    first = sum(weight[:, :, j + 1] @ words[0, j] for j in range(2)) + bias

    states = encoder(words, torch.tensor([3]))

    assert [tuple(w.weight.shape) for w in encoder.windows] == [(32, 2, n) for n in (1, 3, 5, 7)]
    assert_close(states[0, 1, 32:64], middle.relu())
    assert_close(states[0, 0, 32:64], first.relu())


def test_two_lstms_equal_a_bidirectional_lstm():
    """States and summary equal those of torch's bidirectional LSTM of 128 units on packed texts."""
    encoder = models.LSTMEncoder(SIZE)
    oracle = nn.LSTM(SIZE, 128, batch_first=True, bidirectional=True)
    backward = {f"{name}_reverse": w for name, w in encoder.back.state_dict().items()}
    oracle.load_state_dict(encoder.ahead.state_dict() | backward)
    words, lengths = drawn(3, 7, SIZE), torch.tensor([4, 7, 2])
    packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    expected, (final, _) = oracle(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)

    states = encoder(words, lengths)

    for place, length in enumerate(lengths):
        assert_close(states[place, :length], expected[place, :length])
    assert_close(encoder.summary(states, lengths), torch.cat([final[0], final[1]], dim=-1))


def test_scores_follow_their_formulas():
    """vᵀtanh(Wh + b), to which Uq is added for pairs; wᵀh/√m, and (Uq)ᵀh/√m for pairs, m = 4."""
    states, query = drawn(2, 3, 4), drawn(2, 5)
    additive, dot = ((kind(4), kind(4, 5)) for kind in (models.AdditiveScore, models.DotScore))

    for score, added in (
        (additive[0], 0),
        (additive[1], (query @ additive[1].query.weight.T)[:, None]),
    ):
        inner = states @ score.states.weight.T + score.states.bias + added
        assert_close(score(states, query), inner.tanh() @ score.weigh.weight[0])
    assert_close(dot[0](states), states @ dot[0].weigh.weight[0] / 2)
    wanted = query @ dot[1].query.weight.T
    assert_close(dot[1](states, query), torch.einsum("ijk,ik->ij", states, wanted) / 2)


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda explainer: type(explainer).__name__)
@pytest.mark.parametrize("shape", [Shape("cnn", "additive"), Shape("lstm", "dot")], ids=str)
class TestExplained(ExplainerContract):
    """Models that take lengths instead of a mask; two classes share one logit."""

    @pytest.fixture
    def model(self, shape):
        """As explainers take it."""
        return TakesLengths(made(shape))
