"""The models of both tracks, a head on features and MiniLM with a head, and their randomness."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init

from seedproof.seeds import SeedPlan, Streams
from seedproof.seeds.streams import TORCH
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.training.rng import GlobalStream, torch_generator
from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import Arm
from seedproof_reproductions.minilm import load_encoder, mean_state

# Seed of what all runs of an arm share: any number that is not a run's.
SHARED_SEED = 20230704


class Sources(NamedTuple):
    """The randomness of one model: a generator per source."""

    init: torch.Generator
    order: torch.Generator
    dropout: torch.Generator
    data: torch.Generator

    @classmethod
    def of(cls, run: Run, arm: Arm) -> "Sources":
        """Return those of a run, which advance: a second model of the run draws other numbers."""
        init = cls.shared(0, arm.draw).init if arm.fixed_init else run.torch_generator("init")
        others = (run.torch_generator(source) for source in ("order", "dropout", "data"))
        return cls(init, *others)

    @classmethod
    def of_seed(cls, root: int, index: int) -> "Sources":
        """Return those of a run by its place in the study, as `of` returns them at first."""
        streams = Streams(SeedPlan.all(index + 1, root=root).assignments()[index].seeds)
        return cls(*(torch_generator(streams.sequence(name, TORCH), "cpu") for name in cls._fields))

    @classmethod
    def shared(cls, index: int, draw: int = 0) -> "Sources":
        """Return those of a model that all runs share, such as a common teacher."""
        children = np.random.SeedSequence([SHARED_SEED, draw, index]).spawn(len(cls._fields))
        return cls(*(torch_generator(child, "cpu") for child in children))

    @property
    def state(self) -> tuple[bytes, ...]:
        """States of the generators: models that begin at the same state are the same model."""
        return tuple(generator.get_state().numpy().tobytes() for generator in self)

    def copy(self) -> "Sources":
        """Return separate generators in the same state."""
        return Sources(*(generator.clone_state() for generator in self))

    def advance_to(self, other: "Sources") -> None:
        """Set the generators to the state of others."""
        for generator, reached in zip(self, other, strict=True):
            generator.set_state(reached.get_state())


class Classifier(nn.Module, ABC):
    """A model from inputs of utterances to a logit per class."""

    @abstractmethod
    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits of each utterance."""

    @property
    @abstractmethod
    def n_multiplied(self) -> float:
        """Multiplications of a forward pass per utterance, on average."""

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> Tensor:
        """Return the probabilities of each utterance, without dropout."""
        with evaluating(self):
            return functional.softmax(self(inputs), dim=1)


class Head(Classifier):
    """Features to logits: a hidden layer with dropout, or a single layer."""

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
        """Return the logits of each utterance."""
        units = inputs if self.hidden is None else functional.relu(self.hidden(inputs))
        if self.hidden is not None and self.training and self._dropout:
            kept = torch.rand(units.shape, generator=self._generator) >= self._dropout
            units = units * kept / (1 - self._dropout)
        logits: Tensor = self.last(units)
        return logits

    @property
    def n_multiplied(self) -> float:
        """Multiplications of a forward pass per utterance."""
        return float(sum(weight.numel() for weight in self.parameters() if weight.ndim == 2))


def _linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Return a layer with torch's usual first weights, drawn from one generator."""
    layer: nn.Linear = skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call] # torch's
    bound = 1 / math.sqrt(n_in)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


class FineTuned(Classifier):
    """Tokens to logits: the pretrained encoder, the mean of its states, and a head."""

    def __init__(self, head: Head, *, encoder_multiplied: float, sources: Sources) -> None:
        super().__init__()
        self.encoder = load_encoder()
        self.head = head
        self._encoder_multiplied = encoder_multiplied
        # The encoder's own dropout can use torch's global generator only.
        seed = torch.randint(2**62, (), generator=sources.dropout)
        self._dropped = GlobalStream(np.random.SeedSequence(int(seed)))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits of each utterance, given the numbers of its tokens."""
        with self._dropped.followed():
            states = mean_state(self.encoder, inputs)
        logits: Tensor = self.head(states)
        return logits

    @property
    def n_multiplied(self) -> float:
        """Multiplications of a forward pass per utterance, on average."""
        return self._encoder_multiplied + self.head.n_multiplied
