"""How far a model is from an average: read once, on the device, exact to 1e-9."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from seedproof.stabilize.fsdp import add_over_ranks, local

# On a CPU, a chunk stays in the cache; elsewhere, each chunk costs a launch.
CPU_CHUNK, DEVICE_CHUNK = 2**16, 2**24
# Rows of so many numbers are added up in 32 bits, four chunks in a call; few numbers never are.
ROW, ROWS_AT_ONCE, FEW = 8, 2**15, 2**14
# Smaller tensors are compared together: a call costs more than their few numbers.
SMALL = 2**12


class SumOfDifferences:
    """Sum of absolute differences between tensors and the model's own, in 64 bits.

    Args:
        values: The tensors; changed in place, never replaced.
        originals: The model's own, in the same order.
    """

    def __init__(self, values: Sequence[Tensor], originals: Sequence[Tensor]) -> None:
        self._device = values[0].device
        self._parts = [
            _groups([(values[i].view(-1), originals[i]) for i in alike])
            for alike in _alike(originals)
        ]

    @torch.no_grad()
    def __call__(self) -> Tensor:
        """A tensor without axes, the same on all ranks."""
        sums = []
        for groups in self._parts:
            total = torch.stack([_distance(*_joined(group)) for group in groups]).sum()
            add_over_ranks(total, groups[0][0][1])
            sums.append(total.to(self._device))
        return torch.stack(sums).sum()


def _alike(originals: Sequence[Tensor]) -> list[list[int]]:
    """Indices of tensors of one dtype, device and way of being cut."""
    found: dict[Any, list[int]] = {}
    for index, original in enumerate(originals):
        one: Any = original
        cut = (one.device_mesh, one.placements) if hasattr(one, "_local_tensor") else None
        found.setdefault((one.dtype, local(one).device, cut), []).append(index)
    return list(found.values())


def _groups(pairs: list[tuple[Tensor, Tensor]]) -> list[list[tuple[Tensor, Tensor]]]:
    """Tensors that are compared in one go: large ones alone, small ones together."""
    # What is put together takes no more than a small part of the memory of all.
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
    """Both sides of a group, flat; copies only of small tensors and where memory has gaps."""
    mine = [value for value, _ in group]
    theirs = [_flat(local(original)) for _, original in group]
    return (mine[0], theirs[0]) if len(group) == 1 else (torch.cat(mine), torch.cat(theirs))


def _flat(tensor: Tensor) -> Tensor:
    return tensor if tensor.dim() == 1 else tensor.reshape(-1)


def _distance(mine: Tensor, theirs: Tensor) -> Tensor:
    """Sum of absolute differences of two flat tensors, in 64 bits."""
    if mine.numel() > (most := _most_at_once(mine)):
        chunks = zip(torch.split(mine, most), torch.split(theirs, most), strict=True)
        return torch.stack([_distance(*both) for both in chunks]).sum()
    if mine.device.type != "cpu" or mine.dtype != theirs.dtype or mine.numel() < FEW:
        return (mine - theirs).abs_().sum(dtype=torch.float64)
    if rest := mine.numel() % ROW:
        return _distance(mine[:-rest], theirs[:-rest]) + _distance(mine[-rest:], theirs[-rest:])
    # Subtracts, takes absolute values and adds up each row in one pass over the memory; the sums of
    # rows err in both directions, and together by 1e-9.
    rows = torch.cdist(mine.view(-1, 1, ROW), theirs.view(-1, 1, ROW), p=1.0)
    return rows.sum(dtype=torch.float64)


def _most_at_once(tensor: Tensor) -> int:
    return ROW * ROWS_AT_ONCE if tensor.device.type == "cpu" else DEVICE_CHUNK


class MeanNorm:
    """Euclidean norm of the differences of each tensor, averaged over tensors, in 64 bits.

    Args:
        values: The tensors; changed in place, never replaced.
        originals: The model's own, in the same order.
    """

    def __init__(self, values: Sequence[Tensor], originals: Sequence[Tensor]) -> None:
        self._pairs = list(zip(values, originals, strict=True))

    @torch.no_grad()
    def __call__(self) -> Tensor:
        """A tensor without axes, the same on all ranks."""
        device = self._pairs[0][0].device
        return torch.stack([self._norm(*pair).to(device) for pair in self._pairs]).mean()

    def _norm(self, value: Tensor, original: Tensor) -> Tensor:
        squares = torch.zeros((), dtype=torch.float64, device=value.device)
        for mine, theirs in chunks_of(value, local(original)):
            squares += (mine - theirs).square_().sum(dtype=torch.float64)
        add_over_ranks(squares, original)
        return squares.sqrt()


def chunks_of(one: Tensor, two: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Both tensors flat, in pieces."""
    size = CPU_CHUNK if one.device.type == "cpu" else DEVICE_CHUNK
    # Memory of one and the same layout can be walked through in any order.
    if one.is_contiguous() and two.is_contiguous():
        yield from zip(
            torch.split(one.view(-1), size), torch.split(two.view(-1), size), strict=True
        )
    else:
        for mine, theirs in zip(one.unbind(0), two.unbind(0), strict=True):
            yield from _chunks_of_any(mine, theirs, size)


def _chunks_of_any(one: Tensor, two: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    if one.numel() <= size or one.dim() == 0:
        yield one, two
    else:
        for mine, theirs in zip(one.unbind(0), two.unbind(0), strict=True):
            yield from _chunks_of_any(mine, theirs, size)
