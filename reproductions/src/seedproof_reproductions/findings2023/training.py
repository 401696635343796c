"""One run: make soft labels if its arm has them, train, and log the predictions."""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import CONTROL, Arm, arm_of
from seedproof_reproductions.findings2023.data import Prepared, prepare, resampled
from seedproof_reproductions.findings2023.fitting import Cost, Trace, bootstrap_rows, steps_of
from seedproof_reproductions.findings2023.gold import AVERAGES
from seedproof_reproductions.findings2023.heads import train_heads
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import gold_training, soft_targets


def train(run: Run) -> None:
    """Train what a run's arguments and arm describe, and log its predictions."""
    setting = Setting.from_arguments(run.arguments)
    log_run(run, prepare(setting), setting, arm_of(run.arm))


def log_run(run: Run, prepared: Prepared, setting: Setting, arm: Arm) -> None:
    """Train the models of a run, and log predictions, dynamics and costs."""
    began = time.perf_counter()
    cost = Cost()
    if setting.train_data == "bootstrap":
        # Drawn before all else, so that every arm of a seed learns from the same sample.
        prepared = resampled(
            prepared, bootstrap_rows(len(prepared.train), run.torch_generator("data"))
        )
    n_traced = setting.n_traced_control if arm == CONTROL else setting.n_traced
    is_traced = int(run.name) < n_traced and arm.serves_what_trains
    served = _train(run, prepared, setting, arm, cost, is_traced=is_traced)
    seconds = time.perf_counter() - began + cost.reused_seconds
    test, training = served.predict()
    tested, classes = prepared.test.utterances, prepared.data.classes
    run.log_predictions("test", ids=tested.ids, probs=test, labels=tested.labels, classes=classes)
    if is_traced:
        run.log_dynamics("test", served.trace.dynamics())
    scalars = {
        "test_accuracy": _accuracy(test, prepared.test.labels),
        "train_accuracy": _accuracy(training, prepared.train.labels),
        "n_train": len(prepared.train),
    }
    scalars |= cost.scalars(prepared, setting, served.multiplied)
    if setting.track == "head" and not is_traced:
        # Traced runs take longer, and fine-tuned ones share a training: neither is the arm's cost.
        scalars["seconds"] = seconds
    for name, value in scalars.items():
        run.log_scalar(name, value)


class Served(NamedTuple):
    """Models that an arm serves after its training.

    Args:
        predict: Returns probabilities for the test split and for the training split.
        multiplied: Multiplications per utterance.
        trace: Predictions during the training, if it was traced.
    """

    predict: Callable[[], tuple[Tensor, Tensor]]
    multiplied: float
    trace: Trace


def _train(
    run: Run, prepared: Prepared, setting: Setting, arm: Arm, cost: Cost, *, is_traced: bool
) -> Served:
    n_steps = steps_of(prepared, arm, setting)
    trace = Trace(prepared, setting, n_steps, n_models=arm.n_heads)
    if setting.track == "finetune" and arm.soft is None and arm.average in AVERAGES:
        gold = gold_training(run, prepared, setting, arm)
        cost.total += gold.costs["training"]
        for probs in gold.traced:
            trace.add(probs)
        predicted = gold.test[arm.average], gold.train[arm.average]
        return Served(lambda: predicted, gold.costs["serving"], trace)
    targets = soft_targets(run, prepared, setting, arm, cost)
    on_step = trace.after_step if is_traced else None
    sources = partial(Sources.of, run, arm)
    models = train_heads(prepared, setting, arm, sources, cost, targets=targets, on_step=on_step)

    def predict() -> tuple[Tensor, Tensor]:
        splits = prepared.test, prepared.train
        test, training = (
            torch.stack([each.predict(split.inputs, arm.average) for each in models]).mean(dim=0)
            for split in splits
        )
        return test, training

    return Served(predict, sum(each.model.n_multiplied for each in models), trace)


def _accuracy(probs: Tensor, labels: Tensor) -> float:
    return float((probs.argmax(dim=1) == labels).float().mean())
