"""Soft labels: what a model learns instead of gold labels, and the teachers they come from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from torch import Tensor

from seedproof.runs.run import Run
from seedproof.stabilize.soft_labels import ensemble, knn_smoothed, smoothed
from seedproof_reproductions.findings2023.arms import Arm, SoftLabels
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.gold import TEACHERS, on_gold
from seedproof_reproductions.findings2023.listening import Listener
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.sources import Sources

# Of k-NN label smoothing; the paper tries 5 to 500.
NEIGHBORS = 10


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
        Axes (utterances, classes), float32; None for gold labels.
    """
    if arm.soft is None:
        return None
    n_classes = prepared.data.n_classes
    if arm.soft.kind == "smoothing":
        found = smoothed(prepared.train.labels, n_classes=n_classes, alpha=arm.soft.alpha)
        return found.float()
    if arm.soft.kind == "knn":
        # Every utterance is compared with every other.
        cost.forward += float(len(prepared.train) ** 2 * prepared.n_features)
        return _neighbors(prepared, arm.soft.alpha)
    teaching = replace(arm, soft=None)
    if arm.soft.teacher == "shared":
        found, spent = _shared(prepared, setting, teaching, arm.soft)
    elif setting.track == "finetune" and arm.soft in TEACHERS:
        found, spent = on_gold(prepared, setting, teaching, Sources.of(run, arm)).soft[arm.soft]
    else:
        spent = Cost()
        fresh = [Sources.of(run, arm) for _ in range(arm.soft.n_teachers)]
        found = Teaching(prepared, setting, teaching, arm.soft).labels(fresh, spent)
    cost.add(spent)
    return found


@lru_cache(maxsize=16)
def _shared(
    prepared: Prepared, setting: Setting, teaching: Arm, soft: SoftLabels
) -> tuple[Tensor, Cost]:
    """Soft labels of the teachers that all runs share, made once in a process."""
    cost = Cost()
    sources = [Sources.shared(1 + index, teaching.draw) for index in range(soft.n_teachers)]
    return Teaching(prepared, setting, teaching, soft).labels(sources, cost), cost


@lru_cache(maxsize=2)
def _neighbors(prepared: Prepared, alpha: float) -> Tensor:
    found = knn_smoothed(
        prepared.train.inputs,
        prepared.train.labels,
        n_classes=prepared.data.n_classes,
        k=NEIGHBORS,
        weight=alpha,
    )
    return found.float()


@dataclass(frozen=True, eq=False)
class Teaching:
    """How teachers are trained, and what is made of what they say.

    Args:
        prepared: What they are trained on.
        setting: How.
        arm: How otherwise.
        soft: What is made of it.
    """

    prepared: Prepared
    setting: Setting
    arm: Arm
    soft: SoftLabels

    def labels(self, sources: Sequence[Sources], cost: Cost) -> Tensor:
        """Train the teachers, and make soft labels of what they say."""
        if self.soft.kind == "ensemble":
            said = (self._after_training(one, cost) for one in sources)
            return ensemble(said, power=self.soft.power).float()
        listener = Listener(self.prepared, self.setting, self.arm, self.soft, cost)
        teacher = fit(
            self.prepared,
            self.arm,
            self.setting,
            sources[0],
            on_step=listener.after_step,
            on_batch=listener.after_batch,
        )
        cost.add_training(teacher)
        return listener.labels()

    def _after_training(self, sources: Sources, cost: Cost) -> Tensor:
        """What a teacher says of the training split in the end."""
        train = self.prepared.train
        teacher = fit(self.prepared, self.arm, self.setting, sources)
        cost.add_training(teacher)
        cost.add_prediction(teacher.model, len(train))
        return teacher.predict(train.inputs, self.arm.average)
