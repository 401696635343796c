"""The training loop: all epochs, with a stabilizer, and the checkpoint that dev chose."""

import math
import os
import time
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import SGD, Adagrad, Adam, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from seedproof import stabilize
from seedproof.errors import NotFoundError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.training.run import Run
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.conll2019.data import Encoded, Prepared
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.models import Answer, Classifier

# Nothing is learned from these batches, so the size is what is fast.
EVALUATION_BATCH = 128
WEIGHTS, EPOCHS = "chosen.pt", "epochs.npz"
# An arm whose name ends so has a learning rate that falls linearly to 0.
DECAYED = "-decayed"
# Of SGD: the usual one.
MOMENTUM = 0.9


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions of a model for a split."""

    probs: FloatArray
    attention: tuple[FloatArray, ...]
    loss: float

    def accuracy(self, labels: Tensor) -> float:
        """Return the share of examples whose most probable class is the gold one."""
        return float((self.probs.argmax(-1) == labels.numpy()).mean())


@dataclass(frozen=True, eq=False)
class Trained:
    """A model with the weights that dev chose, its score there, and its epoch, counted from 1."""

    model: Classifier
    dev_score: float
    epoch: int
    last_loss: float
    epochs: list[Evaluation] = field(default_factory=list)  # on the test split, after each epoch


class Epoch(NamedTuple):
    """Predictions for the test split after one epoch, as a run kept them."""

    probs: FloatArray
    attention: tuple[FloatArray, ...]


def train_model(prepared: Prepared, setting: Setting, run: Run) -> Trained:
    """Train under a run's seeds, with the stabilizer that its arm names.

    With an average, dev judges the averaged weights, and those are chosen. The test split is
    predicted after each epoch, so that arms can be compared at each other's epochs.
    """
    with run.seeded("init"):
        model = Classifier(prepared.shape, prepared.vectors)
    optimizer = make_optimizer(model, setting)
    average = stabilize.build(run.arm.removesuffix(DECAYED), model, optimizer)
    order = run.torch_generator("order")
    schedule = None
    if run.arm.endswith(DECAYED):
        n_steps = setting.epochs * math.ceil(len(prepared.train) / setting.batch_size)
        schedule = LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    best_score, best_epoch, loss = float("-inf"), 0, 0.0
    weights: dict[str, Tensor] = {}
    epochs = []
    for epoch in range(1, setting.epochs + 1):
        rows = torch.randperm(len(prepared.train), generator=order)
        batches = torch.split(rows, setting.batch_size)
        loss = train_epoch(model, optimizer, prepared.train, batches, schedule=schedule)
        average.end_epoch()
        # An average that nothing has entered yet cannot be judged.
        with average.applied() if average.n_entered > 0 else nullcontext():
            epochs.append(evaluate(model, prepared.test))
            # The authors' code cannot choose the first epoch.
            if epoch > 1 or setting.epochs == 1 or not run.arm.endswith("-code"):
                score = dev_score(evaluate(model, prepared.dev), prepared.dev)
                if score > best_score:
                    best_score, best_epoch, weights = score, epoch, deepcopy(model.state_dict())
    average.remove()
    if weights:
        model.load_state_dict(weights)
    return Trained(model, best_score, best_epoch, loss, epochs)


def make_optimizer(model: Classifier, setting: Setting) -> Optimizer:
    """Return the optimizer of a setting: the paper's Adam, or another that it names."""
    weights, rate, decay = model.parameters(), setting.rate, setting.weight_decay
    match setting.optimizer:
        case "sgd":
            return SGD(weights, lr=rate, momentum=MOMENTUM, weight_decay=decay, fused=True)
        case "adagrad":
            return Adagrad(weights, lr=rate, weight_decay=decay, fused=True)
    return Adam(weights, lr=rate, weight_decay=decay, amsgrad=True, fused=True)


def train_epoch(
    model: Classifier,
    optimizer: Optimizer,
    split: Encoded,
    batches: tuple[Tensor, ...],
    *,
    schedule: LambdaLR | None = None,
) -> float:
    """Take one step per batch, and return the mean loss over all examples as the weights moved."""
    model.train()
    total = torch.zeros(())
    for rows in batches:
        loss = loss_of(model(*split.inputs(rows)), split.labels[rows])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        if schedule is not None:
            schedule.step()
        total += loss.detach() * len(rows)
    return float(total) / len(split)


def loss_of(answer: Answer, labels: Tensor) -> Tensor:
    """Return the mean cross entropy: of a sigmoid for two classes, else of a softmax."""
    if answer.logits.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(answer.logits[:, 0], labels.float())
    return functional.cross_entropy(answer.logits, labels)


