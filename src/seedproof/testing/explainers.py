"""What every explainer promises, as tests: subclass the contract, and give a fixture.

    from seedproof.testing.explainers import ExplainerContract

    class TestMyExplainer(ExplainerContract):
        @pytest.fixture
        def explainer(self):
            return MyExplainer()  # called with a model and texts

The model is small, draws from no global generator, and has dropout in training mode. An explainer
of other models overrides the fixture `model`, too.
"""
# ruff: noqa: S101 - these are tests, and pytest explains a plain assert best

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
    """What the small model says: logits, and the attention beside them."""

    logits: Tensor
    attention: Tensor


class SmallModel(nn.Module):
    """A small text classifier with a window of three words, dropout and additive attention.

    Args:
        n_outputs: Columns of its logits.
        seed: Weights are drawn from it.
        sees_padding: Whether it takes padding for words, as it should not.
    """

    def __init__(self, n_outputs: int = 3, seed: int = 0, *, sees_padding: bool = False) -> None:
        super().__init__()
        with untouched():  # layers draw their first weights from the global generator
            self.embedding = nn.Embedding(N_TOKENS, 6)
            self.windows = nn.Conv1d(6, 8, 3, padding=1)
            self.dropout = nn.Dropout(0.5)
            self.score = nn.Linear(8, 1)
            self.output = nn.Linear(8, n_outputs)
        fill(self, seed)
        self.sees_padding = sees_padding

    def forward(self, tokens: Tensor, mask: Tensor) -> Explained:
        """Logits and attention of each text."""
        if self.sees_padding:
            mask = torch.ones_like(mask)
        vectors = self.embedding(tokens) * mask.unsqueeze(-1)
        states = self.windows(vectors.transpose(1, 2)).transpose(1, 2).tanh()
        scores = self.score(self.dropout(states)).squeeze(-1).masked_fill(~mask, -torch.inf)
        attention = scores.softmax(dim=1)
        context = (attention.unsqueeze(-1) * states).sum(dim=1)
        return Explained(self.output(self.dropout(context)), attention)


def some_texts(n_texts: int = 6, *, seed: int = 0) -> TokenBatch:
    """Texts of 3 to 9 tokens, the first and last of which are marks and no words.

    Args:
        n_texts: How many.
        seed: What they are drawn from.

    Returns:
        The texts, padded on the right with zeros.
    """
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.arange(n_texts) * 5 % 7 + 3
    places = torch.arange(int(lengths.max()))
    mask = places < lengths[:, None]
    tokens = torch.randint(1, N_TOKENS, mask.shape, generator=generator) * mask
    words = mask & (places > 0) & (places < lengths[:, None] - 1)
    return TokenBatch(tokens, mask, [f"text {i}" for i in range(n_texts)], words=words)


def take(texts: TokenBatch, rows: list[int]) -> TokenBatch:
    """Some of the texts."""
    return replace(
        texts,
        tokens=texts.tokens[rows],
        mask=texts.mask[rows],
        ids=[texts.ids[row] for row in rows],
        words=texts.is_word[rows],
        targets=None if texts.targets is None else texts.targets[rows],
    )


def pad(texts: TokenBatch, left: int, right: int) -> TokenBatch:
    """The same texts with more padding, in which tokens are that mean something elsewhere."""
    tokens = nn.functional.pad(texts.tokens, (left, right))
    mask = nn.functional.pad(texts.mask, (left, right))
    words = nn.functional.pad(texts.is_word, (left, right))
    return replace(texts, tokens=tokens.masked_fill(~mask, 7), mask=mask, words=words)


def traces(model: nn.Module) -> dict[str, Any]:
    """Everything about a model that an explainer must leave as it was."""
    return {
        "hooks": [
            sorted(
                (name, tuple(kept))
                for name, kept in vars(one).items()
                if "_hooks" in name and isinstance(kept, dict)
            )
            for one in model.modules()
        ],
        "attributes": [sorted(vars(one)) for one in model.modules()],
        "modes": [one.training for one in model.modules()],
        "trained": [one.requires_grad for one in model.parameters()],
        "grads": [None if one.grad is None else one.grad.tolist() for one in model.parameters()],
        "weights": [one.tolist() for one in model.state_dict().values()],
    }


