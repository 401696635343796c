"""Batch-norm statistics belong to the weights they were collected under."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.stabilize.policy import Mean, Policy


def tracked(model: nn.Module) -> dict[str, _NormBase]:
    """Return the layers that keep running statistics, by name."""
    return {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, _NormBase) and layer.running_mean is not None
    }


def statistics(model: nn.Module) -> dict[str, Tensor]:
    """Return running means and variances by name; they can be averaged like weights."""
    return {
        f"{name}.{kind}" if name else kind: getattr(layer, kind)
        for name, layer in tracked(model).items()
        for kind in ("running_mean", "running_var")
    }


def caution(policy: Policy) -> Message | None:
    """Return what may be wrong with statistics that no data have refreshed."""
    if policy.batch_norm == "refresh":
        return Message(
            "stale-batch-norm",
            "Batch-norm statistics belong to other weights. Pass batches to refresh them, or set "
            'batch_norm="average" or "copy".',
        )
    is_over_steps = isinstance(policy.weighing, Mean) and policy.enters != "epoch-end"
    if policy.batch_norm == "average" and is_over_steps:
        return Message(
            "averaged-batch-norm",
            "Batch-norm statistics are means over all steps, the first ones included, so the "
            'accuracy may be too low. Pass batches to refresh them, or set batch_norm="copy".',
        )
    return None


@torch.no_grad()
def refresh(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    forward: Callable[[Any], object] | None = None,
) -> None:
    """Recompute running statistics for the current weights, as the mean over batches.

    Batches are inputs, tuples that begin with the input, or mappings of arguments; `forward`
    handles others. All other layers are in evaluation mode. On errors, among them an OptionError
    if there are no batches, the statistics stay as they were.
    """
    layers = list(tracked(model).values())
    if not layers:
        return
    forward = partial(_forward, model) if forward is None else forward
    with _training_only(model, layers), _restored_on_error(layers):
        n_batches = 0
        for batch in batches:
            n_batches += 1
            for layer in layers:
                # A mean over all batches instead of a moving one. Batch norm counts by itself;
                # instance norm does not update at all if the momentum is None.
                layer.momentum = None if isinstance(layer, _BatchNorm) else 1 / n_batches
            forward(batch)
        if n_batches == 0:
            raise OptionError("Batch-norm statistics need at least one batch; none was given.")


def _forward(model: nn.Module, batch: Any) -> object:  # noqa: ANN401 - any output of a loader
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(batch[0] if isinstance(batch, list | tuple) else batch)


@contextmanager
def _training_only(model: nn.Module, layers: list[_NormBase]) -> Iterator[None]:
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
def _restored_on_error(layers: list[_NormBase]) -> Iterator[None]:
    saved = [(buffer, buffer.clone()) for layer in layers for buffer in layer.buffers()]
    for layer in layers:
        layer.reset_running_stats()
    try:
        yield
    except BaseException:
        for buffer, before in saved:
            buffer.copy_(before)
        raise
