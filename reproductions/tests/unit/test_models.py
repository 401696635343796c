import itertools

import numpy as np
import pytest
import torch
from seedproof_reproductions.datasets.vocabulary import END, PADDING, START
from seedproof_reproductions.models import (
    ATTENTIONS,
    ENCODERS,
    AdditiveScore,
    Classifier,
    CNNEncoder,
    DotScore,
    LSTMEncoder,
    Shape,
    is_word,
)
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seedproof.errors import UnknownNameError
from seedproof.testing.trainings import one_thread

N_WORDS, SIZE = 20, 6
MODELS = [
    Shape(encoder, attention, n_classes, is_pair)
    for encoder, attention in itertools.product(ENCODERS, ATTENTIONS)
    for n_classes, is_pair in ((2, False), (4, False), (3, True))
]
# Sums over other lengths are added up in another order: a few units of the last place.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(autouse=True)
def _one_thread():
    """What is small waits for other threads longer than it works."""
    with one_thread():
        yield


def made(shape, seed=0):
    """A model with weights from a seed; global generators are as before."""
    vectors = np.random.default_rng(seed).normal(size=(N_WORDS, SIZE)).astype(np.float32)
    vectors[PADDING] = 0
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(seed)
        return Classifier(shape, vectors).eval()


def padded(texts, width=None):
    """Texts as numbers between marks."""
    rows = [[START, *text, END] for text in texts]
    width = width or max(map(len, rows))
    numbers = [row + [PADDING] * (width - len(row)) for row in rows]
    return torch.tensor(numbers, dtype=torch.int32), torch.tensor([len(row) for row in rows])


TEXTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16, 17]]
QUERIES = [[5], [9, 8, 7, 6], [4, 5]]


def inputs(shape, texts=TEXTS, queries=QUERIES, width=None):
    """What a model of some shape takes."""
    first = padded(texts, width)
    return (*first, *padded(queries, width)) if shape.is_pair else first


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_attention_is_a_distribution_over_the_words(shape):
    """Neither padding nor the first and the last position has any; the rest sums to 1."""
    answer = made(shape)(*inputs(shape))

    assert answer.attention.shape == (3, 11)
    np.testing.assert_allclose(answer.attention.sum(-1).detach(), 1, **CLOSE)
    for weights, text in zip(answer.attention, TEXTS, strict=True):
        assert (weights[1 : len(text) + 1] > 0).all()
        assert weights[0] == 0
        assert (weights[len(text) + 1 :] == 0).all()


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_a_text_is_answered_alike_whatever_else_is_in_the_batch(shape):
    """Alone, together, or with more padding: the same probabilities and attention."""
    model = made(shape)
    together = model(*inputs(shape))
    wide = model(*inputs(shape, width=30))

    np.testing.assert_allclose(wide.probs().detach(), together.probs().detach(), **CLOSE)
    for place, (text, query) in enumerate(zip(TEXTS, QUERIES, strict=True)):
        alone = model(*inputs(shape, [text], [query]))
        np.testing.assert_allclose(
            alone.probs().detach()[0], together.probs().detach()[place], **CLOSE
        )
        n_places = len(text) + 2
        np.testing.assert_allclose(
            alone.attention.detach()[0], together.attention.detach()[place, :n_places], **CLOSE
        )


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_probabilities_are_of_all_classes(shape):
    """Two classes share one logit; more have one each."""
    answer = made(shape)(*inputs(shape))

    assert answer.logits.shape == (3, 1 if shape.n_classes == 2 else shape.n_classes)
    assert answer.probs().shape == (3, shape.n_classes)
    np.testing.assert_allclose(answer.probs().sum(-1).detach(), 1, **CLOSE)


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_vectors_and_numbers_give_the_same_answer(shape):
    """Gradients with respect to words start from `from_embedded`."""
    model = made(shape)
    numbers, lengths, *query = inputs(shape)
    embedded = [model.embedding(query[0]), query[1]] if query else []

    answer = model.from_embedded(model.embedding(numbers), lengths, *embedded)

    assert torch.equal(answer.logits, model(numbers, lengths, *query).logits)


@pytest.mark.parametrize("shape", MODELS, ids=str)
def test_every_weight_is_trained_and_padding_stays_zero(shape):
    """All parameters get a gradient; the embedding of padding gets none."""
    model = made(shape)

    model(*inputs(shape)).logits.square().sum().backward()

    for name, weights in model.named_parameters():
        assert weights.requires_grad, name
        assert weights.grad.abs().sum() > 0, name
    assert (model.embedding.weight.grad[PADDING] == 0).all()


