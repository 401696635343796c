"""A head on frozen features: a hidden layer with dropout, and how it is trained."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init
from torch.optim import Adam

from seedproof import stabilize
from seedproof.papers.findings2023.arms import Arm
from seedproof.papers.findings2023.data import Split
from seedproof.papers.findings2023.settings import Setting
from seedproof.runs.rng import torch_generator
from seedproof.runs.run import Run
from seedproof.stabilize import Policy, WeightAverage
from seedproof.stabilize.policy import Mean
from seedproof.stabilize.soft_labels.losses import codistillation_loss, soft_cross_entropy

# What all runs share where an arm says so: any number that is no run's.
SHARED = 20230704

OnStep = Callable[[int, "Head"], None]
OnBatch = Callable[[int, Tensor, Tensor], None]


@dataclass(frozen=True)
class Sources:
    """Where the randomness of one model comes from: a generator for each source."""

    init: torch.Generator
    order: torch.Generator
    dropout: torch.Generator

    @classmethod
    def of(cls, run: Run, arm: Arm) -> "Sources":
        """Those of a run, which go on: a second model of the run draws other numbers.

        Args:
            run: The run.
            arm: Whether the first weights are the same in all runs, and which.

        Returns:
            Its sources.
        """
        init = cls.shared(0, arm.draw).init if arm.fixed_init else run.torch_generator("init")
        return cls(init, run.torch_generator("order"), run.torch_generator("dropout"))

    @classmethod
    def shared(cls, index: int, draw: int = 0) -> "Sources":
        """Those of a model that all runs share, such as a common teacher.

        Args:
            index: Which of several.
            draw: Which draw of all of them.

        Returns:
            The same numbers at every call.
        """
        children = np.random.SeedSequence([SHARED, draw, index]).spawn(3)
        return cls(*(torch_generator(child, "cpu") for child in children))


class Head(nn.Module):
    """Features to logits.

    Args:
        n_features: Numbers an example.
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

    def forward(self, features: Tensor) -> Tensor:
        """Logits of each example."""
        units = features if self.hidden is None else functional.relu(self.hidden(features))
        if self.hidden is not None and self.training and self._dropout:
            kept = torch.rand(units.shape, generator=self._generator) >= self._dropout
            units = units * kept / (1 - self._dropout)
        logits: Tensor = self.last(units)
        return logits

    @torch.no_grad()
    def predict(self, features: Tensor) -> Tensor:
        """Probabilities of each example, without dropout."""
        was_training = self.training
        self.eval()
        probs = functional.softmax(self(features), dim=1)
        self.train(was_training)
        return probs

    @property
    def n_multiplied(self) -> int:
        """Multiplications that one example takes on its way forward."""
        return sum(weight.numel() for weight in self.parameters() if weight.ndim == 2)


def _linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """A layer with torch's usual first weights, drawn from one generator."""
    layer: nn.Linear = skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call] # torch's
    bound = 1 / math.sqrt(n_in)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


@dataclass(frozen=True, eq=False)
class Trained:
    """A head after its last step, with the average of its weights that it is served with.

    Args:
        head: The head.
        average: Of its weights.
        n_seen: How many examples it was trained on, each as often as it came.
    """

    head: Head
    average: WeightAverage
    n_seen: int

    def predict(self, features: Tensor) -> Tensor:
        """Probabilities of each example, with the averaged weights if there are any."""
        with self.average.applied():
            return self.head.predict(features)


def train_head(
    split: Split,
    n_classes: int,
    arm: Arm,
    setting: Setting,
    sources: Sources,
    *,
    targets: Tensor | None = None,
    on_step: OnStep | None = None,
    on_batch: OnBatch | None = None,
) -> Trained:
    """Train one head.

    Args:
        split: What it is trained on.
        n_classes: How many classes.
        arm: How.
        setting: Epochs, batches, learning rate, dropout.
        sources: Its randomness.
        targets: Soft labels, axes (examples, classes); gold labels without them.
        on_step: Called after each step with its number, from 1, and the head.
        on_batch: Called at each step with its number, the rows of the batch and their logits.

    Returns:
        The head.
    """
    heads = [
        Head(split.features.shape[1], n_classes, arm, setting.dropout, sources)
        for _ in range(2 if arm.codistilled else 1)
    ]
    head = heads[0]
    weights = [weight for one in heads for weight in one.parameters()]
    optimizer = Adam(weights, lr=setting.learning_rate, weight_decay=arm.weight_decay, fused=True)
    n_epochs = setting.epochs * arm.epochs
    n_steps = steps_of(split, arm, setting)
    average = stabilize.build(arm.average, head, optimizer, policy=_policy(arm, n_epochs))
    step = 0
    for _ in range(n_epochs):
        rows = torch.randperm(len(split), generator=sources.order)
        for batch in torch.split(rows, setting.batch_size):
            if arm.decay:
                for group in optimizer.param_groups:
                    group["lr"] = setting.learning_rate * (1 - step / n_steps)
            logits = [one(split.features[batch]) for one in heads]
            loss = _loss(logits, split.labels[batch], None if targets is None else targets[batch])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            step += 1
            if on_batch is not None:
                on_batch(step, batch, logits[0].detach())
            if on_step is not None:
                on_step(step, head)
        average.end_epoch()
    return Trained(head, average, n_epochs * len(split))


def steps_of(split: Split, arm: Arm, setting: Setting) -> int:
    """How many steps a training has."""
    return setting.epochs * arm.epochs * -(-len(split) // setting.batch_size)


def _loss(logits: list[Tensor], labels: Tensor, targets: Tensor | None) -> Tensor:
    if len(logits) == 2:
        first, second = logits
        return codistillation_loss(first, second, labels) + codistillation_loss(
            second, first, labels
        )
    if targets is None:
        return functional.cross_entropy(logits[0], labels)
    return soft_cross_entropy(logits[0], targets)


def _policy(arm: Arm, n_epochs: int) -> Policy | None:
    """The paper's SWA is the mean of the weights after the last two epochs."""
    if arm.average != "swa":
        return None
    return Policy(
        enters="epoch-end",
        weighing=Mean("accepted"),
        begins_with="first",
        after_epochs=max(n_epochs - 2, 0),
    )
