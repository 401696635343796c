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
    """Gradients of the prediction with respect to the embedding of each word.

    The log odds of the class are differentiated. Shares are those of the probability, whose
    gradient is the same times p(1−p), but they also exist where the model is certain.

    - `gradient`: absolute values, summed over the dimensions of the embedding.
    - `gradient-x-input`: gradient times embedding, summed, then its absolute value.
    - `integrated-gradients`: the same for the mean gradient on the path from a baseline to the
      embedding, times their difference (Sundararajan et al., 2017). Signed, the scores of a text
      sum to the log odds of the text less those of the baseline.

    The CoNLL 2019 paper used `gradient`; its code `gradient-x-input` with `cut_attention`.

    Args:
        method: One of these three.
        cut_attention: Treat attention weights as constants: no gradient flows through them.
        signed: Return signed sums over dimensions; otherwise shares, which sum to 1 over the words.
        baseline: Token whose embedding is the baseline. If omitted, zeros.
        n_steps: Number of points on the path.
        batch_size: Number of texts, or points on paths, per pass.

    Raises:
        OptionError: The method is unknown, or the number of steps is not allowed.
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
                "`n_steps` is {n_steps!r}. Pass an integer of at least 1.", n_steps=self.n_steps
            )
        require("captum", extra="explain", feature="Explaining by gradients")

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """Return the attribution of each word."""
        embedding = module_of(model, "embedding", "Explaining by gradients")
        with undisturbed(model), _gradients_possible():
            scores = score_words(
                texts, self.batch_size, lambda some: self._score(model, embedding, some)
            )
        return scores if self.signed else to_shares(scores)

    def _score(self, model: nn.Module, embedding: nn.Module, texts: TokenBatch) -> Tensor:
        with torch.no_grad():
            # The class of the text itself, also at points on the path to it.
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

        start = torch.zeros_like(vectors)
        if self.baseline is not None:
            with torch.no_grad():
                start = embedding(torch.full_like(texts.tokens, self.baseline))
        attributions = self._attribute(odds, vectors, start, (texts.tokens, texts.mask, targets))
        if self.method == "gradient" and not self.signed:
            attributions = attributions.abs()
        return attributions.detach().double().sum(dim=-1)

    def _attribute(
        self, odds: Callable[..., Tensor], vectors: Tensor, start: Tensor, given: tuple[Tensor, ...]
    ) -> Tensor:
        from captum.attr import InputXGradient, IntegratedGradients, Saliency

        attributions: Tensor
        if self.method == "integrated-gradients":
            attributions = IntegratedGradients(odds).attribute(
                vectors,
                baselines=start,
                additional_forward_args=given,
                n_steps=self.n_steps,
                internal_batch_size=max(self.batch_size, len(vectors)),
            )
        elif self.method == "gradient-x-input":
            attributions = InputXGradient(odds).attribute(vectors, additional_forward_args=given)
        else:
            attributions = Saliency(odds).attribute(
                vectors, abs=False, additional_forward_args=given
            )
        return attributions


@contextmanager
def _gradients_possible() -> Iterator[None]:
    """Let captum turn gradients on inside, even if the caller is in inference mode."""
    # cuDNN has no backward pass for recurrent layers in evaluation mode.
    with torch.inference_mode(mode=False), torch.backends.cudnn.flags(enabled=False):
        yield
