"""The tensors of a model that are averaged, by name."""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from seedproof.stabilize import batch_norm
from seedproof.stabilize.policy import Policy


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model without DDP and compile, so that a checkpoint fits with and without."""
    while True:
        if isinstance(model, DataParallel | DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def trained(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters that an optimizer may change."""
    return _by_name(
        (name, parameter)
        for name, parameter in unwrapped(model).named_parameters()
        if parameter.requires_grad and parameter.is_floating_point()
    )


def tracked(model: nn.Module, policy: Policy) -> dict[str, Tensor]:
    """Return trained parameters, and batch-norm statistics if the policy averages them."""
    tensors = trained(model)
    if tensors and policy.batch_norm == "average":
        tensors |= _by_name(batch_norm.statistics(unwrapped(model)).items())
    return tensors


def _by_name(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Return tensors under the names that they have if no part of the model is compiled."""
    return {name.replace("_orig_mod.", ""): tensor for name, tensor in tensors}
