"""Contract tests for explainers: subclass the contract, and define its fixture.

    from seedproof.testing.explainers import ExplainerContract

    class TestMyExplainer(ExplainerContract):
        @pytest.fixture
        def explainer(self):
            return MyExplainer()  # called with a model and texts

The model is small, draws from no global generator, and has dropout in training mode. An explainer
of other models also overrides the fixture `model`.
"""
# ruff: noqa: D102, S101 - names of tests state the facts; pytest explains a plain assert best

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seedproof.explain import Explainer, Scores, TokenBatch
from seedproof.testing.engines import is_same_state
from seedproof.testing.trainings import fill, one_thread
from seedproof.training.rng import capture, untouched

N_TOKENS = 20
# Rounding of float32 in sums whose order depends on the shape of the batch.
RTOL, ATOL = 1e-3, 1e-5


class Explained(NamedTuple):
    """Output of the small model."""

    logits: Tensor
    attention: Tensor


class SmallModel(nn.Module):
    """Small text classifier with a window of three words, dropout and additive attention.

    With `sees_padding` it wrongly treats padding as words.
    """

    def __init__(self, n_outputs: int = 3, seed: int = 0, *, sees_padding: bool = False) -> None:
        super().__init__()
        with untouched():  # layers draw initial weights from the global generator
            self.embedding = nn.Embedding(N_TOKENS, 6)
            self.windows = nn.Conv1d(6, 8, 3, padding=1)
            self.dropout = nn.Dropout(0.5)
            self.score = nn.Linear(8, 1)
            self.output = nn.Linear(8, n_outputs)
        fill(self, seed)
        self.sees_padding = sees_padding

    def forward(self, tokens: Tensor, mask: Tensor) -> Explained:
        """Return logits and attention of each text."""
        if self.sees_padding:
            mask = torch.ones_like(mask)
        vectors = self.embedding(tokens) * mask.unsqueeze(-1)
        states = self.windows(vectors.transpose(1, 2)).transpose(1, 2).tanh()
        scores = self.score(self.dropout(states)).squeeze(-1).masked_fill(~mask, -torch.inf)
        attention = scores.softmax(dim=1)
        context = (attention.unsqueeze(-1) * states).sum(dim=1)
        return Explained(self.output(self.dropout(context)), attention)


