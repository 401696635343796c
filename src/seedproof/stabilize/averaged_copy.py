"""A second set of a model's tensors: moved towards them, compared and swapped with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from seedproof.stabilize.distance import MeanNorm, SumOfDifferences, chunks_of
from seedproof.stabilize.fsdp import is_sharded, local, part, whole
from seedproof.stabilize.travel import sample


class AveragedCopy:
    """The average: one tensor for each of the model's, in at least 32 bits.

    The model's own tensors are never replaced. Under FSDP2 the copy holds this rank's shards.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.names = list(tensors)
        self._originals = list(tensors.values())
        self.values = [
            local(tensor)
            .detach()
            .to(_wide(tensor.dtype), copy=True, memory_format=torch.contiguous_format)
            for tensor in self._originals
        ]
        # While the model holds the average: its own weights that `values` cannot hold, by index.
        self._raw: dict[int, Tensor] | None = None

    @property
    def device(self) -> torch.device:
        """The device of the first tensor; the others may be elsewhere."""
        return self.values[0].device if self.values else torch.device("cpu")

    @property
    def is_sharded(self) -> bool:
        """True if FSDP2 shards the model's tensors."""
        return any(map(is_sharded, self._originals))

    @property
    def is_swapped(self) -> bool:
        """True while the model holds the average, and its own weights are kept here."""
        return self._raw is not None

    def _pairs(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(self.values, map(local, self._originals), strict=True)

    @torch.no_grad()
    def move(self, weight: float | Tensor) -> None:
        """Move towards the model's weights: `average += weight · (weights − average)`.

        A weight on the device needs no synchronization.
        """
        values, originals = [], []
        for value, original in self._pairs():
            if value.dtype == original.dtype:
                values.append(value)
                originals.append(original)
            else:
                for chunk, other in chunks_of(value, original):
                    chunk.lerp_(other.to(chunk.dtype), _as(weight, chunk))
        if not values:
            return
        if isinstance(weight, Tensor):
            torch._foreach_lerp_(values, originals, [_as(weight, value) for value in values])
        else:
            torch._foreach_lerp_(values, originals, weight)

    def distance(
        self, order: int, names: Sequence[str] | None = None
    ) -> SumOfDifferences | MeanNorm:
        """Return a function that measures how far the model is from the average now.

        The order is 1 for the sum of absolute differences, 2 for the mean Euclidean norm. The
        result has 64 bits and is the same on all ranks.
        """
        chosen = [i for i, name in enumerate(self.names) if names is None or name in names]
        measure = SumOfDifferences if order == 1 else MeanNorm
        return measure([self.values[i] for i in chosen], [self._originals[i] for i in chosen])

    @torch.no_grad()
    def take_model(self) -> None:
        """Copy the model's weights into the average."""
        for value, original in self._pairs():
            value.copy_(original)

    def versions(self) -> list[int]:
        """Return how often each parameter was written, without waiting for the device."""
        parameters = [local(o) for o in self._originals if isinstance(o, nn.Parameter)]
        return [parameter._version for parameter in parameters]  # noqa: SLF001 - torch has no other

    def samples(self) -> tuple[Tensor, Tensor]:
        """Return some weights of the average and of the model, of the same places; none if sharded.

        Batch-norm statistics are left out: their scale is that of the data.
        """
        pairs = [] if self.is_sharded else [*zip(self.values, self._originals, strict=True)]
        weights = [pair for pair in pairs if isinstance(pair[1], nn.Parameter)]
        return sample([value for value, _ in weights]), sample([own for _, own in weights])

    def copies(self) -> dict[str, Tensor]:
        """Return a copy of this rank's part of the average, by name."""
        return {name: value.clone() for name, value in zip(self.names, self.values, strict=True)}

    def gathered(self, copies: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the whole tensors of such copies, from all ranks."""
        return self._gathered(copies[name] for name in self.names)

    def parts(self, wholes: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return this rank's parts of whole tensors: the inverse of `gathered`."""
        return {
            name: part(wholes[name], original).to(value, copy=True)
            for name, value, original in zip(self.names, self.values, self._originals, strict=True)
        }

    @torch.no_grad()
    def take_mean(self, snapshots: Sequence[Mapping[str, Tensor]]) -> None:
        """Become the mean of earlier copies."""
        for name, value in zip(self.names, self.values, strict=True):
            value.zero_()
            for snapshot in snapshots:
                value.add_(snapshot[name], alpha=1 / len(snapshots))

    @torch.no_grad()
    def assign(self) -> None:
        """Copy the average into the model."""
        for value, original in self._pairs():
            original.copy_(value)

    @torch.no_grad()
    def swap(self) -> None:
        """Swap with the model; a second call swaps back, to the same bits."""
        is_back, raw = self._raw is not None, self._raw
        if raw is None:
            raw = {
                index: original.clone()
                for index, (value, original) in enumerate(self._pairs())
                if value.dtype != original.dtype
            }
        for index, (value, original) in enumerate(self._pairs()):
            if index in raw:
                original.copy_(raw[index] if is_back else value)
            else:
                _swap(value, original)
        self._raw = None if is_back else raw

    def keep_swapped(self) -> None:
        """Let the model keep the average: from now on, its former weights are here."""
        for index, weights in (self._raw or {}).items():
            self.values[index].copy_(weights)
        self._raw = None

    @torch.no_grad()
    def equals_model(self) -> bool:
        """Return whether the average has the same bits as the model."""
        return all(torch.equal(value.to(o.dtype), o) for value, o in self._pairs())

    def averages(self) -> dict[str, Tensor]:
        """Return the whole average by name, gathered from all ranks."""
        raw = self._raw
        if raw is None:
            return self._gathered(self.values)
        return self._gathered(
            value if index in raw else original
            for index, (value, original) in enumerate(self._pairs())
        )

    def weights_of_model(self) -> dict[str, Tensor]:
        """Return a copy of the model's current weights by name, gathered from all ranks."""
        return self._gathered(map(local, self._originals))

    def raw(self) -> dict[str, Tensor] | None:
        """Return the model's own weights, or None if the model holds them."""
        raw = self._raw
        if raw is None:
            return None
        return self._gathered(raw.get(index, value) for index, value in enumerate(self.values))

    def _gathered(self, tensors: Iterable[Tensor]) -> dict[str, Tensor]:
        return {
            name: whole(tensor, original).clone()
            for name, tensor, original in zip(self.names, tensors, self._originals, strict=True)
        }

    @torch.no_grad()
    def load(self, averages: Mapping[str, Tensor]) -> None:
        """Load a saved average, on any number of ranks."""
        for name, value, original in zip(self.names, self.values, self._originals, strict=True):
            value.copy_(part(averages[name], original))

    @torch.no_grad()
    def load_model(self, weights: Mapping[str, Tensor]) -> None:
        """Load saved weights into the model, on any number of ranks."""
        self._raw = None
        for name, original in zip(self.names, self._originals, strict=True):
            local(original).copy_(part(weights[name], original))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32


def _as(weight: float | Tensor, like: Tensor) -> Any:  # noqa: ANN401 - a number, maybe on a device
    return weight.to(like.device, like.dtype) if isinstance(weight, Tensor) else weight


def _swap(first: Tensor, second: Tensor) -> None:
    for chunk, other in chunks_of(first, second):
        kept = chunk.clone()
        chunk.copy_(other)
        other.copy_(kept)
