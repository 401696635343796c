"""What one run does: make soft labels if its arm has them, train, and log what came out."""

import time
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from seedproof.papers.findings2023.arms import CONTROL, Arm, SoftLabels, arm_of
from seedproof.papers.findings2023.data import Prepared, prepare
from seedproof.papers.findings2023.head import Head, Sources, Trained, steps_of, train_head
from seedproof.papers.findings2023.settings import Setting
from seedproof.papers.minilm import multiplications
from seedproof.runs.dynamics import Dynamics
from seedproof.runs.run import Run
from seedproof.stabilize.soft_labels import Tgtss, ensemble, knn_smoothed, smoothed

# Of k-NN label smoothing; the paper tries 5 to 500.
NEIGHBORS = 10


@dataclass
class Cost:
    """What a run computes beside the features: multiplications of heads.

    Args:
        forward: On the way forward.
        backward: On the way back, which takes twice as many.
    """

    forward: float = 0.0
    backward: float = 0.0

    def add_training(self, trained: Trained, n_heads: int = 1) -> None:
        """Add a training: every example of every batch, forward and back."""
        passed = float(trained.n_seen * n_heads)
        self.forward += passed * trained.head.n_multiplied
        self.backward += 2 * passed * trained.head.n_multiplied

    def add_prediction(self, head: Head, n_examples: int) -> None:
        """Add predictions of some examples."""
        self.forward += float(head.n_multiplied * n_examples)

    @property
    def total(self) -> float:
        """All of them."""
        return self.forward + self.backward


def train(run: Run) -> None:
    """Train what a run's arguments and arm describe, and log what it says of the test split.

    Args:
        run: Its `arguments` are a setting's, such as `dataset=clinc150`.
    """
    setting = Setting.from_arguments(run.arguments)
    log_head(run, prepare(setting), setting, arm_of(run.arm))


def log_head(run: Run, prepared: Prepared, setting: Setting, arm: Arm) -> None:
    """Train the heads of a run, and keep what they say.

    Args:
        run: Where it is kept.
        prepared: What all runs share.
        setting: How to train.
        arm: How to train otherwise.
    """
    began = time.perf_counter()
    cost = Cost()
    targets = soft_targets(run, prepared, setting, arm, cost)
    n_traced = setting.n_traced_control if arm == CONTROL else setting.n_traced
    trace = _Trace(prepared) if int(run.name) < n_traced else None
    heads = [
        train_head(
            prepared.train,
            prepared.data.n_classes,
            arm,
            setting,
            Sources.of(run, arm),
            targets=targets,
            on_step=None if trace is None else trace.after,
        )
        for _ in range(arm.n_heads)
    ]
    for one in heads:
        cost.add_training(one, n_heads=2 if arm.codistilled else 1)
    seconds = time.perf_counter() - began
    test, training = (
        torch.stack([one.predict(split.features) for one in heads]).mean(dim=0)
        for split in (prepared.test, prepared.train)
    )
    utterances = prepared.test.utterances
    run.log_predictions(
        "test",
        ids=utterances.ids,
        probs=test,
        labels=utterances.labels,
        classes=prepared.data.classes,
    )
    if trace is not None:
        run.log_dynamics("test", trace.dynamics())
    scalars = {
        "test_accuracy": _accuracy(test, prepared.test.labels),
        "train_accuracy": _accuracy(training, prepared.train.labels),
        "head_multiplications": cost.total,
        "n_train": len(prepared.train),
    }
    scalars |= _costs(prepared, cost, [one.head for one in heads])
    if trace is None:
        # Those that are traced after every step take longer, for reasons of ours.
        scalars["seconds"] = seconds
    for name, value in scalars.items():
        run.log_scalar(name, value)


def soft_targets(
    run: Run, prepared: Prepared, setting: Setting, arm: Arm, cost: Cost
) -> Tensor | None:
    """What a run learns instead of gold labels.

    Args:
        run: Whose seeds a fresh teacher has.
        prepared: What all runs share.
        setting: How a teacher is trained.
        arm: Which soft labels; a teacher is trained as the arm itself is, but for them.
        cost: What a teacher takes is added; a shared one costs each run as much.

    Returns:
        Axes (examples, classes), float32; None for gold labels.
    """
    if arm.soft is None:
        return None
    n_classes = prepared.data.n_classes
    if arm.soft.kind == "smoothing":
        found = smoothed(prepared.train.labels, n_classes=n_classes, alpha=arm.soft.alpha)
        return found.float()
    if arm.soft.kind == "knn":
        return _neighbors(setting, arm.soft.alpha)
    teaching = replace(arm, soft=None)
    if arm.soft.teacher == "shared":
        found, spent = _shared(setting, teaching, arm.soft)
    else:
        spent = Cost()
        fresh = [Sources.of(run, arm) for _ in range(arm.soft.n_teachers)]
        found = _taught(_Teaching(prepared, setting, teaching, arm.soft), fresh, spent)
    cost.forward += spent.forward
    cost.backward += spent.backward
    return found