def some_texts(n_texts: int = 6, *, seed: int = 0) -> TokenBatch:
    """Return texts of 3 to 9 tokens, right-padded with zeros; the first and last are not words."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.arange(n_texts) * 5 % 7 + 3
    places = torch.arange(int(lengths.max()))
    mask = places < lengths[:, None]
    tokens = torch.randint(1, N_TOKENS, mask.shape, generator=generator) * mask
    words = mask & (places > 0) & (places < lengths[:, None] - 1)
    return TokenBatch(tokens, mask, [f"text {i}" for i in range(n_texts)], words=words)


def take(texts: TokenBatch, rows: list[int]) -> TokenBatch:
    """Return some of the texts."""
    return replace(
        texts,
        tokens=texts.tokens[rows],
        mask=texts.mask[rows],
        ids=[texts.ids[row] for row in rows],
        words=texts.is_word[rows],
        targets=None if texts.targets is None else texts.targets[rows],
    )


def pad(texts: TokenBatch, left: int, right: int) -> TokenBatch:
    """Return the same texts with more padding, filled with a token that has a meaning."""
    tokens = nn.functional.pad(texts.tokens, (left, right))
    mask = nn.functional.pad(texts.mask, (left, right))
    words = nn.functional.pad(texts.is_word, (left, right))
    return replace(texts, tokens=tokens.masked_fill(~mask, 7), mask=mask, words=words)


def traces(model: nn.Module) -> dict[str, Any]:
    """Return everything in a model that an explainer must not change."""
    parameters = list(model.parameters())
    return {
        "hooks": [
            sorted(
                (name, tuple(hooks))
                for name, hooks in vars(module).items()
                if "_hooks" in name and isinstance(hooks, dict)
            )
            for module in model.modules()
        ],
        "attributes": [sorted(vars(module)) for module in model.modules()],
        "modes": [module.training for module in model.modules()],
        "trained": [parameter.requires_grad for parameter in parameters],
        "grads": [None if p.grad is None else p.grad.tolist() for p in parameters],
        "weights": [weights.tolist() for weights in model.state_dict().values()],
    }


def global_state() -> dict[str, Any]:
    """Return global state that must not change either."""
    return {
        "generators": capture(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "cudnn": torch.backends.cudnn.enabled,
    }


def are_close(first: Scores, second: Scores) -> bool:
    """Return whether scores are equal up to rounding."""
    return len(first) == len(second) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=RTOL, atol=ATOL)
        for a, b in zip(first, second, strict=True)
    )


class ExplainerContract:
    """Contract of every explainer; define a fixture `explainer`.

    An explainer that cannot pass a test sets it to None, with a comment.
    """

    @pytest.fixture
    def explainer(self) -> Explainer:
        """Return the explainer under test; defined by a subclass."""
        raise NotImplementedError

    @pytest.fixture
    def model(self) -> nn.Module:
        """Return a model that it can explain, in training mode."""
        return SmallModel()

    @pytest.fixture
    def texts(self) -> TokenBatch:
        """Return the texts to explain."""
        return some_texts()

    @pytest.fixture(autouse=True)
    def _one_thread(self) -> Iterator[None]:
        with one_thread():
            yield

    def test_model_is_unchanged(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Hooks, modes, flags, gradients and weights."""
        _disturb(model)
        before = traces(model)

        explainer(model, texts)

        assert traces(model) == before

    def test_global_generators_and_gradient_mode_are_unchanged(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        for switch in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with switch():
                before = global_state()
                explainer(model, texts)
                assert is_same_state(before, global_state())

    @pytest.mark.parametrize("n_calls", [1, 2, 3])
    def test_exception_of_the_model_leaves_everything_unchanged(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch, n_calls: int
    ) -> None:
        _disturb(model)
        *_, last = model.modules()
        calls = iter(range(n_calls))

        def fail(*_: object) -> None:
            if next(calls, None) == n_calls - 1:
                raise ZeroDivisionError

        last.register_forward_hook(fail)
        before, around = traces(model), global_state()

        with pytest.raises(ZeroDivisionError):
            explainer(model, texts)

        assert traces(model) == before
        assert is_same_state(around, global_state())

    def test_texts_are_unchanged(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        tokens, mask = texts.tokens.clone(), texts.mask.clone()

        explainer(model, texts)

        assert torch.equal(texts.tokens, tokens)
        assert torch.equal(texts.mask, mask)

    def test_each_word_has_one_finite_score(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Neither padding nor the marks at both ends are scored."""
        scores = explainer(model, texts)

        assert list(map(len, scores)) == texts.is_word.sum(dim=1).tolist()
        assert all(np.isfinite(of_text).all() for of_text in scores)

    def test_scores_differ_between_words_and_texts(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        scores = explainer(model, texts)

        assert len(set(map(tuple, scores))) == len(texts)
        assert all(np.ptp(of_text) > 1e-6 for of_text in scores if len(of_text) > 1)

    def test_second_call_gives_the_same_bits(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        first, second = explainer(model, texts), explainer(model, texts)

        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))

    def test_empty_batch_has_no_scores(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        assert explainer(model, take(texts, [])) == []

    def test_scores_do_not_depend_on_the_rest_of_the_batch(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        together = explainer(model, texts)
        rows = list(reversed(range(len(texts))))

        alone = [explainer(model, take(texts, [row]))[0] for row in range(len(texts))]
        reordered = explainer(model, take(texts, rows))

        assert are_close(together, alone)
        assert are_close(together, reordered[::-1])

    @pytest.mark.parametrize(("left", "right"), [(0, 4), (3, 0), (2, 2)])
    def test_scores_do_not_depend_on_padding(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch, left: int, right: int
    ) -> None:
        assert are_close(explainer(model, texts), explainer(model, pad(texts, left, right)))


def _disturb(model: nn.Module) -> None:
    """Give a model the state of ongoing training, with nothing at its default."""
    model.train()
    first, *_, last = [module for module in model.modules() if not list(module.children())]
    last.eval()
    first.register_forward_hook(lambda *_: None)
    parameters = list(model.parameters())
    parameters[0].requires_grad = False
    parameters[-1].grad = torch.ones_like(parameters[-1])
