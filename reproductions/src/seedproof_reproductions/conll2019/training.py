"""The training loop: all epochs, with a stabilizer, and the checkpoint that dev chose."""

import os
import time
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam

from seedproof import stabilize
from seedproof.errors import NotFoundError
from seedproof.records.manifest import RunManifest
from seedproof.training.run import Run
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.conll2019.data import Encoded, Prepared
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.models import Answer, Classifier

# Nothing is learned from these batches, so the size is what is fast.
EVALUATION_BATCH = 128
WEIGHTS = "chosen.pt"


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


def train_model(prepared: Prepared, setting: Setting, run: Run) -> Trained:
    """Train under a run's seeds, with the stabilizer that its arm names.

    With an average, dev judges the averaged weights, and those are chosen.
    """
    with run.seeded("init"):
        model = Classifier(prepared.shape, prepared.vectors)
    optimizer = Adam(
        model.parameters(),
        lr=setting.learning_rate,
        weight_decay=setting.weight_decay,
        amsgrad=True,
        fused=True,
    )
    average = stabilize.build(run.arm, model, optimizer)
    order = run.torch_generator("order")
    best_score, best_epoch, loss = float("-inf"), 0, 0.0
    weights: dict[str, Tensor] = {}
    for epoch in range(1, setting.epochs + 1):
        rows = torch.randperm(len(prepared.train), generator=order)
        loss = train_epoch(model, optimizer, prepared.train, torch.split(rows, setting.batch_size))
        average.end_epoch()
        # The authors' code cannot choose the first epoch.
        if epoch > 1 or setting.epochs == 1 or not run.arm.endswith("-code"):
            # An average that nothing has entered yet cannot be judged.
            with average.applied() if average.n_entered > 0 else nullcontext():
                score = dev_score(evaluate(model, prepared.dev), prepared.dev)
                if score > best_score:
                    best_score, best_epoch, weights = score, epoch, deepcopy(model.state_dict())
    average.remove()
    if weights:
        model.load_state_dict(weights)
    return Trained(model, best_score, best_epoch, loss)


def train_epoch(
    model: Classifier, optimizer: Adam, split: Encoded, batches: tuple[Tensor, ...]
) -> float:
    """Take one step per batch, and return the mean loss over all examples as the weights moved."""
    model.train()
    total = torch.zeros(())
    for rows in batches:
        loss = loss_of(model(*split.inputs(rows)), split.labels[rows])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
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


def load_chosen(store: str | os.PathLike[str], run: RunManifest, prepared: Prepared) -> Classifier:
    """Load the model of a finished run, as it was when it predicted the test split."""
    folder = Path(store) / "runs" / run.run_id / "checkpoints"
    paths = sorted(folder.glob(f"*/{WEIGHTS}"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise NotFoundError(
            "The weights of run {run!r} of {arm!r} are not below {folder}. Make the run "
            "again in another store, on this machine.",
            run=run.name,
            arm=run.arm,
            folder=folder,
        )
    model = Classifier(prepared.shape, prepared.vectors)
    # A run that was retried with other code leaves several; the last made the records.
    model.load_state_dict(torch.load(paths[-1], weights_only=True))
    return model.eval()
