"""Batch-norm statistics belong to the weights they were collected under."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from seedproof.errors import OptionError

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
        OptionError: There were no batches.
    """
    layers = [layer for _, layer in tracked(model)]
    if not layers:
        return
    with _only_these_train(model, layers):
        n_batches = 0
        for batch in batches:
            (forward or _forward(model))(batch)
            n_batches += 1
    if n_batches == 0:
        raise OptionError("Batch-norm statistics need at least one batch; none was given.")


@contextmanager
def _only_these_train(model: nn.Module, layers: list[_NormBase]) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    momenta = {layer: layer.momentum for layer in layers}
    for module in modes:
        module.training = False
    for layer in layers:
        layer.training = True
        layer.reset_running_stats()
        # A mean over all batches, instead of one that forgets.
        layer.momentum = None
    try:
        yield
    finally:
        for layer, momentum in momenta.items():
            layer.momentum = momentum
        for module, mode in modes.items():
            module.training = mode


def _forward(model: nn.Module) -> Forward:
    def go(batch: Any) -> object:  # noqa: ANN401 - whatever a loader gives
        if isinstance(batch, Mapping):
            return model(**batch)
        if isinstance(batch, list | tuple):
            return model(batch[0])
        return model(batch)

    return go
