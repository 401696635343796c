"""The training loop of heads and encoders, what it costs, and the predictions along the way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam

from seedproof import stabilize
from seedproof.stabilize import Policy, WeightAverage
from seedproof.stabilize.policy import Mean
from seedproof.stabilize.soft_labels import Tgtss
from seedproof.stabilize.soft_labels.losses import codistillation_loss, soft_cross_entropy
from seedproof.training.dynamics import Dynamics
from seedproof_reproductions.findings2023.arms import CONTROL, Arm, SoftLabels
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.models import Classifier, FineTuned, Head, Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.minilm import multiplications

OnStep = Callable[[int, Classifier, Tensor, Tensor], None]


@dataclass(frozen=True, eq=False)
class Trained:
    """A model after its last step, with averages of its weights."""

    model: Classifier
    averages: Mapping[str, WeightAverage]
    n_seen: int

    def predict(self, inputs: Tensor, average: str) -> Tensor:
        """Return the probabilities of each utterance, with one of the averages."""
        if average == "none":
            return self.model.predict(inputs)
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
) -> Trained:
    """Train one model.

    Args:
        prepared: What it is trained on.
        arm: How.
        setting: Track, epochs, batches, learning rate, dropout.
        sources: Its randomness.
        averages: Averages of its weights to keep; if omitted, the arm's own.
        targets: Soft labels, axes (utterances, classes); if omitted, gold labels.
        on_step: Called after each step with its number, from 1, the model, the rows of the batch,
            and the logits that it began with.

    Returns:
        The model.
    """
    train = prepared.train
    models = [
        make_model(prepared, arm, setting, sources).train()
        for _ in range(2 if arm.codistilled else 1)
    ]
    model = models[0]
    weights = [weight for each in models for weight in each.parameters()]
    optimizer = Adam(weights, lr=setting.learning_rate, weight_decay=arm.weight_decay, fused=True)
    n_epochs, n_steps = setting.epochs * arm.epochs, steps_of(prepared, arm, setting)
    kept = {
        name: stabilize.build(name, model, optimizer, policy=_policy(name, n_epochs))
        for name in ((arm.average,) if averages is None else averages)
    }
    bag = bootstrap_rows(len(train), sources.data) if arm.bagged else None
    step = 0
    for _ in range(n_epochs):
        rows = torch.randperm(len(train), generator=sources.order)
        rows = rows if bag is None else bag[rows]
        for batch in torch.split(rows, setting.batch_size):
            if arm.decay:
                for group in optimizer.param_groups:
                    group["lr"] = setting.learning_rate * (1 - step / n_steps)
            logits = [each(train.inputs[batch]) for each in models]
            loss = _loss(logits, train.labels[batch], None if targets is None else targets[batch])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            step += 1
            if on_step is not None:
                on_step(step, model, batch, logits[0].detach())
        for average in kept.values():
            average.end_epoch()
    return Trained(model, kept, n_epochs * len(train))


def bootstrap_rows(n_rows: int, generator: torch.Generator) -> Tensor:
    """Draw as many rows as there are, with replacement."""
    return torch.randint(n_rows, (n_rows,), generator=generator)


def steps_of(prepared: Prepared, arm: Arm, setting: Setting) -> int:
    """Return the number of steps of a training."""
    return setting.epochs * arm.epochs * -(-len(prepared.train) // setting.batch_size)


def make_model(prepared: Prepared, arm: Arm, setting: Setting, sources: Sources) -> Classifier:
    """Return a model before its first step: a head, or an encoder with a head."""
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
    """Return the paper's SWA: the mean of the weights after the last two epochs."""
    if average != "swa":
        return None
    return Policy(
        enters="epoch-end",
        weighing=Mean("accepted"),
        begins_with="first",
        after_epochs=max(n_epochs - 2, 0),
    )


