"""One run: pretrain if the model has it, train, and log predictions, lists and attention."""

import time
from copy import deepcopy
from math import ceil
from statistics import fmean

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR

from seedproof import stabilize
from seedproof.training.run import Run
from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.thesis2019.arms import Arm, arm_of
from seedproof_reproductions.thesis2019.data import N_NEGATIVES, Prepared, prepare
from seedproof_reproductions.thesis2019.models import FISM, MODELS, DeepICF, Recommender
from seedproof_reproductions.thesis2019.ranking import Answers, answer
from seedproof_reproductions.thesis2019.settings import PROBABILITIES, Schedule, Setting
from seedproof_reproductions.thesis2019.sources import Sources

WEIGHTS = "weights.pt"


def train(run: Run) -> None:
    """Train the model that a run's arguments and arm describe, and log its answers."""
    setting = Setting.from_arguments(run.arguments)
    log_run(run, prepare(setting), setting, arm_of(run.arm))


def train_models(run: Run, prepared: Prepared, setting: Setting, arm: Arm) -> list[Recommender]:
    """Train the models of an arm under a run's seeds, and log their mean loss and their cost."""
    weights = prepared.class_weights if arm.is_balanced else None
    models: list[Recommender] = []
    losses, began = [], time.process_time()
    for member in range(arm.n_models):
        sources = Sources.of(run, arm, member)
        with sources.init:
            model = MODELS[setting.model](
                prepared.histories, setting.schedule.n_factors, setting.n_outputs
            )
        if isinstance(model, DeepICF) and setting.pretraining is not None:
            pretraining = Sources.of_pretraining(run, arm, member)
            model.start_from(pretrain(prepared, setting.pretraining, pretraining))
        losses.append(
            fit(model, prepared, setting.schedule, sources, weights=weights, average=arm.average)
        )
        models.append(model)
    run.log_scalar("train_loss", fmean(losses))
    run.log_scalar("cpu_seconds", time.process_time() - began)
    return models


def pretrain(prepared: Prepared, schedule: Schedule, sources: Sources) -> FISM:
    """Train the model whose vectors DeepICF begins with."""
    with sources.init:
        model = FISM(prepared.histories, schedule.n_factors)
    fit(model, prepared, schedule, sources)
    return model


def fit(
    model: Recommender,
    prepared: Prepared,
    schedule: Schedule,
    sources: Sources,
    *,
    weights: Tensor | None = None,
    average: str = "none",
) -> float:
    """Train a model.

    Args:
        model: The model, which is changed.
        prepared: The data.
        schedule: Epochs, learning rate and batches.
        sources: The randomness.
        weights: Weights of the classes; None if all are 1.
        average: Name of an average of weights, which the model has at the end.

    Returns:
        The mean loss in the last epoch, as the weights moved.
    """
    optimizer = Adam(model.parameters(), lr=schedule.learning_rate, fused=True)
    averaged = stabilize.build(average, model, optimizer)
    n_batched = prepared.histories.n_users
    if not model.reads_histories:
        n_batched = len(prepared.classes) * (1 + N_NEGATIVES)
    n_steps = schedule.epochs * ceil(n_batched / schedule.batch_size)
    decay = LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    order, negatives = sources.order, sources.negatives
    total, n_seen = torch.zeros(()), 0
    for _ in range(schedule.epochs):
        total.zero_()
        n_seen = 0
        if model.reads_histories:
            batches = prepared.batches_of_users(
                schedule.batch_size, order, negatives, schedule.n_positives
            )
        else:
            batches = prepared.batches_of_examples(schedule.batch_size, order, negatives)
        for users, items, labels in batches:
            loss = loss_of(model(users, items), labels, weights)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            decay.step()
            total += loss.detach() * len(labels)
            n_seen += len(labels)
        averaged.end_epoch()
    if averaged.n_entered > 0:
        with averaged.applied():
            served = deepcopy(model.state_dict())
        averaged.remove()
        model.load_state_dict(served)
    return float(total) / n_seen


def loss_of(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the mean cross entropy, of a sigmoid or a softmax, weighted by class.

    A sigmoid has any class but the first as its positive one.
    """
    if logits.shape[1] == 1:
        # The same as a softmax whose other logit is 0.
        logits, labels = functional.pad(logits, (1, 0)), labels.clamp(max=1)
    return functional.cross_entropy(logits, labels, weights)


def log_run(run: Run, prepared: Prepared, setting: Setting, arm: Arm) -> None:
    """Train, log the answers and the attention to tested items, and keep the weights."""
    models = train_models(run, prepared, setting, arm)
    began = time.process_time()
    answers = answer(models, prepared)
    _log_probabilities(run, answers, prepared, setting)
    for part, items in answers.top.items():
        run.log_predictions(
            part,
            ids=prepared.data.names,
            rankings=items,
            relevant=answers.candidates[:, :1],
        )
    if len(models) == 1 and isinstance(models[0], DeepICF):
        _log_attention(run, models[0], prepared)
    torch.save([model.state_dict() for model in models], run.checkpoint_dir / WEIGHTS)
    for name, value in answers.metrics().items():
        run.log_scalar(name, value)
    run.log_scalar("cpu_seconds_answering", time.process_time() - began)


def _log_probabilities(run: Run, answers: Answers, prepared: Prepared, setting: Setting) -> None:
    labels = np.zeros(answers.candidates.shape, np.int64)
    labels[:, 0] = prepared.test_classes
    is_real = answers.candidates != NO_ITEM
    run.log_predictions(
        PROBABILITIES,
        ids=prepared.example_ids(answers.candidates)[is_real],
        probs=answers.probs[is_real],
        labels=labels[is_real],
        classes=setting.classes,
    )


def _log_attention(run: Run, model: DeepICF, prepared: Prepared) -> None:
    tested = prepared.data.candidates[:, :1]
    weights = model.attend(torch.arange(len(tested)), torch.from_numpy(tested[:, 0]))
    names = [str(item) for item in range(prepared.data.n_items)]
    starts = prepared.data.starts
    histories = np.split(prepared.data.items, starts[1:-1])
    run.log_explanations(
        PROBABILITIES,
        "attention",
        ids=prepared.example_ids(tested)[:, 0],
        tokens=[[names[item] for item in history] for history in histories],
        scores=weights,
    )
