"""Distance between a model and an average: one pass over memory, on the device, exact to 1e-9."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from seedproof.stabilize.fsdp import add_over_ranks, is_sharded, local

# On a CPU a chunk stays in the cache; on other devices each chunk costs a kernel launch.
CPU_CHUNK, DEVICE_CHUNK = 2**16, 2**24
# Rows of this many numbers are added up in 32 bits, four chunks per call. Short tensors never are.
ROW, ROWS_AT_ONCE, FEW = 8, 2**15, 2**14
# Smaller tensors are compared together: a call costs more than their few numbers.
SMALL = 2**12


class SumOfDifferences:
    """Sum of absolute differences between tensors and the model's own, in 64 bits.

    The tensors change in place and are never replaced.
    """

    def __init__(self, values: Sequence[Tensor], originals: Sequence[Tensor]) -> None:
        self._device = values[0].device
        self._parts = [
            _groups([(values[index].view(-1), originals[index]) for index in alike])
            for alike in _alike(originals)
        ]

    @torch.no_grad()
    def __call__(self) -> Tensor:
        """Return the current distance, the same on all ranks."""
        sums = []
        for groups in self._parts:
            total = torch.stack([_distance(*_joined(group)) for group in groups]).sum()
            add_over_ranks(total, groups[0][0][1])
            sums.append(total.to(self._device))
        return torch.stack(sums).sum()


def _alike(originals: Sequence[Tensor]) -> list[list[int]]:
    """Indices of tensors that have the same dtype, device and sharding."""
    groups: dict[Any, list[int]] = {}
    for index, original in enumerate(originals):
        layout: Any = original
        sharding = (layout.device_mesh, layout.placements) if is_sharded(original) else None
        key = (original.dtype, local(original).device, sharding)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _groups(pairs: list[tuple[Tensor, Tensor]]) -> list[list[tuple[Tensor, Tensor]]]:
    """Tensors that are compared in one call: large ones alone, small ones together."""
    # Joined copies take no more than a small part of the memory of all tensors.
    most = max(SMALL, min(CPU_CHUNK, sum(value.numel() for value, _ in pairs) // 32))
    groups = [[pair] for pair in pairs if pair[0].numel() >= SMALL]
    room = 0
    for pair in pairs:
        if (size := pair[0].numel()) < SMALL:
            if size > room or not groups:
                groups.append([])
                room = most
            groups[-1].append(pair)
            room -= size
    return groups


def _joined(group: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Both sides of a group, flat; copies only small tensors and those with gaps in memory."""
    values = [value for value, _ in group]
    originals = [local(original) for _, original in group]
    flat = [tensor if tensor.dim() == 1 else tensor.reshape(-1) for tensor in originals]
    return (values[0], flat[0]) if len(group) == 1 else (torch.cat(values), torch.cat(flat))


def _distance(first: Tensor, second: Tensor) -> Tensor:
    """Sum of absolute differences of two flat tensors, in 64 bits."""
    is_on_cpu = first.device.type == "cpu"
    if first.numel() > (most := ROW * ROWS_AT_ONCE if is_on_cpu else DEVICE_CHUNK):
        chunks = zip(torch.split(first, most), torch.split(second, most), strict=True)
        return torch.stack([_distance(*both) for both in chunks]).sum()
    if not is_on_cpu or first.dtype != second.dtype or first.numel() < FEW:
        return (first - second).abs_().sum(dtype=torch.float64)
    if rest := first.numel() % ROW:
        return _distance(first[:-rest], second[:-rest]) + _distance(first[-rest:], second[-rest:])
    # Subtracts, takes absolute values and adds up each row in one pass over the memory. Rounding
    # errors of rows have both signs, and together are below 1e-9.
    rows = torch.cdist(first.view(-1, 1, ROW), second.view(-1, 1, ROW), p=1.0)
    return rows.sum(dtype=torch.float64)


class MeanNorm:
    """Euclidean norm of the differences of each tensor, averaged over tensors, in 64 bits.

    The tensors change in place and are never replaced.
    """

    def __init__(self, values: Sequence[Tensor], originals: Sequence[Tensor]) -> None:
        self._pairs = list(zip(values, originals, strict=True))

    @torch.no_grad()
    def __call__(self) -> Tensor:
        """Return the current distance, the same on all ranks."""
        device = self._pairs[0][0].device
        return torch.stack([self._norm(*pair).to(device) for pair in self._pairs]).mean()

    def _norm(self, value: Tensor, original: Tensor) -> Tensor:
        squares = torch.zeros((), dtype=torch.float64, device=value.device)
        for chunk, other in chunks_of(value, local(original)):
            squares += (chunk - other).square_().sum(dtype=torch.float64)
        add_over_ranks(squares, original)
        return squares.sqrt()


def chunks_of(first: Tensor, second: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield matching pieces of two tensors of the same shape."""
    size = CPU_CHUNK if first.device.type == "cpu" else DEVICE_CHUNK
    if first.is_contiguous() and second.is_contiguous():
        flat = [torch.split(tensor.view(-1), size) for tensor in (first, second)]
        yield from zip(*flat, strict=True)
    else:
        yield from _unbound(first, second, size)


def _unbound(first: Tensor, second: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Pieces of tensors with different memory layouts, by their first axis."""
    for piece, other in zip(first.unbind(0), second.unbind(0), strict=True):
        if piece.numel() <= size or piece.dim() == 0:
            yield piece, other
        else:
            yield from _unbound(piece, other, size)
