"""How models are asked, and left as they were.

What can be explained is a module of torch that

- is called with token numbers and a boolean mask, both with the axes (texts, positions), and gives
  logits with the axes (texts, classes), or anything with such `logits`; two classes may share one
  column;
- for gradients, has the module `embedding`, whose output is the vectors of the tokens, and which
  is called once a forward pass;
- for attention, gives an answer with `attention` beside its `logits`, of the axes (texts,
  positions); and for cutting the graph there, has the module `score`, on whose output alone the
  attention depends.

Classifiers of Hugging Face's transformers are asked in their own way, and need nothing of it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seedproof.errors import InputError, OptionError, ShapeError

ReplaceOutput = Callable[[Tensor], Tensor]


class TakesLengths(nn.Module):
    """A model that is told the length of each text, as one that is told a mask.

    Its `embedding` and `score`, if it has them, are those of the model.

    Args:
        model: Called with token numbers, and with how many positions of each text are real; these
            come first.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        for name in ("embedding", "score"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def forward(self, tokens: Tensor, mask: Tensor) -> Any:  # noqa: ANN401 - what the model gives
        """What the model says."""
        return self.model(tokens, mask.sum(dim=1))


def is_transformer(model: nn.Module) -> bool:
    """Whether a model is one of Hugging Face's."""
    return hasattr(model, "get_input_embeddings")


def logits_of(model: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    """What a model says of each class, axes (texts, classes).

    Args:
        model: The model.
        tokens: Numbers of tokens, axes (texts, positions).
        mask: Which are real.

    Returns:
        Logits.

    Raises:
        ShapeError: They have other axes.
    """
    if is_transformer(model):
        answer = model(input_ids=tokens, attention_mask=mask.long())
    else:
        answer = model(tokens, mask)
    logits: Tensor = getattr(answer, "logits", answer)
    shape = tuple(logits.shape)
    if len(shape) != 2 or shape[0] != len(tokens):
        raise ShapeError(
            "The model gave logits of shape {shape!s} for {n_texts} texts. "
            "It must give the axes (texts, classes).",
            shape=shape,
            n_texts=len(tokens),
        )
    return logits


def probs_of(model: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    """Probabilities, axes (texts, classes): two classes where the model has one logit.

    Args:
        model: The model.
        tokens: Numbers of tokens, axes (texts, positions).
        mask: Which are real.

    Returns:
        Rows that sum to 1.
    """
    logits = logits_of(model, tokens, mask)
    if logits.shape[1] > 1:
        return logits.softmax(dim=1)
    return torch.cat([-logits, logits], dim=1).sigmoid()


def log_odds(logits: Tensor, targets: Tensor) -> Tensor:
    """ln(p/(1−p)) of one class a text: unlike p itself, it does not flatten where a model is sure.

    Args:
        logits: Axes (texts, classes); one column for two classes.
        targets: One class a text.

    Returns:
        One number a text.
    """
    if logits.shape[1] == 1:
        return torch.where(targets == 1, logits[:, 0], -logits[:, 0])
    own = logits.gather(1, targets[:, None]).squeeze(1)
    is_own = nn.functional.one_hot(targets, logits.shape[1]).bool()
    return own - logits.masked_fill(is_own, -torch.inf).logsumexp(dim=1)


def chosen_targets(probs: Tensor, targets: Tensor | None) -> Tensor:
    """The class to explain for each text: the given one, or the most probable.

    Args:
        probs: Axes (texts, classes).
        targets: One class a text, or nothing.

    Returns:
        One class a text.

    Raises:
        OptionError: There is no such class.
    """
    if targets is None:
        return probs.argmax(dim=1)
    n_classes = probs.shape[1]
    wrong = targets[(targets < 0) | (targets >= n_classes)]
    if len(wrong):
        raise OptionError(
            "Class {class_idx} was to be explained, but the model knows {n_classes} classes. "
            "Give targets from 0 to {highest}.",
            class_idx=int(wrong[0]),
            n_classes=n_classes,
            highest=n_classes - 1,
        )
    return targets.long()


def module_of(model: nn.Module, name: str, purpose: str) -> nn.Module:
    """A part of a model, by the name that it must have.

    Args:
        model: The model.
        name: `embedding` or `score`.
        purpose: What needs it, for the message.

    Returns:
        The part.

    Raises:
        InputError: There is no such part.
    """
    if name == "embedding" and is_transformer(model):
        part = model.get_input_embeddings()  # type: ignore[operator] # a method
    else:
        part = getattr(model, name, None)
    if not isinstance(part, nn.Module):
        raise InputError(
            "{purpose} needs the module `{module}` of the model, and {type_name} has "
            "none. Give the model such an attribute, or use another explainer.",
            purpose=purpose,
            module=name,
            type_name=type(model).__name__,
        )
    return part


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Inside, the model predicts: no dropout. Afterwards every part is in the mode that it was in.

    Args:
        model: The model.

    Yields:
        Nothing.
    """
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training


@contextmanager
def replaced_output(module: nn.Module, replace: ReplaceOutput, name: str) -> Iterator[None]:
    """Inside, a module gives something else than it computes; it must be called once a pass.

    Args:
        module: A part of a model.
        replace: Gives the new output from the old one.
        name: What the part is called, for messages.

    Yields:
        Nothing.

    Raises:
        InputError: The module was never called inside.
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
            "The model called its `{module}` {n_calls} times in one pass, so its output cannot be "
            "followed. A model that is explained by gradients must call it once.",
            module=name,
            n_calls=n_calls,
        )
