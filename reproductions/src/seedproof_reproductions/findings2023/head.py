"""A head on sentence features: a hidden layer with dropout."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init

from seedproof_reproductions.findings2023.arms import Arm
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.sources import Sources


class Head(Classifier):
    """Features to logits.

    Args:
        n_features: Numbers an utterance.
        n_classes: Logits.
        arm: Width, and whether the last layer begins with zeros.
        dropout: Share of the hidden units that is dropped.
        sources: Where first weights and dropped units come from.
    """

    def __init__(
        self, n_features: int, n_classes: int, arm: Arm, dropout: float, sources: Sources
    ) -> None:
        super().__init__()
        self.hidden = _linear(n_features, arm.width, sources.init) if arm.width else None
        self.last = _linear(arm.width or n_features, n_classes, sources.init)
        if arm.zero_last:
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)
        self._dropout = dropout
        self._generator = sources.dropout

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of each utterance."""
        units = inputs if self.hidden is None else functional.relu(self.hidden(inputs))
        if self.hidden is not None and self.training and self._dropout:
            kept = torch.rand(units.shape, generator=self._generator) >= self._dropout
            units = units * kept / (1 - self._dropout)
        logits: Tensor = self.last(units)
        return logits

    @property
    def n_multiplied(self) -> float:
        """Multiplications that one utterance takes on its way forward."""
        return float(sum(weight.numel() for weight in self.parameters() if weight.ndim == 2))


def _linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """A layer with torch's usual first weights, drawn from one generator."""
    layer: nn.Linear = skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call] # torch's
    bound = 1 / math.sqrt(n_in)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer
