import sys

import numpy as np
import pytest
import torch
from torch import nn

from seedproof.errors import InputError, MissingExtraError, OptionError
from seedproof.explain import Gradients, TokenBatch, TransformerAttention
from seedproof.explain.models import log_odds
from seedproof.testing.errors import WithFields
from seedproof.testing.explainers import SmallModel, are_close, some_texts


class Sum(nn.Module):
    """A linear model: gradients can be computed by hand."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(
            torch.tensor([[0.0, 0.0], [1.0, 5.0], [-2.0, 5.0], [4.0, 5.0]])
        )

    def forward(self, tokens, mask):
        """Return one logit: Σ place · (first number − a tenth of the second)."""
        del mask
        vectors = self.embedding(tokens)
        places = torch.arange(1, tokens.shape[1] + 1)
        return (vectors @ torch.tensor([1.0, -0.1]) * places).sum(dim=1, keepdim=True)


BY_HAND = TokenBatch(
    torch.tensor([[1, 2, 3]]),
    torch.ones(1, 3, dtype=torch.bool),
    [0],
    targets=torch.tensor([1]),
)


@pytest.mark.parametrize(
    ("method", "shares", "signed"),
    [
        # |∂| = 1.1 times the place; the signed sum is .9 times the place.
        ("gradient", [1 / 6, 2 / 6, 3 / 6], [0.9, 1.8, 2.7]),
        # First number less half a point, times the place: .5, −2.5 · 2, 3.5 · 3.
        ("gradient-x-input", [0.5 / 16, 5 / 16, 10.5 / 16], [0.5, -5.0, 10.5]),
        # The same for a linear model, whose gradient is the same all the way from 0.
        ("integrated-gradients", [0.5 / 16, 5 / 16, 10.5 / 16], [0.5, -5.0, 10.5]),
    ],
)
def test_gradients_of_a_linear_model_by_hand(method, shares, signed):
    """Shares sum to 1; signed scores are in units of log odds."""
    (share,) = Gradients(method)(Sum(), BY_HAND)
    (score,) = Gradients(method, signed=True)(Sum(), BY_HAND)

    np.testing.assert_allclose(share, shares, rtol=1e-5)  # float32
    np.testing.assert_allclose(score, signed, rtol=1e-5)


def test_baseline_token_gets_no_attribution():
    """By hand: the path begins at token 1 (1, 5), so that word 1 gets 0."""
    (score,) = Gradients("integrated-gradients", signed=True, baseline=1)(Sum(), BY_HAND)

    np.testing.assert_allclose(score, [0, -3 * 2, 3 * 3], atol=1e-5)  # float32


def test_other_class_of_two_has_opposite_signs():
    """Their log odds are opposite."""
    other = TokenBatch(BY_HAND.tokens, BY_HAND.mask, [0], targets=torch.tensor([0]))

    (positive,) = Gradients("gradient-x-input", signed=True)(Sum(), BY_HAND)
    (negative,) = Gradients("gradient-x-input", signed=True)(Sum(), other)

    np.testing.assert_array_equal(positive, -negative)


def by_autograd(model, texts, *, cut):
    """Gradients of the probability, by an independent implementation, one text at a time."""
    model.eval()
    for tokens, words in zip(texts.tokens, texts.is_word, strict=True):
        tokens = tokens[tokens > 0]  # noqa: PLW2901 - without padding
        vectors = model.embedding(tokens).detach().double().requires_grad_()
        weights = {name: value.double() for name, value in model.state_dict().items()}
        states = nn.functional.conv1d(
            vectors.T[None], weights["windows.weight"], weights["windows.bias"], padding=1
        )[0].T.tanh()
        scores = (states @ weights["score.weight"].T)[:, 0]
        attention = (scores.detach() if cut else scores).softmax(dim=0)
        logits = attention @ states @ weights["output.weight"].T + weights["output.bias"]
        logits.softmax(dim=0).max().backward()
        places = words[: len(tokens)]
        yield vectors.grad[places], vectors.detach()[places]


@pytest.mark.parametrize("cut", [False, True])
def test_shares_are_those_of_the_gradient_of_the_probability(cut):
    """That of the log odds differs by a factor, which cancels in shares."""
    model, texts = SmallModel(), some_texts()
    oracle = list(by_autograd(model, texts, cut=cut))

    gradient = Gradients(cut_attention=cut)(model, texts)
    times_input = Gradients("gradient-x-input", cut_attention=cut)(model, texts)

    for score, (slope, _) in zip(gradient, oracle, strict=True):
        expected = slope.abs().sum(dim=1)
        np.testing.assert_allclose(score, expected / expected.sum(), rtol=1e-3)  # float32
    for score, (slope, vectors) in zip(times_input, oracle, strict=True):
        expected = (slope * vectors).sum(dim=1).abs()
        np.testing.assert_allclose(score, expected / expected.sum(), rtol=1e-3, atol=1e-5)


def test_cutting_the_attention_changes_the_explanation():
    """The option has an effect."""
    model, texts = SmallModel(), some_texts()

    whole, cut = (Gradients(cut_attention=flag)(model, texts) for flag in (False, True))

    assert max(np.abs(a - b).max() for a, b in zip(whole, cut, strict=True)) > 0.05


def test_integrated_gradients_are_complete():
    """They sum to the log odds of the text less those of zeros."""
    model, texts = SmallModel(), some_texts()
    texts = TokenBatch(texts.tokens, texts.mask, texts.ids)

    scores = Gradients("integrated-gradients", signed=True, n_steps=200)(model, texts)

    model.eval()
    logits = model(texts.tokens, texts.mask).logits
    targets = logits.argmax(dim=1)
    with torch.no_grad():
        model.embedding.weight.zero_()
    nothing = torch.cat(
        [
            model(row[keep][None], keep[keep][None]).logits
            for row, keep in zip(texts.tokens, texts.mask, strict=True)
        ]
    )
    expected = log_odds(logits, targets) - log_odds(nothing, targets)
    # The rule of Gauss and Legendre with 200 points, and float32.
    np.testing.assert_allclose([s.sum() for s in scores], expected.detach(), rtol=1e-3)


def test_batch_size_does_not_change_scores():
    """Also where points on paths share a batch."""
    model, texts = SmallModel(), some_texts()

    several, single = (
        Gradients("integrated-gradients", n_steps=9, batch_size=size)(model, texts)
        for size in (64, 1)
    )

    assert are_close(several, single)


def test_half_precision_models_are_explained():
    """Large models are often loaded in bfloat16."""
    model, texts = SmallModel().bfloat16(), some_texts()

    scores = Gradients()(model, texts)

    exact = Gradients()(SmallModel(), texts)
    for rounded, expected in zip(scores, exact, strict=True):
        np.testing.assert_allclose(rounded, expected, atol=0.1)  # three digits, through five layers


def test_missing_modules_and_bad_options_are_refused():
    """A model without embedding or score, an unknown method, no steps."""
    with pytest.raises(InputError, check=WithFields(module="embedding", type_name="Linear")):
        Gradients()(nn.Linear(2, 2), some_texts())
    with pytest.raises(InputError, check=WithFields(module="score", type_name="Sum")):
        Gradients(cut_attention=True)(Sum(), BY_HAND)
    with pytest.raises(
        OptionError,
        check=WithFields(
            method="saliency", known=("gradient", "gradient-x-input", "integrated-gradients")
        ),
    ):
        Gradients("saliency")
    with pytest.raises(OptionError, check=WithFields(n_steps=0)):
        Gradients(n_steps=0)


def test_missing_captum_is_reported_with_its_extra(monkeypatch):
    """Before anything is computed; other explainers do not need it."""
    monkeypatch.setitem(sys.modules, "captum", None)

    with pytest.raises(MissingExtraError, check=WithFields(module="captum", extra="explain")):
        Gradients()
    TransformerAttention()
