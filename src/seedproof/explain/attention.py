"""Attention as an explanation: the share that each word gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seedproof.errors import InputError, OptionError, ShapeError
from seedproof.explain.base import Scores, TokenBatch, score_words, to_shares
from seedproof.explain.models import is_transformer, undisturbed

# The mark of transformers that its hooks for `output_attentions` are installed. Hooks and mark stay
# after the first use.
_HOOKED = "_output_capturing_hooks_installed"


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The attention of a model that returns it along with its logits.

    Attention on positions other than words is left out, and the rest is scaled to sum to 1.

    Args:
        batch_size: Number of texts per forward pass.
    """

    batch_size: int = 32

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """Return the share of attention that each word gets."""
        with undisturbed(model), torch.no_grad():
            return to_shares(
                score_words(texts, self.batch_size, lambda some: _attention_of(model, some))
            )


def _attention_of(model: nn.Module, texts: TokenBatch) -> Tensor:
    answer = None if is_transformer(model) else model(texts.tokens, texts.mask)
    weights: Tensor | None = getattr(answer, "attention", None)
    if weights is None:
        raise InputError(
            "{type_name} does not return attention. Return an object that has both `logits` and "
            "`attention`; for a model of Hugging Face use TransformerAttention.",
            type_name=type(model).__name__,
        )
    if weights.shape != texts.tokens.shape:
        raise ShapeError(
            "The model returned attention of shape {shape!s} for tokens of shape "
            "{other_shape!s}. Both must have the axes (texts, positions).",
            shape=tuple(weights.shape),
            other_shape=tuple(texts.tokens.shape),
        )
    return weights


@dataclass(frozen=True, kw_only=True)
class TransformerAttention:
    """The attention of a model of Hugging Face: of one layer, from one position.

    Attention on positions other than words, such as [CLS] and [SEP], is left out, and the rest is
    scaled to sum to 1. Fast kernels never compute the weights, so the model uses `eager` attention
    during the call.

    Args:
        layer: Index of the layer; −1 is the last.
        head: Index of the head. If omitted, the mean over heads.
        position: Index of the token that attends; 0 is the one whose state most classifiers read,
            −1 the last token.
        batch_size: Number of texts per forward pass.
    """

    layer: int = -1
    head: int | None = None
    position: int = 0
    batch_size: int = 32

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """Return the share of attention that each word gets."""
        if not is_transformer(model):
            raise InputError(
                "{type_name} is not a model of Hugging Face. Use Attention instead.",
                type_name=type(model).__name__,
            )
        with undisturbed(model), plain_attention(model), torch.no_grad():
            return to_shares(
                score_words(texts, self.batch_size, lambda some: self._weights(model, some))
            )

    def _weights(self, model: nn.Module, texts: TokenBatch) -> Tensor:
        answer = model(
            input_ids=texts.tokens, attention_mask=texts.mask.long(), output_attentions=True
        )
        layers: tuple[Tensor, ...] | None = getattr(answer, "attentions", None)
        if not layers or layers[0] is None:
            raise InputError(
                "{type_name} returns no attention although `output_attentions` is set.",
                type_name=type(model).__name__,
            )
        weights = at(layers, self.layer, "layer")
        if self.head is None:
            weights = weights.mean(dim=1)
        else:
            weights = at(weights.unbind(dim=1), self.head, "head")
        return at(weights.unbind(dim=1), self.position, "position")


def at(parts: tuple[Tensor, ...], index: int, name: str) -> Tensor:
    """Return one of several parts of an axis by its index."""
    if not -len(parts) <= index < len(parts):
        raise OptionError(
            "`{option}` is {index}, but there are {n_parts}. Pass an index from {lowest} to "
            "{highest}.",
            option=name,
            index=index,
            n_parts=len(parts),
            lowest=-len(parts),
            highest=len(parts) - 1,
        )
    return parts[index]


@contextmanager
def plain_attention(model: Any) -> Iterator[None]:  # noqa: ANN401 - of transformers
    """Compute attention with its weights inside; remove the hooks of transformers afterwards."""
    before = model.config._attn_implementation  # noqa: SLF001 - there is no public reader
    known = [(module, set(_hooks(module)), hasattr(module, _HOOKED)) for module in model.modules()]
    try:
        model.set_attn_implementation("eager")
        yield
    finally:
        model.set_attn_implementation(before)
        for module, hooks, was_hooked in known:
            for key in set(_hooks(module)) - hooks:
                del _hooks(module)[key]
            if hasattr(module, _HOOKED) and not was_hooked:
                delattr(module, _HOOKED)


def _hooks(module: nn.Module) -> dict[int, Any]:
    return module._forward_hooks  # noqa: SLF001 - others registered them and kept no handle
