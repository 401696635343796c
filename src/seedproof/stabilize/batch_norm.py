"""Batch-norm statistics belong to the weights they were collected under."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from seedproof.errors import OptionError
from seedproof.stabilize.evaluation_mode import evaluating

Forward = Callable[[Any], object]


def tracked(model: nn.Module) -> list[tuple[str, _NormBase]]:
    """Layers that keep running statistics, by name."""
    return [
        (name, layer)
        for name, layer in model.named_modules()
        if isinstance(layer, _NormBase) and layer.running_mean is not None
    ]


def statistics(model: nn.Module) -> dict[str, Tensor]:
    """Running means and variances by name: what can be averaged like weights."""
    found = {}
    for name, layer in tracked(model):
        for kind in ("running_mean", "running_var"):
            found[f"{name}.{kind}" if name else kind] = getattr(layer, kind)
    return found


@torch.no_grad()
def refresh(model: nn.Module, batches: Iterable[Any], *, forward: Forward | None = None) -> None:
    """Compute running statistics anew, as the mean over batches, for the weights of now.

    Nothing is drawn and no flag is changed for good: other layers work as in evaluation.

    Args:
        model: The model.
        batches: What it is called with: tensors, tuples whose first part is the input, or
            mappings of arguments. They must be where the model is.
        forward: How a batch goes through the model, where that is not how.

    Raises:
        OptionError: There were no batches. As after every error, statistics are as before.
    """
    layers = [layer for _, layer in tracked(model)]
    if not layers:
        return
    go = _forward(model) if forward is None else forward
    with _only_these_train(model, layers), _as_before_if_it_fails(layers):
        n_batches = 0
        for batch in batches:
            n_batches += 1
            for layer in layers:
                # A mean over all batches, instead of one that forgets. Batch norm counts by itself;
                # instance norm takes None for "learn nothing".
                layer.momentum = None if isinstance(layer, _BatchNorm) else 1 / n_batches
            go(batch)
        if n_batches == 0:
            raise OptionError("Batch-norm statistics need at least one batch; none was given.")


@contextmanager
def _only_these_train(model: nn.Module, layers: list[_NormBase]) -> Iterator[None]:
    momenta = {layer: layer.momentum for layer in layers}
    with evaluating(model):
        for layer in layers:
            layer.training = True
        try:
            yield
        finally:
            for layer, momentum in momenta.items():
                layer.momentum = momentum


@contextmanager
def _as_before_if_it_fails(layers: list[_NormBase]) -> Iterator[None]:
    kept = [(buffer, buffer.clone()) for layer in layers for buffer in layer.buffers()]
    for layer in layers:
        layer.reset_running_stats()
    try:
        yield
    except BaseException:
        for buffer, before in kept:
            buffer.copy_(before)
        raise


def _forward(model: nn.Module) -> Forward:
    def go(batch: Any) -> object:  # noqa: ANN401 - whatever a loader gives
        if isinstance(batch, Mapping):
            return model(**batch)
        if isinstance(batch, list | tuple):
            return model(batch[0])
        return model(batch)

    return go
