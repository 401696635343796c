"""Soft labels, and the teachers that they come from."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from torch import Tensor

from seedproof.stabilize.soft_labels import ensemble, knn_smoothed, smoothed
from seedproof.training.run import Run
from seedproof_reproductions.findings2023.arms import CONTROL, Arm, SoftLabels
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import Cost, Listener, fit
from seedproof_reproductions.findings2023.gold import GoldTraining, train_on_gold
from seedproof_reproductions.findings2023.heads import fit_once
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting

# Of k-NN label smoothing; the paper tries 5 to 500.
NEIGHBORS = 10


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
    if setting.track == "finetune":
        targets, total = _fine_tuned(run, prepared, setting, arm, arm.soft)
        cost.total += total
        return targets
    teacher = replace(arm, soft=None)
    if arm.soft.teacher == "shared":
        targets, spent = _shared(prepared, setting, teacher, arm.soft)
    else:
        spent = Cost()
        fresh = [Sources.of(run, arm) for _ in range(arm.soft.n_teachers)]
        targets = taught_labels(prepared, setting, teacher, arm.soft, sources=fresh, cost=spent)
    cost.total += spent.total
    cost.reused_seconds += spent.reused_seconds
    return targets


def gold_training(run: Run, prepared: Prepared, setting: Setting, arm: Arm) -> GoldTraining:
    """Return the fine-tuning of a run on gold labels."""
    is_traced = int(run.name) < setting.n_traced_control
    return train_on_gold(prepared, setting, arm, Sources.of(run, arm), is_traced=is_traced)


def _fine_tuned(
    run: Run, prepared: Prepared, setting: Setting, arm: Arm, soft: SoftLabels
) -> tuple[Tensor, float]:
    """Return the soft labels of fine-tuned teachers, and what they cost.

    An ensemble that all runs share is that of the first controls of the study: they are trained in
    any case.
    """
    if soft.kind == "ensemble":
        controls = [*_controls(prepared, setting, soft.n_teachers)]
        predicting = len(prepared.train) * controls[0].costs["serving"]
        probs = ensemble((gold.train["none"] for gold in controls), power=soft.power)
        return probs.float(), sum(gold.costs["training"] + predicting for gold in controls)
    if soft.teacher == "fresh":
        return gold_training(run, prepared, setting, arm).taught(soft)
    shared = Sources.shared(1, arm.draw)
    gold = train_on_gold(prepared, setting, arm, shared, is_traced=False)
    return gold.taught(replace(soft, teacher="fresh"))


def _controls(prepared: Prepared, setting: Setting, n_controls: int) -> Iterator[GoldTraining]:
    """Return the control of each of the first runs of a study."""
    for index in range(n_controls):
        is_traced, sources = index < setting.n_traced_control, Sources.of_seed(setting.seed, index)
        yield train_on_gold(prepared, setting, CONTROL, sources, is_traced=is_traced)


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
