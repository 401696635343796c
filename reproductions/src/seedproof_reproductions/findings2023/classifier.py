"""What is trained, on either track: inputs to logits."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from seedproof.stabilize.modes import evaluating


class Classifier(nn.Module, ABC):
    """Inputs of utterances to a logit for each class."""

    @abstractmethod
    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of each utterance."""

    @property
    @abstractmethod
    def n_multiplied(self) -> float:
        """Multiplications that one utterance takes on its way forward."""

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> Tensor:
        """Probabilities of each utterance, without dropout."""
        with evaluating(self):
            return functional.softmax(self(inputs), dim=1)