@torch.no_grad()
def evaluate(model: Classifier, split: Encoded) -> Evaluation:
    """Predict every example of a split; texts of similar length go together to save padding."""
    model.eval()
    probs = torch.empty(len(split), model.shape.n_classes)
    attention: list[FloatArray] = [np.empty(0, np.float32)] * len(split)
    total = 0.0
    for rows in torch.split(split.lengths.argsort(stable=True), EVALUATION_BATCH):
        answer = model(*split.inputs(rows))
        probs[rows] = answer.probs()
        total += float(loss_of(answer, split.labels[rows])) * len(rows)
        weights = answer.attention.numpy()
        for place, row in enumerate(rows.tolist()):
            # The marks at both ends and the padding have none.
            attention[row] = weights[place, 1 : int(split.lengths[row]) - 1]
    return Evaluation(probs.numpy(), tuple(attention), total / len(split))


def dev_score(evaluation: Evaluation, split: Encoded) -> float:
    """Return what the checkpoint is chosen by: ROC-AUC, or accuracy with more than two classes."""
    if evaluation.probs.shape[1] > 2:
        return evaluation.accuracy(split.labels)
    return roc_auc(evaluation.probs[:, 1], split.labels.numpy())


def roc_auc(scores: FloatArray, labels: IntArray) -> float:
    """Return the share of pairs, one of each class, of which the positive has the higher score.

    Equal scores count half. Without a pair, because there is only one class, it is 0.5.
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    is_positive = labels == 1
    n_positive = int(is_positive.sum())
    n_negative = len(labels) - n_positive
    if n_positive == 0 or n_negative == 0:
        return 0.5
    ranks = float(middle[place][is_positive].sum())
    return (ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)


def log_run(run: Run, prepared: Prepared, setting: Setting) -> None:
    """Train, and log the predictions and the attention of the chosen model on the test split."""
    began = time.perf_counter()
    trained = train_model(prepared, setting, run)
    test = evaluate(trained.model, prepared.test)
    train = evaluate(trained.model, prepared.train)
    texts = prepared.test.texts
    run.log_predictions(
        "test", ids=texts.ids, probs=test.probs, labels=texts.labels, classes=prepared.data.classes
    )
    run.log_explanations(
        "test", "attention", ids=texts.ids, tokens=texts.tokens, scores=test.attention
    )
    torch.save(trained.model.state_dict(), run.checkpoint_dir / WEIGHTS)
    np.savez(
        run.checkpoint_dir / EPOCHS,
        probs=np.stack([epoch.probs for epoch in trained.epochs]),
        attention=np.stack([np.concatenate(epoch.attention) for epoch in trained.epochs]),
        lengths=[len(weights) for weights in test.attention],
    )
    n_seen = setting.epochs * (len(prepared.train) + len(prepared.dev))
    scalars = {
        "dev_accuracy" if prepared.data.n_classes > 2 else "dev_auc": trained.dev_score,
        "test_accuracy": test.accuracy(prepared.test.labels),
        "test_loss": test.loss,
        "train_loss": train.loss,
        "train_loss_last_epoch": trained.last_loss,
        "epoch_chosen": trained.epoch,
        "n_train": len(prepared.train),
        "n_dev": len(prepared.dev),
        "forward_passes": n_seen + len(prepared.test) + len(prepared.train),
        "seconds": time.perf_counter() - began,
    }
    for name, value in scalars.items():
        run.log_scalar(name, value)


def trained_run(source: str | os.PathLike[str], run: Run, arm: str) -> RunManifest:
    """Find the finished run of an arm with the seeds of another run."""
    for trained in Store(Location.of(source)).runs:
        if trained.arm == arm and dict(trained.seeds) == dict(run.seeds):
            return trained
    raise NotFoundError(
        "{source} has no finished run {run!r} of {arm!r} with the same seeds. "
        "Finish that study first.",
        source=source,
        run=run.name,
        arm=arm,
    )


def load_chosen(store: str | os.PathLike[str], run: RunManifest, prepared: Prepared) -> Classifier:
    """Load the model of a finished run, as it was when it predicted the test split."""
    model = Classifier(prepared.shape, prepared.vectors)
    model.load_state_dict(torch.load(_kept(store, run, WEIGHTS), weights_only=True))
    return model.eval()


def load_epoch(store: str | os.PathLike[str], run: RunManifest, epoch: int) -> Epoch:
    """Load what a finished run predicted after an epoch, counted from 1."""
    with np.load(_kept(store, run, EPOCHS)) as kept:
        ends = np.cumsum(kept["lengths"])[:-1]
        attention = np.split(kept["attention"][epoch - 1], ends)
        return Epoch(kept["probs"][epoch - 1], tuple(attention))


def _kept(store: str | os.PathLike[str], run: RunManifest, name: str) -> Path:
    """Return the path of a file that a run left in its folder."""
    folder = Path(store) / "runs" / run.run_id / "checkpoints"
    paths = sorted(folder.glob(f"*/{name}"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise NotFoundError(
            "{name} of run {run!r} of {arm!r} is not below {folder}. Make the run "
            "again in another store, on this machine.",
            name=name,
            run=run.name,
            arm=run.arm,
            folder=folder,
        )
    # A run that was retried with other code leaves several; the last made the records.
    return paths[-1]
