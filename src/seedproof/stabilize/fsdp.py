"""Tensors that FSDP2 has cut over ranks, and those that it has not, through the same functions."""

from typing import Any

import torch
from torch import Tensor


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor: all of it, unless FSDP2 has cut it."""
    # `to_local()` would put the tensor on the graph.
    return tensor._local_tensor if hasattr(tensor, "_local_tensor") else tensor  # noqa: SLF001 - see above


def whole(tensor: Tensor, original: Tensor) -> Tensor:
    """A tensor gathered from the ranks that hold parts of it, as its original is cut."""
    if not hasattr(original, "_local_tensor"):
        return tensor.detach()
    from torch.distributed.tensor import DTensor

    cut: Any = original
    return DTensor.from_local(
        tensor.detach(), cut.device_mesh, cut.placements, shape=cut.shape, stride=cut.stride()
    ).full_tensor()


def part(tensor: Tensor, original: Tensor) -> Tensor:
    """This rank's part of a whole tensor, cut as its original is."""
    if not hasattr(original, "_local_tensor"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    cut: Any = original
    moved = tensor.to(local(original).device)
    return local(distribute_tensor(moved, cut.device_mesh, cut.placements))


def add_over_ranks(total: Tensor, original: Tensor) -> None:
    """Add up what the ranks hold of a tensor that is cut."""
    if hasattr(original, "_local_tensor"):
        cut: Any = original
        for dim, placement in enumerate(cut.placements):
            if placement.is_shard():
                torch.distributed.all_reduce(total, group=cut.device_mesh.get_group(dim))
