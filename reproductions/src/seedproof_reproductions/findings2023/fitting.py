"""How a model is trained: one loop for heads and for encoders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam

from seedproof import stabilize
from seedproof.stabilize import Policy, WeightAverage
from seedproof.stabilize.policy import Mean
from seedproof.stabilize.soft_labels.losses import codistillation_loss, soft_cross_entropy
from seedproof_reproductions.findings2023.arms import Arm
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.finetuned import FineTuned
from seedproof_reproductions.findings2023.head import Head
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.minilm import multiplications

OnStep = Callable[[int, Classifier], None]
OnBatch = Callable[[int, Tensor, Tensor], None]


@dataclass(frozen=True, eq=False)
class Trained:
    """A model after its last step, with averages of its weights.

    Args:
        model: The model.
        averages: Of its weights, by name.
        n_seen: How many utterances it was trained on, each as often as it came.
    """

    model: Classifier
    averages: Mapping[str, WeightAverage]
    n_seen: int

    def predict(self, inputs: Tensor, average: str) -> Tensor:
        """Probabilities of each utterance, with one of the averages."""
        with self.averages[average].applied():
            return self.model.predict(inputs)


def fit(
    prepared: Prepared,
    arm: Arm,
    setting: Setting,
    sources: Sources,
    *,
    averages: Sequence[str] | None = None,
    targets: Tensor | None = None,
    on_step: OnStep | None = None,
    on_batch: OnBatch | None = None,
) -> Trained:
    """Train one model.

    Args:
        prepared: What it is trained on.
        arm: How.
        setting: Track, epochs, batches, learning rate, dropout.
        sources: Its randomness.
        averages: Averages of its weights that are kept; the arm's own without them.
        targets: Soft labels, axes (utterances, classes); gold labels without them.
        on_step: Called after each step with its number, from 1, and the model.
        on_batch: Called at each step with its number, the rows of the batch and their logits.

    Returns:
        The model.
    """
    train = prepared.train
    models = [
        _model(prepared, arm, setting, sources).train() for _ in range(2 if arm.codistilled else 1)
    ]
    model = models[0]
    weights = [weight for one in models for weight in one.parameters()]
    optimizer = Adam(weights, lr=setting.learning_rate, weight_decay=arm.weight_decay, fused=True)
    n_epochs, n_steps = setting.epochs * arm.epochs, steps_of(prepared, arm, setting)
    kept = {
        name: stabilize.build(name, model, optimizer, policy=_policy(name, n_epochs))
        for name in ((arm.average,) if averages is None else averages)
    }
    step = 0
    for _ in range(n_epochs):
        rows = torch.randperm(len(train), generator=sources.order)
        for batch in torch.split(rows, setting.batch_size):
            if arm.decay:
                for group in optimizer.param_groups:
                    group["lr"] = setting.learning_rate * (1 - step / n_steps)
            logits = [one(train.inputs[batch]) for one in models]
            loss = _loss(logits, train.labels[batch], None if targets is None else targets[batch])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            step += 1
            if on_batch is not None:
                on_batch(step, batch, logits[0].detach())
            if on_step is not None:
                on_step(step, model)
        for average in kept.values():
            average.end_epoch()
    return Trained(model, kept, n_epochs * len(train))


def steps_of(prepared: Prepared, arm: Arm, setting: Setting) -> int:
    """How many steps a training has."""
    return setting.epochs * arm.epochs * -(-len(prepared.train) // setting.batch_size)


def _model(prepared: Prepared, arm: Arm, setting: Setting, sources: Sources) -> Classifier:
    """A model before its first step."""
    head = Head(prepared.n_features, prepared.data.n_classes, arm, setting.dropout, sources)
    if setting.track == "head":
        return head
    encoder = multiplications(prepared.train.n_tokens) / len(prepared.train)
    return FineTuned(head, encoder_multiplied=encoder, sources=sources)


def _loss(logits: list[Tensor], labels: Tensor, targets: Tensor | None) -> Tensor:
    if len(logits) == 2:
        first, second = logits
        return codistillation_loss(first, second, labels) + codistillation_loss(
            second, first, labels
        )
    if targets is None:
        return functional.cross_entropy(logits[0], labels)
    return soft_cross_entropy(logits[0], targets)


def _policy(average: str, n_epochs: int) -> Policy | None:
    """The paper's SWA is the mean of the weights after the last two epochs."""
    if average != "swa":
        return None
    return Policy(
        enters="epoch-end",
        weighing=Mean("accepted"),
        begins_with="first",
        after_epochs=max(n_epochs - 2, 0),
    )
