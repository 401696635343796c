"""A second set of tensors beside a model's own: moved towards them, compared, traded with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

# On a CPU, a chunk of the difference stays in the cache; elsewhere, each chunk costs a launch.
CPU_CHUNK, DEVICE_CHUNK = 2**16, 2**24
# Differences are added up in 32 bits, this many, half onto half, and then in 64 bits: hardly less
# exact than in 64 bits from the start, and twice as fast.
ROWS = 64


class Shadow:
    """An average in the making: one tensor for each of the model's, in at least 32 bits.

    Under FSDP2 it holds this rank's shard of each.

    Args:
        tensors: The model's own, by name; they are never copied as modules, nor replaced.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.names = list(tensors)
        self._originals = list(tensors.values())
        self.values = [torch.empty(0)] * len(self._originals)
        self._stretches = [self._stretch(indices) for indices in _alike(self._originals)]
        self._raw: list[Tensor] | None = None

    def _stretch(self, indices: list[int]) -> "Stretch":
        """One piece of memory for tensors of a kind, so that they can be compared in one go."""
        locals_ = [local(self._originals[i]).detach() for i in indices]
        flat = torch.cat([_flat(one).to(_wide(one.dtype)) for one in locals_])
        ends = list(accumulate(one.numel() for one in locals_))
        for index, one, end in zip(indices, locals_, ends, strict=True):
            self.values[index] = flat[end - one.numel() : end].view(one.shape)
        return Stretch(flat, [self._originals[i] for i in indices])

    @property
    def device(self) -> torch.device:
        """Where the first of them lives; they may live in several places."""
        return self.values[0].device if self.values else torch.device("cpu")

    @property
    def is_cut(self) -> bool:
        """Whether the model's tensors are cut over ranks, and only parts are here."""
        return any(hasattr(original, "_local_tensor") for original in self._originals)

    @property
    def is_traded(self) -> bool:
        """Whether the model holds the average now, and its own weights are kept here."""
        return self._raw is not None

    def _pairs(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.values, map(local, self._originals), strict=True)

    @torch.no_grad()
    def move(self, weight: float | Tensor) -> None:
        """Move towards the model's weights: `average += weight · (weights − average)`.

        Args:
            weight: A number, or one on the device, which nobody has to wait for.
        """
        alike: tuple[list[Tensor], list[Tensor]] = ([], [])
        for value, original in self._pairs():
            if value.dtype == original.dtype:
                alike[0].append(value)
                alike[1].append(original)
            else:
                for mine, theirs in _chunks(value, original):
                    mine.lerp_(theirs.to(mine.dtype), _as(weight, mine))
        if not alike[0]:
            return
        if isinstance(weight, Tensor):
            weights = [_as(weight, value) for value in alike[0]]
            torch._foreach_lerp_(alike[0], alike[1], weights)
        else:
            torch._foreach_lerp_(alike[0], alike[1], weight)

    @torch.no_grad()
    def distance(self, order: int, names: Sequence[str] | None = None) -> Tensor:
        """How far the model is from the average, on the device, in 64 bits.

        Args:
            order: 1 for the sum of absolute differences; 2 for the Euclidean norm of each tensor,
                averaged over tensors.
            names: Which tensors; all without them.

        Returns:
            A tensor without axes, the same on all ranks.
        """
        if order == 1 and names is None:
            return torch.stack([one.distance().to(self.device) for one in self._stretches]).sum()
        chosen = [i for i, name in enumerate(self.names) if names is None or name in names]
        sums = torch.stack([self._sum(i, order) for i in chosen])
        for place, index in enumerate(chosen):
            _reduce(sums[place], self._originals[index])
        return sums.sum() if order == 1 else sums.sqrt().mean()

    def _sum(self, index: int, order: int) -> Tensor:
        """Sum of absolute or squared differences of one tensor, in 64 bits."""
        value, original = self.values[index], local(self._originals[index])
        total = torch.zeros((), dtype=torch.float64, device=value.device)
        for mine, theirs in _chunks(value, original):
            total += (mine - theirs).abs_().pow_(order).sum(dtype=torch.float64)
        return total

    def copies(self) -> dict[str, Tensor]:
        """A copy of what is here, by name: of this rank's part of it."""
        return {name: one.clone() for name, one in zip(self.names, self.values, strict=True)}

    def gathered(self, copies: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Whole tensors of such copies, from all ranks."""
        return self._gathered(copies[name] for name in self.names)

    def parts(self, wholes: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """This rank's parts of whole tensors, as `copies` gives them."""
        return {
            name: part(wholes[name], original).to(value, copy=True)
            for name, value, original in zip(self.names, self.values, self._originals, strict=True)
        }

    @torch.no_grad()
    def take_mean(self, snapshots: Sequence[Mapping[str, Tensor]]) -> None:
        """Become the mean of copies that were taken before."""
        for name, value in zip(self.names, self.values, strict=True):
            value.zero_()
            for snapshot in snapshots:
                value.add_(snapshot[name], alpha=1 / len(snapshots))

    @torch.no_grad()
    def assign(self) -> None:
        """Give the model the average; it is kept here as well."""
        for value, original in self._pairs():
            original.copy_(value)

    @torch.no_grad()
    def trade(self) -> None:
        """Trade places with the model, and back again: the same bits as before."""
        if self._raw is None:
            self._raw = []
            for value, original in self._pairs():
                if value.dtype == original.dtype:
                    _swap(value, original)
                else:
                    self._raw.append(original.clone())
                    original.copy_(value)
            return
        kept = iter(self._raw)
        for value, original in self._pairs():
            if value.dtype == original.dtype:
                _swap(value, original)
            else:
                original.copy_(next(kept))
        self._raw = None

    def keep_traded(self) -> None:
        """Let the model have what it traded for: from now on, its former weights are here."""
        if self._raw is not None:
            kept = iter(self._raw)
            for value, original in self._pairs():
                if value.dtype != original.dtype:
                    value.copy_(next(kept))
            self._raw = None

    @torch.no_grad()
    def equals_model(self) -> bool:
        """Whether the average is what the model has, bit by bit."""
        return all(torch.equal(value.to(o.dtype), o) for value, o in self._pairs())

    def averages(self) -> dict[str, Tensor]:
        """The whole average by name, gathered from all ranks."""
        if self._raw is None:
            return self._gathered(self.values)
        return self._gathered(
            [
                original if value.dtype == original.dtype else value
                for value, original in self._pairs()
            ]
        )

    def weights_of_model(self) -> dict[str, Tensor]:
        """A copy of what the model has now, by name, gathered from all ranks."""
        return self._gathered(map(local, self._originals))

    def raw(self) -> dict[str, Tensor] | None:
        """The model's own weights, if it does not hold them now."""
        if self._raw is None:
            return None
        kept = iter(self._raw)
        return self._gathered(
            [
                value if value.dtype == original.dtype else next(kept)
                for value, original in self._pairs()
            ]
        )

    def _gathered(self, tensors: Iterable[Tensor]) -> dict[str, Tensor]:
        return {
            name: whole(tensor, original).clone()
            for name, tensor, original in zip(self.names, tensors, self._originals, strict=True)
        }

    @torch.no_grad()
    def load(self, averages: Mapping[str, Tensor]) -> None:
        """Take over an average that was saved, on any number of ranks."""
        for name, value, original in zip(self.names, self.values, self._originals, strict=True):
            value.copy_(part(averages[name], original))

    @torch.no_grad()
    def load_model(self, weights: Mapping[str, Tensor]) -> None:
        """Give the model weights that were saved, on any number of ranks."""
        self._raw = None
        for name, original in zip(self.names, self._originals, strict=True):
            local(original).copy_(part(weights[name], original))


class Stretch:
    """Tensors of one dtype, device and way of being cut, in one piece of memory.

    Args:
        flat: The piece.
        originals: The model's own, in the order in which they lie in it.
    """

    def __init__(self, flat: Tensor, originals: list[Tensor]) -> None:
        self._flat = flat
        self._originals = originals
        self._size = CPU_CHUNK if flat.device.type == "cpu" else DEVICE_CHUNK
        # No more than a small part of the memory that the average itself takes.
        most = max(ROWS, flat.numel() // 32 // ROWS * ROWS)
        self._size = min(self._size, 2 ** (most.bit_length() - 1))
        self._plan = _plan([local(one).numel() for one in originals], self._size)
        self._buffer = torch.empty(self._size, dtype=flat.dtype, device=flat.device)

    def distance(self) -> Tensor:
        """Sum of absolute differences to the originals, in 64 bits, over all ranks."""
        theirs = [_flat(local(one)) for one in self._originals]
        shape = (len(self._plan), self._size // ROWS)
        sums = torch.zeros(shape, dtype=self._flat.dtype, device=self._flat.device)
        for row, (start, end, pieces) in enumerate(self._plan):
            mine, buffer = self._flat[start:end], self._buffer[: end - start]
            if len(pieces) == 1:
                index, first, last = pieces[0]
                torch.sub(mine, theirs[index][first:last], out=buffer)
            else:
                torch.cat([theirs[i][first:last] for i, first, last in pieces], out=buffer)
                buffer.sub_(mine)
            self._buffer[end - start :].zero_()
            sums[row] = _halved(self._buffer.abs_(), ROWS)
        total = sums.sum(dtype=torch.float64)
        _reduce(total, self._originals[0])
        return total


def _plan(sizes: list[int], chunk: int) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    """Chunks of a stretch: where each begins and ends, and which parts of tensors it holds."""
    pieces: list[list[tuple[int, int, int]]] = [[]]
    room = chunk
    for index, size in enumerate(sizes):
        first = 0
        while first < size:
            if room == 0:
                pieces.append([])
                room = chunk
            last = min(size, first + room)
            pieces[-1].append((index, first, last))
            room -= last - first
            first = last
    ends = list(accumulate(sum(last - first for _, first, last in one) for one in pieces))
    spans = zip([0, *ends], ends, pieces, strict=False)
    return [(start, end, one) for start, end, one in spans if one]


def _halved(values: Tensor, times: int) -> Tensor:
    """Values added up in place, half onto half, until there are `times` fewer."""
    half = values.numel() // 2
    while half * times >= values.numel():
        values[:half].add_(values[half : 2 * half])
        half //= 2
    return values[: values.numel() // times]


def _alike(originals: Sequence[Tensor]) -> list[list[int]]:
    """Indices of tensors that can share a stretch."""
    groups: dict[Any, list[int]] = {}
    for index, original in enumerate(originals):
        one: Any = original
        cut = (one.device_mesh, one.placements) if hasattr(one, "_local_tensor") else None
        groups.setdefault((_wide(one.dtype), local(one).device, cut), []).append(index)
    return list(groups.values())


def _wide(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32


def _flat(tensor: Tensor) -> Tensor:
    """A tensor without axes but one; a copy only if its memory has gaps or another order."""
    return tensor.reshape(-1)


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


def _as(weight: float | Tensor, like: Tensor) -> Any:  # noqa: ANN401 - a number, or one on a device
    return weight.to(like.device, like.dtype) if isinstance(weight, Tensor) else weight


def _chunks(one: Tensor, two: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
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


def _swap(one: Tensor, two: Tensor) -> None:
    for mine, theirs in _chunks(one, two):
        kept = mine.clone()
        mine.copy_(theirs)
        theirs.copy_(kept)


def _reduce(total: Tensor, original: Tensor) -> None:
    """Add up what the ranks hold of a tensor that is cut."""
    if hasattr(original, "_local_tensor"):
        cut: Any = original
        for dim, placement in enumerate(cut.placements):
            if placement.is_shard():
                torch.distributed.all_reduce(total, group=cut.device_mesh.get_group(dim))
