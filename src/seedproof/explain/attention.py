"""Attention as an explanation: how much of it each word gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seedproof.errors import InputError, OptionError, ShapeError
from seedproof.explain.base import Scores, TokenBatch, score_words, to_shares
from seedproof.explain.models import is_transformer, undisturbed

# How transformers remembers that its hooks for `output_attentions` are there. They stay for good
# after the first use, and with them the mark.
_HOOKED = "_output_capturing_hooks_installed"


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The attention of a model that gives it beside its logits.

    Of each text the words' shares: what lies on other positions is left out, and the rest sums
    to 1.

    Args:
        batch_size: How many texts at once.
    """

    batch_size: int = 32

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """The share of attention that each word gets."""
        with undisturbed(model), torch.no_grad():
            return to_shares(score_words(texts, self.batch_size, lambda some: _given(model, some)))


def _given(model: nn.Module, texts: TokenBatch) -> Tensor:
    answer = None if is_transformer(model) else model(texts.tokens, texts.mask)
    weights: Tensor | None = getattr(answer, "attention", None)
    if weights is None:
        raise InputError(
            "{type_name} gives no attention beside its logits. Return something that "
            "has both `logits` and `attention`; for a model of Hugging Face use "
            "TransformerAttention.",
            type_name=type(model).__name__,
        )
    if weights.shape != texts.tokens.shape:
        raise ShapeError(
            "The model gave attention of shape {shape!s} for tokens of shape "
            "{other_shape!s}. It must give the same axes (texts, positions).",
            shape=tuple(weights.shape),
            other_shape=tuple(texts.tokens.shape),
        )
    return weights


@dataclass(frozen=True, kw_only=True)
class TransformerAttention:
    """The attention of a model of Hugging Face: of one layer, from one position.

    Of each text the words' shares: what lies on other positions, such as [CLS] and [SEP], is left
    out, and the rest sums to 1. Fast kernels never see the weights, so meanwhile the model computes
    attention in the plain way (`eager`).

    Args:
        layer: Which layer, from 0; −1 is the last.
        head: Which head, from 0; their mean without it.
        position: Whose attention, from 0; 0 is the mark whose state most classifiers read, −1 the
            last token.
        batch_size: How many texts at once.
    """

    layer: int = -1
    head: int | None = None
    position: int = 0
    batch_size: int = 32

    def __call__(self, model: nn.Module, texts: TokenBatch, /) -> Scores:
        """The share of attention that each word gets."""
        if not is_transformer(model):
            raise InputError(
                "{type_name} is no model of Hugging Face. For others use Attention.",
                type_name=type(model).__name__,
            )
        with undisturbed(model), _plain_attention(model), torch.no_grad():
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
                "{type_name} gives no attention, not even when asked.",
                type_name=type(model).__name__,
            )
        weights = _at(layers, self.layer, "layer")
        if self.head is None:
            weights = weights.mean(dim=1)
        else:
            weights = _at(weights.unbind(dim=1), self.head, "head")
        return _at(weights.unbind(dim=1), self.position, "position")


def _at(parts: tuple[Tensor, ...], index: int, name: str) -> Tensor:
    if not -len(parts) <= index < len(parts):
        raise OptionError(
            "`{option}` is {index}, but there are {n_parts}. Give one from {lowest} to {highest}.",
            option=name,
            index=index,
            n_parts=len(parts),
            lowest=-len(parts),
            highest=len(parts) - 1,
        )
    return parts[index]


@contextmanager
def _plain_attention(model: Any) -> Iterator[None]:  # noqa: ANN401 - of transformers
    """Inside, attention is computed so that its weights exist; afterwards no hook is left."""
    before = model.config._attn_implementation  # noqa: SLF001 - there is no public reader
    known = [(one, set(_hooks(one)), hasattr(one, _HOOKED)) for one in model.modules()]
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