def test_no_model_has_dropout_or_batch_norm():
    """The original has neither: in training a model answers as it does afterwards."""
    for shape in MODELS:
        model = made(shape)
        kinds = {type(module) for module in model.modules()}
        assert not kinds & {nn.Dropout, nn.BatchNorm1d}
        assert torch.equal(
            model.train()(*inputs(shape)).logits, model.eval()(*inputs(shape)).logits
        )


def test_sizes_are_the_papers():
    """32 filters of each width 1, 3, 5, 7; an LSTM of 128 in each direction."""
    cnn, lstm = CNNEncoder(SIZE), LSTMEncoder(SIZE)

    assert [tuple(window.weight.shape) for window in cnn.windows] == [
        (32, SIZE, width) for width in (1, 3, 5, 7)
    ]
    assert (cnn.n_outputs, lstm.n_outputs) == (128, 256)
    assert lstm.ahead.hidden_size == lstm.back.hidden_size == 128


def test_the_cnn_is_a_sum_over_windows():
    """One position by hand: a width of 3 sees its neighbors, and ends are as if 0."""
    encoder = CNNEncoder(2)
    words = torch.tensor([[[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]])
    weight, bias = encoder.windows[1].weight, encoder.windows[1].bias
    middle = sum(weight[:, :, j] @ words[0, j] for j in range(3)) + bias
    first = sum(weight[:, :, j + 1] @ words[0, j] for j in range(2)) + bias

    states = encoder(words, torch.tensor([3]))

    np.testing.assert_allclose(
        states[0, 1, 32:64].detach(), middle.relu().detach(), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        states[0, 0, 32:64].detach(), first.relu().detach(), rtol=1e-5, atol=1e-6
    )


def test_additive_scores_follow_the_formula():
    """vᵀtanh(Wh + b), and Uq joins inside for pairs."""
    states, query = torch.randn(2, 3, 4, generator=_draw()), torch.randn(2, 5, generator=_draw())
    single, pair = AdditiveScore(4), AdditiveScore(4, 5)

    for score, beside in ((single, 0), (pair, (query @ pair.query.weight.T)[:, None])):
        inner = states @ score.states.weight.T + score.states.bias + beside
        expected = inner.tanh() @ score.weigh.weight[0]
        np.testing.assert_allclose(
            score(states, query).detach(), expected.detach(), rtol=1e-5, atol=1e-6
        )


def test_dot_scores_follow_the_formula():
    """wᵀh/√m, and (Uq)ᵀh/√m for pairs: m = 4, so the root is 2."""
    states, query = torch.randn(2, 3, 4, generator=_draw()), torch.randn(2, 5, generator=_draw())
    single, pair = DotScore(4), DotScore(4, 5)
    wanted = query @ pair.query.weight.T

    np.testing.assert_allclose(
        single(states).detach(),
        (states @ single.weigh.weight[0] / 2).detach(),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        pair(states, query).detach(),
        torch.einsum("ijk,ik->ij", states, wanted).detach() / 2,
        rtol=1e-5,
        atol=1e-6,
    )


def test_words_are_what_is_between_the_marks():
    """Lengths 3 and 5 of 6 positions."""
    found = is_word(torch.zeros(2, 6), torch.tensor([3, 5]))

    assert found.int().tolist() == [[0, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0]]


def test_two_lstms_are_one_in_both_directions():
    """States and summary equal those of torch's bidirectional LSTM on packed texts."""
    encoder = LSTMEncoder(SIZE)
    oracle = nn.LSTM(SIZE, 128, batch_first=True, bidirectional=True)
    oracle.load_state_dict(
        encoder.ahead.state_dict()
        | {f"{name}_reverse": w for name, w in encoder.back.state_dict().items()}
    )
    words, lengths = torch.randn(3, 7, SIZE, generator=_draw()), torch.tensor([4, 7, 2])
    packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    expected, (final, _) = oracle(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)

    states = encoder(words, lengths)

    for place, length in enumerate(lengths):
        np.testing.assert_allclose(
            states[place, :length].detach(), expected[place, :length].detach(), **CLOSE
        )
    np.testing.assert_allclose(
        encoder.summary(states, lengths).detach(),
        torch.cat([final[0], final[1]], dim=-1).detach(),
        **CLOSE,
    )


@pytest.mark.parametrize("settings", [{"encoder": "rnn"}, {"attention": "tanh"}])
def test_an_unknown_part_is_refused(settings):
    """The message lists the known ones."""
    with pytest.raises(UnknownNameError, match="Known: "):
        Shape(**settings)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_model_for_pairs_needs_both_texts(attention):
    """One text alone is a mistake of the caller."""
    shape = Shape(attention=attention, n_classes=3, is_pair=True)

    with pytest.raises(TypeError, match="pairs of texts"):
        made(shape)(*padded(TEXTS))


def _draw():
    return torch.Generator().manual_seed(4)
