"""The same functions for tensors that FSDP2 shards over ranks and for whole ones."""

from typing import Any

import torch
from torch import Tensor


def is_sharded(tensor: Tensor) -> bool:
    """Return whether FSDP2 shards a tensor over ranks."""
    return hasattr(tensor, "_local_tensor")


def local(tensor: Tensor) -> Tensor:
    """Return this rank's shard of a tensor, or all of it if it is not sharded."""
    # `to_local()` would put the tensor on the graph.
    shard: Tensor = getattr(tensor, "_local_tensor", tensor)
    return shard


def whole(tensor: Tensor, original: Tensor) -> Tensor:
    """Gather a tensor from the ranks, if its original is sharded."""
    if not is_sharded(original):
        return tensor.detach()
    from torch.distributed.tensor import DTensor

    layout: Any = original
    return DTensor.from_local(
        tensor.detach(),
        layout.device_mesh,
        layout.placements,
        shape=layout.shape,
        stride=layout.stride(),
    ).full_tensor()


def part(tensor: Tensor, original: Tensor) -> Tensor:
    """Return this rank's shard of a whole tensor, sharded like its original."""
    if not is_sharded(original):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    layout: Any = original
    moved = tensor.to(local(original).device)
    return local(distribute_tensor(moved, layout.device_mesh, layout.placements))


def add_over_ranks(total: Tensor, original: Tensor) -> None:
    """Add up, in place, the totals of the ranks that hold shards of a tensor."""
    if is_sharded(original):
        layout: Any = original
        for dim, placement in enumerate(layout.placements):
            if placement.is_shard():
                torch.distributed.all_reduce(total, group=layout.device_mesh.get_group(dim))