class Trace:
    """Predictions for the test split while models train: of several, their mean."""

    def __init__(
        self, prepared: Prepared, setting: Setting, n_steps: int, *, n_models: int = 1
    ) -> None:
        self._test = prepared.test
        self._start, self._every = setting.trace_start(n_steps), setting.trace_every(n_steps)
        self._n_models = n_models
        self._sums: dict[int, Tensor] = {}
        self._dynamics = Dynamics(
            n_classes=prepared.data.n_classes,
            ids=prepared.test.utterances.ids,
            labels=prepared.test.utterances.labels,
        )

    def after_step(self, step: int, model: Classifier, *_batch: Tensor) -> None:
        """Predict with a model after a step, if it is time."""
        if not self.is_due(step):
            return
        probs = model.predict(self._test.inputs)
        if self._n_models == 1:
            self.add(probs)
        else:
            self._sums[step] = self._sums[step] + probs if step in self._sums else probs

    def is_due(self, step: int) -> bool:
        """Return whether predictions after a step, from 1, are counted."""
        return step >= self._start and step % self._every == 0

    def add(self, probs: Tensor) -> None:
        """Count predictions of the next step that is due."""
        self._dynamics.update(probs)

    def dynamics(self) -> Dynamics:
        """Return the counted predictions."""
        for step in sorted(self._sums):
            sums = self._sums.pop(step)
            self._dynamics.update(sums / sums.sum(dim=1, keepdim=True))
        return self._dynamics


@dataclass
class Cost:
    """Multiplications of a run's models and their teachers: seconds are noisy, machines differ."""

    total: float = 0.0
    # Seconds of trainings that were reused; they do not pass in this run.
    reused_seconds: float = 0.0

    def add_training(self, trained: Trained, n_models: int = 1) -> None:
        """Add a training: every utterance of every batch, forward, and twice as much backward."""
        self.total += 3 * trained.n_seen * n_models * trained.model.n_multiplied

    def add_prediction(self, model: Classifier, n_utterances: int) -> None:
        """Add predictions of some utterances."""
        self.total += model.n_multiplied * n_utterances

    def scalars(self, prepared: Prepared, setting: Setting, served: float) -> dict[str, float]:
        """Add up the cost of training and serving, including the encoder.

        Args:
            prepared: What was trained on, and served.
            setting: The track.
            served: Multiplications of all served models per utterance.

        Returns:
            Scalars of the run.
        """
        encoding = multiplications(prepared.train.n_tokens)
        once = encoding / len(prepared.train)
        head = CONTROL.width * (prepared.n_features + prepared.data.n_classes)
        if setting.track == "finetune":
            control = once + head
            return {"forward_passes": self.total / control, "serving_multiplier": served / control}
        request = multiplications(prepared.test.n_tokens) / len(prepared.test)
        return {
            "head_multiplications": self.total,
            "encoder_multiplications": encoding,
            "forward_passes": (encoding + self.total) / (once + head),
            "serving_multiplier": (request + served) / (request + head),
        }


class Listener:
    """Collects the predictions of a teacher while it trains, and makes soft labels of them."""

    def __init__(
        self, prepared: Prepared, setting: Setting, arm: Arm, soft: SoftLabels, cost: Cost
    ) -> None:
        self._train = prepared.train
        self._cost = cost
        self._is_free = soft.kind == "tgtss-free"
        self._tgtss = Tgtss(
            len(prepared.train),
            prepared.data.n_classes,
            start=setting.teacher_start(steps_of(prepared, arm, setting)),
            every=1 if self._is_free else soft.every,
            power=soft.power,
        )

    def after_step(self, step: int, model: Classifier, rows: Tensor, logits: Tensor) -> None:
        """Use the predictions of the batch, or predict all utterances, if it is time."""
        if not self._tgtss.is_due(step):
            return
        if self._is_free:
            self._tgtss.observe(functional.softmax(logits, dim=1), step=step, rows=rows)
        else:
            self._tgtss.observe(model.predict(self._train.inputs), step=step)
            self._cost.add_prediction(model, len(self._train))

    def labels(self) -> Tensor:
        """Return the soft labels; gold labels for utterances without predictions."""
        return self._tgtss.targets(gold=self._train.labels).float()
