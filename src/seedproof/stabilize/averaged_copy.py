"""A second set of tensors beside a model's own: moved towards them, compared, traded with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from seedproof.stabilize.distance import MeanNorm, SumOfDifferences, chunks_of
from seedproof.stabilize.fsdp import local, part, whole


class Shadow:
    """An average in the making: one tensor for each of the model's, in at least 32 bits.

    Under FSDP2 it holds this rank's shard of each.

    Args:
        tensors: The model's own, by name; they are never copied as modules, nor replaced.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.names = list(tensors)
        self._originals = list(tensors.values())
        self.values = [
            local(one)
            .detach()
            .to(_wide(one.dtype), copy=True, memory_format=torch.contiguous_format)
            for one in self._originals
        ]
        self._raw: list[Tensor] | None = None

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
                for mine, theirs in chunks_of(value, original):
                    mine.lerp_(theirs.to(mine.dtype), _as(weight, mine))
        if not alike[0]:
            return
        if isinstance(weight, Tensor):
            weights = [_as(weight, value) for value in alike[0]]
            torch._foreach_lerp_(alike[0], alike[1], weights)
        else:
            torch._foreach_lerp_(alike[0], alike[1], weight)

    def distance(
        self, order: int, names: Sequence[str] | None = None
    ) -> SumOfDifferences | MeanNorm:
        """What tells how far the model is from the average, whenever it is called.

        Args:
            order: 1 for the sum of absolute differences; 2 for the Euclidean norm of each tensor,
                averaged over tensors.
            names: Which tensors; all without them.

        Returns:
            It gives a tensor without axes, in 64 bits, the same on all ranks.
        """
        chosen = [i for i, name in enumerate(self.names) if names is None or name in names]
        measure = SumOfDifferences if order == 1 else MeanNorm
        return measure([self.values[i] for i in chosen], [self._originals[i] for i in chosen])

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


def _wide(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype == torch.float64 else torch.float32


def _as(weight: float | Tensor, like: Tensor) -> Any:  # noqa: ANN401 - a number, or one on a device
    return weight.to(like.device, like.dtype) if isinstance(weight, Tensor) else weight


def _swap(one: Tensor, two: Tensor) -> None:
    for mine, theirs in chunks_of(one, two):
        kept = mine.clone()
        mine.copy_(theirs)
        theirs.copy_(kept)
