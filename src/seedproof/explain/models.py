"""Calls of models, which are left unchanged.

A model that can be explained is a torch module that

- takes token ids and a boolean mask, both with the axes (texts, positions), and returns logits with
  the axes (texts, classes), or an object with such `logits`; two classes may share one column;
- for gradients, has the module `embedding`, whose output is the vectors of the tokens, and which is
  called once per forward pass;
- for attention, returns an object with `attention` along with its `logits`, of the axes (texts,
  positions); and for cutting the graph there, has the module `score`, on whose output alone the
  attention depends.

Classifiers of Hugging Face's transformers need none of this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seedproof.errors import InputError, OptionError, ShapeError

ReplaceOutput = Callable[[Tensor], Tensor]


class TakesLengths(nn.Module):
    """Adapter for a model that takes the length of each text instead of a mask.

    Its `embedding` and `score`, if it has them, are those of the model.

    Args:
        model: Takes token ids, and the number of real positions per text; these come first.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        for name in ("embedding", "score"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def forward(self, tokens: Tensor, mask: Tensor) -> Any:  # noqa: ANN401 - what the model gives
        """Call the model."""
        return self.model(tokens, mask.sum(dim=1))


def is_transformer(model: nn.Module) -> bool:
    """Return whether a model is one of Hugging Face's."""
    return hasattr(model, "get_input_embeddings")


def logits_of(model: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    """Return the logits of a model, axes (texts, classes)."""
    if is_transformer(model):
        answer = model(input_ids=tokens, attention_mask=mask.long())
    else:
        answer = model(tokens, mask)
    logits: Tensor = getattr(answer, "logits", answer)
    shape = tuple(logits.shape)
    if len(shape) != 2 or shape[0] != len(tokens):
        raise ShapeError(
            "The model returned logits of shape {shape!s} for {n_texts} texts. "
            "They must have the axes (texts, classes).",
            shape=shape,
            n_texts=len(tokens),
        )
    return logits


def probs_of(model: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    """Return probabilities, axes (texts, classes): two classes where the model has one logit."""
    return probs_from(logits_of(model, tokens, mask))


def probs_from(logits: Tensor) -> Tensor:
    """Return probabilities, with the classes on the last axis: two from a single logit."""
    if logits.shape[-1] > 1:
        return logits.softmax(dim=-1)
    return torch.cat([-logits, logits], dim=-1).sigmoid()


def log_odds(logits: Tensor, targets: Tensor) -> Tensor:
    """Return ln(p/(1−p)) of one class per text: unlike p, it does not saturate.

    Logits have the classes on their last axis, or one column for two classes.
    """
    if logits.shape[-1] == 1:
        return torch.where(targets == 1, logits[..., 0], -logits[..., 0])
    own = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    is_own = nn.functional.one_hot(targets, logits.shape[-1]).bool()
    return own - logits.masked_fill(is_own, -torch.inf).logsumexp(dim=-1)


def chosen_targets(probs: Tensor, targets: Tensor | None) -> Tensor:
    """Return the class to explain for each text: the given one, or the most probable."""
    if targets is None:
        return probs.argmax(dim=1)
    n_classes = probs.shape[1]
    wrong = targets[(targets < 0) | (targets >= n_classes)]
    if len(wrong):
        raise OptionError(
            "Target class {class_idx} does not exist: the model has {n_classes} classes. "
            "Pass targets from 0 to {highest}.",
            class_idx=int(wrong[0]),
            n_classes=n_classes,
            highest=n_classes - 1,
        )
    return targets.long()


def module_of(model: nn.Module, name: str, purpose: str) -> nn.Module:
    """Return the module `embedding` or `score` of a model; the error message has the purpose."""
    if name == "embedding" and is_transformer(model):
        part = model.get_input_embeddings()  # type: ignore[operator] # a method
    else:
        part = getattr(model, name, None)
    if not isinstance(part, nn.Module):
        raise InputError(
            "{purpose} needs the module `{module}`, and {type_name} does not have it. "
            "Add this attribute to the model, or use another explainer.",
            purpose=purpose,
            module=name,
            type_name=type(model).__name__,
        )
    return part


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and restore the mode of every module afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training


@contextmanager
def replaced_output(module: nn.Module, replace: ReplaceOutput, name: str) -> Iterator[None]:
    """Replace the output of a module inside; it must be called exactly once.

    `name` is that of the module in messages.
    """
    n_calls = 0

    def hook(_module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
        nonlocal n_calls
        n_calls += 1
        return replace(output)

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
    if n_calls != 1:
        raise InputError(
            "The model called its `{module}` {n_calls} times in one pass. To be explained, "
            "it must call it once.",
            module=name,
            n_calls=n_calls,
        )
