"""One run: make soft labels if its arm has them, train, and log the predictions."""

import time

import torch
from torch import Tensor

from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import CONTROL, Arm, arm_of
from seedproof_reproductions.findings2023.data import Prepared, prepare
from seedproof_reproductions.findings2023.fitting import Cost, Trace, Trained, fit, steps_of
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
    n_traced = setting.n_traced_control if arm == CONTROL else setting.n_traced
    # The weights that train are traced: those of an average are not served before the end.
    is_traced = int(run.name) < n_traced and arm.average == "none"
    models, trace = _train_models(run, prepared, setting, arm, cost, is_traced=is_traced)
    seconds = time.perf_counter() - began
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
    every = setting.trace_every(steps_of(prepared, arm, setting))
    trace = Trace(prepared, every=every, n_models=arm.n_heads)
    on_step = trace.after_step if is_traced else None
    models = [
        fit(prepared, arm, setting, Sources.of(run, arm), targets=targets, on_step=on_step)
        for _ in range(arm.n_heads)
    ]
    for trained in models:
        cost.add_training(trained, n_models=2 if arm.codistilled else 1)
    return models, trace


def _accuracy(probs: Tensor, labels: Tensor) -> float:
    return float((probs.argmax(dim=1) == labels).float().mean())