def ambience() -> dict[str, Any]:
    """What belongs to nobody, and must not change either."""
    return {
        "generators": capture(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "cudnn": torch.backends.cudnn.enabled,
    }


def are_close(first: Scores, second: Scores) -> bool:
    """Whether scores are equal but for rounding."""
    return len(first) == len(second) and all(
        one.shape == two.shape and np.allclose(one, two, rtol=RTOL, atol=ATOL)
        for one, two in zip(first, second, strict=True)
    )


class ExplainerContract:
    """For every explainer; give a fixture `explainer`.

    An explainer that cannot keep a promise sets the test to None, and says why.
    """

    @pytest.fixture
    def explainer(self) -> Explainer:
        """The explainer under test; a subclass gives it."""
        raise NotImplementedError

    @pytest.fixture
    def model(self) -> nn.Module:
        """A model that it can explain, in the midst of a training."""
        return SmallModel()

    @pytest.fixture
    def texts(self) -> TokenBatch:
        """What it explains."""
        return some_texts()

    @pytest.fixture(autouse=True)
    def _one_thread(self) -> Iterator[None]:
        with one_thread():
            yield

    # ---------------------------------------------------------------- it leaves nothing behind

    def test_the_model_is_as_it_was(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Hooks, modes, flags, gradients and weights are unchanged."""
        _disturb(model)
        before = traces(model)

        explainer(model, texts)

        assert traces(model) == before

    def test_generators_and_switches_are_untouched(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Nothing is drawn from any global generator, and gradients stay on or off."""
        for switch in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with switch():
                before = ambience()
                explainer(model, texts)
                assert is_same_state(before, ambience())

    @pytest.mark.parametrize("n_calls", [1, 2, 3])
    def test_an_exception_leaves_everything_as_it_was(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch, n_calls: int
    ) -> None:
        """Wherever in the middle the model fails, and the exception is the model's own."""
        _disturb(model)
        *_, last = model.modules()
        calls = iter(range(n_calls))

        def fail(*_: object) -> None:
            if next(calls, None) == n_calls - 1:
                raise ZeroDivisionError

        last.register_forward_hook(fail)
        before, around = traces(model), ambience()

        with pytest.raises(ZeroDivisionError):
            explainer(model, texts)

        assert traces(model) == before
        assert is_same_state(around, ambience())

    def test_the_texts_are_as_they_were(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """What the caller gave is not written into."""
        tokens, mask = texts.tokens.clone(), texts.mask.clone()

        explainer(model, texts)

        assert torch.equal(texts.tokens, tokens)
        assert torch.equal(texts.mask, mask)

    # ----------------------------------------------------------------- what the scores are

    def test_each_word_has_one_finite_score(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Neither padding nor the marks at both ends are scored, and nothing is infinite."""
        scores = explainer(model, texts)

        assert [len(one) for one in scores] == texts.is_word.sum(dim=1).tolist()
        assert all(np.isfinite(one).all() for one in scores)

    def test_scores_tell_words_and_texts_apart(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """An explanation that is the same for all explains nothing."""
        scores = explainer(model, texts)

        assert len({tuple(one) for one in scores}) == len(texts)
        assert all(np.ptp(one) > 1e-6 for one in scores if len(one) > 1)

    def test_a_second_time_gives_the_same_bits(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Nothing goes on from where it stopped."""
        first, second = explainer(model, texts), explainer(model, texts)

        assert all(np.array_equal(one, two) for one, two in zip(first, second, strict=True))

    def test_no_texts_have_no_scores(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """An empty batch is no error."""
        assert explainer(model, take(texts, [])) == []

    # ------------------------------------------------------- it does not matter what is beside

    def test_batch_mates_do_not_matter(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch
    ) -> None:
        """Alone, or with others in another order, a text has the same scores."""
        together = explainer(model, texts)
        rows = list(reversed(range(len(texts))))

        alone = [explainer(model, take(texts, [row]))[0] for row in range(len(texts))]
        turned = explainer(model, take(texts, rows))

        assert are_close(together, alone)
        assert are_close(together, turned[::-1])

    @pytest.mark.parametrize(("left", "right"), [(0, 4), (3, 0), (2, 2)])
    def test_padding_does_not_matter(
        self, explainer: Explainer, model: nn.Module, texts: TokenBatch, left: int, right: int
    ) -> None:
        """Neither how much of it there is, nor on which side, nor what is written in it."""
        assert are_close(explainer(model, texts), explainer(model, pad(texts, left, right)))


def _disturb(model: nn.Module) -> None:
    """Leave a model as it is in the midst of a training, with nothing at its default."""
    model.train()
    first, *_, last = [one for one in model.modules() if not list(one.children())]
    last.eval()
    first.register_forward_hook(lambda *_: None)
    parameters = list(model.parameters())
    parameters[0].requires_grad = False
    parameters[-1].grad = torch.ones_like(parameters[-1])
