"""One run: make soft labels if its arm has them, train, and log the predictions."""

import time
from functools import partial

import torch
from torch import Tensor

from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import CONTROL, Arm, arm_of
from seedproof_reproductions.findings2023.data import Prepared, prepare, resampled
from seedproof_reproductions.findings2023.fitting import (
    Cost,
    Trace,
    Trained,
    bootstrap_rows,
    steps_of,
)
from seedproof_reproductions.findings2023.heads import train_heads
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import AVERAGES, soft_targets, train_on_gold


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
    models, trace = _train_models(run, prepared, setting, arm, cost, is_traced=is_traced)
    seconds = time.perf_counter() - began + cost.reused_seconds
    test, training = (
        torch.stack([trained.predict(split.inputs, arm.average) for trained in models]).mean(dim=0)
        for split in (prepared.test, prepared.train)
    )
    tested, classes = prepared.test.utterances, prepared.data.classes
    run.log_predictions("test", ids=tested.ids, probs=test, labels=tested.labels, classes=classes)
    if is_traced:
        run.log_dynamics("test", trace.dynamics())
    scalars = {
        "test_accuracy": _accuracy(test, prepared.test.labels),
        "train_accuracy": _accuracy(training, prepared.train.labels),
        "n_train": len(prepared.train),
    }
    scalars |= cost.scalars(prepared, setting, [trained.model for trained in models])
    if setting.track == "head" and not is_traced:
        # Traced runs take longer, and fine-tuned ones share a training: neither is the arm's cost.
        scalars["seconds"] = seconds
    for name, value in scalars.items():
        run.log_scalar(name, value)


def _train_models(
    run: Run, prepared: Prepared, setting: Setting, arm: Arm, cost: Cost, *, is_traced: bool
) -> tuple[list[Trained], Trace]:
    if setting.track == "finetune" and arm.soft is None and arm.average in AVERAGES:
        gold = train_on_gold(prepared, setting, arm, Sources.of(run, arm))
        cost.total += gold.cost.total
        return [gold.trained], gold.trace
    targets = soft_targets(run, prepared, setting, arm, cost)
    n_steps = steps_of(prepared, arm, setting)
    trace = Trace(prepared, setting, n_steps, n_models=arm.n_heads)
    on_step = trace.after_step if is_traced else None
    sources = partial(Sources.of, run, arm)
    models = train_heads(prepared, setting, arm, sources, cost, targets=targets, on_step=on_step)
    return models, trace


def _accuracy(probs: Tensor, labels: Tensor) -> float:
    return float((probs.argmax(dim=1) == labels).float().mean())
