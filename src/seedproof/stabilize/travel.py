"""Distances that an average has moved, on a sample of its weights."""

import base64
from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import numpy as np
import torch
from torch import Tensor

# At most so many values: enough for ratios of distances within about 10 %, and small enough for
# every checkpoint.
N_SAMPLED = 512


def sample(tensors: Sequence[Tensor]) -> Tensor:
    """Return 256 to 512 values, or all of fewer, with 32 bits on the CPU.

    They are evenly spaced over all tensors in a row, so that each has its share, also the last.
    """
    sizes = [tensor.numel() for tensor in tensors]
    stride = max(1, -(-sum(sizes) // N_SAMPLED))
    starts = [(size - end) % stride for size, end in zip(sizes, accumulate(sizes), strict=True)]
    parts = [
        tensor.detach().flatten()[start::stride].to("cpu", torch.float32)
        for tensor, start in zip(tensors, starts, strict=True)
    ]
    return torch.cat(parts) if parts else torch.zeros(0)


class Travel:
    """Way of an average from the weights that it began with, measured at the ends of epochs.

    An average that still moves is dominated by early weights: it is behind the model where the
    loss still falls, and less accurate.

    Args:
        start: Sample of the model's weights when the average began.
    """

    # Share of the whole way, chosen on the first two seeds of `benchmarks/averages.py`.
    MOST = 0.12

    def __init__(self, start: Tensor) -> None:
        self._start = self._previous = start
        self.moved = 0.0  # in the last epoch
        self.ahead = 0.0  # distance from the average to the model's weights at its end

    def end_epoch(self, average: Tensor, model: Tensor) -> None:
        """Take the average and the model's weights before it may return to the average."""
        whole = float(torch.linalg.norm(average - self._start))
        if whole > 0.0:
            self.moved = float(torch.linalg.norm(average - self._previous)) / whole
            self.ahead = float(torch.linalg.norm(model - average)) / whole
        self._previous = average

    def is_unfinished(self, *, restarts: bool) -> bool:
        """Return whether the average still moves, towards weights that are well ahead.

        Both shares count, by their geometric mean: an average that has caught up may move, and one
        that has settled is far from a model that circles around it. A model that restarts from its
        average every epoch and gets far from it in one is held back, however slowly it moves.
        """
        is_behind = self.moved * self.ahead > self.MOST**2
        return is_behind or (restarts and self.ahead > self.MOST)

    def plain(self) -> str:
        """Return the state as a text, whose length is the same at each epoch."""
        last = torch.tensor([self.moved, self.ahead])
        content = torch.cat([self._start, self._previous, last]).numpy().tobytes()
        return base64.b64encode(content).decode()

    @classmethod
    def from_plain(cls, text: str | None, like: Tensor) -> Self:
        """Read the state of a checkpoint; the way is unknown in those that older versions wrote."""
        travel, n = cls(torch.full_like(like, torch.nan)), len(like)
        content = base64.b64decode(text or "")
        if len(content) == 4 * (2 * n + 2):
            values = torch.tensor(np.frombuffer(content, dtype=np.float32))
            travel._start, travel._previous = values[:n], values[n:-2]
            travel.moved, travel.ahead = values[-2:].tolist()
        return travel