@lru_cache(maxsize=8)
def _shared(setting: Setting, teaching: Arm, soft: SoftLabels) -> tuple[Tensor, Cost]:
    """Soft labels of the teachers that all runs share, made once in a process."""
    cost = Cost()
    sources = [Sources.shared(1 + index, teaching.draw) for index in range(soft.n_teachers)]
    return _taught(_Teaching(prepare(setting), setting, teaching, soft), sources, cost), cost


@lru_cache(maxsize=2)
def _neighbors(setting: Setting, alpha: float) -> Tensor:
    prepared = prepare(setting)
    found = knn_smoothed(
        prepared.train.features,
        prepared.train.labels,
        n_classes=prepared.data.n_classes,
        k=NEIGHBORS,
        weight=alpha,
    )
    return found.float()


@dataclass(frozen=True, eq=False)
class _Teaching:
    """How teachers are trained, and what is made of what they say."""

    prepared: Prepared
    setting: Setting
    arm: Arm
    soft: SoftLabels

    def after_training(self, sources: Sources, cost: Cost) -> Tensor:
        """What a teacher says of the training split in the end."""
        train = self.prepared.train
        teacher = train_head(train, self.prepared.data.n_classes, self.arm, self.setting, sources)
        cost.add_training(teacher)
        cost.add_prediction(teacher.head, len(train))
        return teacher.predict(train.features)


def _taught(teaching: _Teaching, sources: list[Sources], cost: Cost) -> Tensor:
    """Train the teachers, and make soft labels of what they say."""
    prepared, setting, soft = teaching.prepared, teaching.setting, teaching.soft
    if soft.kind == "ensemble":
        said = (teaching.after_training(one, cost) for one in sources)
        return ensemble(said, power=soft.power).float()
    n_train, n_classes = len(prepared.train), prepared.data.n_classes
    every = soft.every if soft.kind == "tgtss" else 1
    start = setting.teacher_start(steps_of(prepared.train, teaching.arm, setting))
    tgtss = Tgtss(n_train, n_classes, start=start, every=every, power=soft.power)

    def watch(step: int, head: Head) -> None:
        if tgtss.is_due(step):
            tgtss.observe(head.predict(prepared.train.features), step=step)
            cost.add_prediction(head, n_train)

    def collect(step: int, rows: Tensor, logits: Tensor) -> None:
        if tgtss.is_due(step):
            tgtss.observe(functional.softmax(logits, dim=1), step=step, rows=rows)

    is_free = soft.kind == "tgtss-free"
    teacher = train_head(
        prepared.train,
        n_classes,
        teaching.arm,
        setting,
        sources[0],
        on_step=None if is_free else watch,
        on_batch=collect if is_free else None,
    )
    cost.add_training(teacher)
    return tgtss.targets(gold=prepared.train.labels).float()


class _Trace:
    """What a run says of the test split after every step; of several heads, their mean."""

    def __init__(self, prepared: Prepared) -> None:
        self._test = prepared.test
        self._n_classes = prepared.data.n_classes
        self._sums: dict[int, Tensor] = {}

    def after(self, step: int, head: Head) -> None:
        """Take what a head says after a step."""
        said = head.predict(self._test.features)
        self._sums[step] = self._sums[step] + said if step in self._sums else said

    def dynamics(self) -> Dynamics:
        """What was predicted, counted."""
        utterances = self._test.utterances
        found = Dynamics(n_classes=self._n_classes, ids=utterances.ids, labels=utterances.labels)
        while self._sums:
            step = min(self._sums)
            probs = self._sums.pop(step)
            found.update(probs / probs.sum(dim=1, keepdim=True))
        return found


def _costs(prepared: Prepared, cost: Cost, heads: list[Head]) -> dict[str, float]:
    """What training and serving take, with the encoder, in passes through a control model."""
    n_train, n_test = len(prepared.train), len(prepared.test)
    encoding = multiplications(prepared.train.n_tokens)
    control = CONTROL.width * (prepared.n_features + prepared.data.n_classes)
    encoding_served = multiplications(prepared.test.n_tokens) / n_test
    served = sum(float(head.n_multiplied) for head in heads)
    return {
        "encoder_multiplications": encoding,
        "forward_passes": (encoding + cost.total) / (encoding / n_train + control),
        "serving_multiplier": (encoding_served + served) / (encoding_served + control),
    }


def _accuracy(probs: Tensor, labels: Tensor) -> float:
    return float((probs.argmax(dim=1) == labels).float().mean())
