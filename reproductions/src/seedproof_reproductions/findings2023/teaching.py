"""Soft labels, and the teachers that they come from.

On the track `finetune`, the control of a seed, the averages of its weights and the teacher of that
seed are one and the same training on gold labels. It takes minutes, so it is done once per process
and observed for all arms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from torch import Tensor
from torch.nn import functional

from seedproof.stabilize.soft_labels import Tgtss, ensemble, knn_smoothed, smoothed
from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import ARMS, Arm, SoftLabels
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import Cost, Trace, Trained, fit, steps_of
from seedproof_reproductions.findings2023.heads import fit_once
from seedproof_reproductions.findings2023.models import Classifier, Sources
from seedproof_reproductions.findings2023.settings import Setting

# Of k-NN label smoothing; the paper tries 5 to 500.
NEIGHBORS = 10
# Averages that do not change a training, and teachers that can be observed together.
AVERAGES = ("none", "swa", "ema")
TEACHERS = tuple(soft for name in ("tgtss-every-10", "tgtss-free") if (soft := ARMS[name].soft))


def soft_targets(
    run: Run, prepared: Prepared, setting: Setting, arm: Arm, cost: Cost
) -> Tensor | None:
    """Return the soft labels of a run.

    Args:
        run: Its seeds are those of a fresh teacher.
        prepared: What all runs share.
        setting: How a teacher is trained.
        arm: Which soft labels; a teacher is trained as the arm itself is, except for them.
        cost: The cost of a teacher is added; a shared one costs each run as much.

    Returns:
        Axes (utterances, classes), float32; None for gold labels.
    """
    if arm.soft is None:
        return None
    n_classes = prepared.data.n_classes
    if arm.soft.kind == "smoothing":
        targets = smoothed(prepared.train.labels, n_classes=n_classes, alpha=arm.soft.alpha)
        return targets.float()
    if arm.soft.kind == "knn":
        # Every utterance is compared with every other.
        cost.total += float(len(prepared.train) ** 2 * prepared.n_features)
        return _neighbors(prepared, arm.soft.alpha)
    teacher = replace(arm, soft=None)
    if arm.soft.teacher == "shared":
        targets, spent = _shared(prepared, setting, teacher, arm.soft)
    elif setting.track == "finetune" and arm.soft in TEACHERS:
        gold = train_on_gold(prepared, setting, teacher, Sources.of(run, arm))
        targets, spent = gold.soft[arm.soft]
    else:
        spent = Cost()
        fresh = [Sources.of(run, arm) for _ in range(arm.soft.n_teachers)]
        targets = taught_labels(prepared, setting, teacher, arm.soft, sources=fresh, cost=spent)
    cost.total += spent.total
    cost.reused_seconds += spent.reused_seconds
    return targets


@lru_cache(maxsize=16)
def _shared(
    prepared: Prepared, setting: Setting, teacher: Arm, soft: SoftLabels
) -> tuple[Tensor, Cost]:
    """Return the soft labels of the teachers that all runs share, made once per process."""
    cost = Cost()
    sources = [Sources.shared(1 + index, teacher.draw) for index in range(soft.n_teachers)]
    return taught_labels(prepared, setting, teacher, soft, sources=sources, cost=cost), cost


@lru_cache(maxsize=2)
def _neighbors(prepared: Prepared, alpha: float) -> Tensor:
    return knn_smoothed(
        prepared.train.inputs,
        prepared.train.labels,
        n_classes=prepared.data.n_classes,
        k=NEIGHBORS,
        weight=alpha,
    ).float()


def taught_labels(
    prepared: Prepared,
    setting: Setting,
    teacher: Arm,
    soft: SoftLabels,
    *,
    sources: Sequence[Sources],
    cost: Cost,
) -> Tensor:
    """Train teachers, and turn their predictions into soft labels."""
    if soft.kind == "ensemble":
        probs = (_final_probs(prepared, setting, teacher, source, cost) for source in sources)
        return ensemble(probs, power=soft.power).float()
    listener = Listener(prepared, setting, teacher, soft, cost)
    trained = fit(prepared, teacher, setting, sources[0], on_step=listener.after_step)
    cost.add_training(trained)
    return listener.labels()


def _final_probs(
    prepared: Prepared, setting: Setting, teacher: Arm, sources: Sources, cost: Cost
) -> Tensor:
    """Return the predictions of a trained teacher for the training split."""
    trained = fit_once(prepared, teacher, setting, sources, cost)
    cost.add_training(trained)
    cost.add_prediction(trained.model, len(prepared.train))
    return trained.predict(prepared.train.inputs, teacher.average)


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


@dataclass(frozen=True, eq=False)
class GoldTraining:
    """A fine-tuning on gold labels, with soft labels that it gives and their cost in total."""

    trained: Trained
    cost: Cost
    soft: Mapping[SoftLabels, tuple[Tensor, Cost]]
    trace: Trace
    sources: Sources


_Key = tuple[Prepared, Setting, Arm, tuple[bytes, ...]]
_last: dict[_Key, GoldTraining] = {}


def train_on_gold(prepared: Prepared, setting: Setting, arm: Arm, sources: Sources) -> GoldTraining:
    """Fine-tune on gold labels, or reuse the same training of an arm before."""
    plain = replace(arm, soft=None, average="none")
    key = prepared, setting, plain, sources.state
    if key not in _last:
        _last.clear()
        _last[key] = _train_on_gold(prepared, setting, plain, sources.copy())
    gold = _last[key]
    sources.advance_to(gold.sources)
    return gold


def _train_on_gold(
    prepared: Prepared, setting: Setting, arm: Arm, sources: Sources
) -> GoldTraining:
    costs = {soft: Cost() for soft in TEACHERS}
    listeners = {soft: Listener(prepared, setting, arm, soft, cost) for soft, cost in costs.items()}
    trace = Trace(prepared, setting, steps_of(prepared, arm, setting))

    def after_step(step: int, model: Classifier, rows: Tensor, logits: Tensor) -> None:
        trace.after_step(step, model)
        for listener in listeners.values():
            listener.after_step(step, model, rows, logits)

    trained = fit(prepared, arm, setting, sources, averages=AVERAGES, on_step=after_step)
    training = Cost()
    training.add_training(trained)
    for cost in costs.values():
        cost.total += training.total
    soft = {soft: (listener.labels(), costs[soft]) for soft, listener in listeners.items()}
    return GoldTraining(trained, training, soft, trace, sources)
