"""Gradients as an explanation, through captum: the one file that imports it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from seedproof._optional import require
from seedproof.errors import OptionError
from seedproof.explain.base import Scores, TokenBatch, score_words, to_shares
from seedproof.explain.models import (
    chosen_targets,
    log_odds,
    logits_of,
    module_of,
    probs_of,
    replaced_output,
    undisturbed,
)
from seedproof.typing import is_count

Method: TypeAlias = Literal["gradient", "gradient-x-input", "integrated-gradients"]


@dataclass(frozen=True)
class Gradients:
    """How much the prediction moves with the vector of each word.

    What is differentiated are the log odds of the class. Its shares are those of the probability,
    whose gradient is the same times p(1−p), but they exist where the model is sure, too.

    - `gradient`: absolute values, summed over the dimensions of the vector.
    - `gradient-x-input`: gradient times vector, summed, then its absolute value.
    - `integrated-gradients`: the same for the mean gradient on the way from a baseline to the
      vector, times their difference (Sundararajan et al., 2017). Signed, the scores of a text sum
      to the log odds of the text less those of the baseline.

    The CoNLL 2019 paper used `gradient`; its code `gradient-x-input` with `cut_attention`.

    Args:
        method: One of these three.
        cut_attention: Take the attention as given: no gradient goes through the weights.
        signed: Sums over dimensions as they are; otherwise shares, which sum to 1 over the words.
        baseline: Token with whose vector the way begins; the vector of zeros without it.
        n_steps: Points on the way.
        batch_size: How many texts, or points of them, at once.

    Raises:
        OptionError: There is no such method, or no such number of steps.
        MissingExtraError: captum is not installed.
    """

    method: Method = "gradient"
    _: KW_ONLY
    cut_attention: bool = False
    signed: bool = False
    baseline: int | None = None
    n_steps: int = 50
    batch_size: int = 64

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise OptionError(
                "There is no method {method!r} of gradients. Known: {known}.",
                method=self.method,
                known=get_args(Method),
            )
        if not is_count(self.n_steps, 1):
            raise OptionError(
                "`n_steps` is {n_steps!r}. Give a whole number of at least 1.", n_steps=self.n_steps
            )
        require("captum", extra="explain", feature="Explaining by gradients")

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """How much each word moves the prediction."""
        embedding = module_of(model, "embedding", "Explaining by gradients")
        with undisturbed(model), _gradients_possible():
            scores = score_words(
                texts, self.batch_size, lambda some: self._score(model, embedding, some)
            )
        return scores if self.signed else to_shares(scores)

    def _score(self, model: nn.Module, embedding: nn.Module, texts: TokenBatch) -> Tensor:
        with torch.no_grad():
            # Of the text itself, also where points on the way to it are asked for.
            probs = probs_of(model, texts.tokens, texts.mask)
            targets = chosen_targets(probs, texts.targets)
            vectors: Tensor = embedding(texts.tokens)
        vectors = vectors.detach().requires_grad_()

        def odds(vectors: Tensor, tokens: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
            with ExitStack() as changed:
                changed.enter_context(replaced_output(embedding, lambda _own: vectors, "embedding"))
                if self.cut_attention:
                    score = module_of(model, "score", "Cutting the graph at the attention")
                    changed.enter_context(replaced_output(score, torch.detach, "score"))
                return log_odds(logits_of(model, tokens, mask), targets)

        start = self._start(embedding, texts.tokens, vectors)
        attributions = self._attribute(odds, vectors, start, (texts.tokens, texts.mask, targets))
        if self.method == "gradient" and not self.signed:
            attributions = attributions.abs()
        return attributions.detach().double().sum(dim=-1)

    def _start(self, embedding: nn.Module, tokens: Tensor, vectors: Tensor) -> Tensor:
        if self.baseline is None:
            return torch.zeros_like(vectors)
        with torch.no_grad():
            start: Tensor = embedding(torch.full_like(tokens, self.baseline))
        return start

    def _attribute(
        self, odds: Callable[..., Tensor], vectors: Tensor, start: Tensor, given: tuple[Tensor, ...]
    ) -> Tensor:
        from captum.attr import InputXGradient, IntegratedGradients, Saliency

        found: Tensor
        if self.method == "integrated-gradients":
            found = IntegratedGradients(odds).attribute(
                vectors,
                baselines=start,
                additional_forward_args=given,
                n_steps=self.n_steps,
                internal_batch_size=max(self.batch_size, len(vectors)),
            )
        elif self.method == "gradient-x-input":
            found = InputXGradient(odds).attribute(vectors, additional_forward_args=given)
        else:
            found = Saliency(odds).attribute(vectors, abs=False, additional_forward_args=given)
        return found


@contextmanager
def _gradients_possible() -> Iterator[None]:
    """Inside, captum can turn gradients on, even if the caller turned them off for good."""
    # cuDNN has no backward pass for recurrent layers that predict.
    with torch.inference_mode(mode=False), torch.backends.cudnn.flags(enabled=False):
        yield
