"""The fine-tuning on gold labels that several arms of one seed have in common.

The control of a seed, the averages of its weights, and the teacher of that seed are one and the
same training. It takes minutes, so that it is made once in a process, and heard out for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from seedproof_reproductions.findings2023.arms import ARMS, Arm, SoftLabels
from seedproof_reproductions.findings2023.classifier import Classifier
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import Trained, fit, steps_of
from seedproof_reproductions.findings2023.listening import Listener
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.findings2023.traces import Trace

# Averages that only look on, and teachers that are heard out.
AVERAGES = ("none", "swa", "ema")
TEACHERS = tuple(soft for name in ("tgtss-every-10", "tgtss-free") if (soft := ARMS[name].soft))


@dataclass(frozen=True, eq=False)
class Gold:
    """A training on gold labels.

    Args:
        trained: The model, with the averages of its weights.
        cost: What the training took.
        soft: Soft labels that it gives as a teacher, and what they took with it.
        trace: What it said while it trained.
        sources: Where its randomness ended.
    """

    trained: Trained
    cost: Cost
    soft: Mapping[SoftLabels, tuple[Tensor, Cost]]
    trace: Trace
    sources: Sources


_Key = tuple[Prepared, Setting, Arm, tuple[bytes, ...]]
_last: dict[_Key, Gold] = {}


def on_gold(prepared: Prepared, setting: Setting, arm: Arm, sources: Sources) -> Gold:
    """Fine-tune on gold labels, or take the same training of an arm before.

    Args:
        prepared: What it is trained on.
        setting: How.
        arm: How otherwise.
        sources: Its randomness, which goes on behind it either way.

    Returns:
        The training.
    """
    plain = replace(arm, soft=None, average="none")
    key = prepared, setting, plain, sources.state
    if key not in _last:
        _last.clear()
        _last[key] = _made(prepared, setting, plain, sources.copy())
    found = _last[key]
    sources.go_on_from(found.sources)
    return found


def _made(prepared: Prepared, setting: Setting, arm: Arm, sources: Sources) -> Gold:
    heard = {soft: Cost() for soft in TEACHERS}
    listeners = {soft: Listener(prepared, setting, arm, soft, cost) for soft, cost in heard.items()}
    trace = Trace(prepared, every=setting.trace_every(steps_of(prepared, arm, setting)))

    def after_step(step: int, model: Classifier) -> None:
        trace.after_step(step, model)
        for listener in listeners.values():
            listener.after_step(step, model)

    def after_batch(step: int, rows: Tensor, logits: Tensor) -> None:
        for listener in listeners.values():
            listener.after_batch(step, rows, logits)

    trained = fit(
        prepared,
        arm,
        setting,
        sources,
        averages=AVERAGES,
        on_step=after_step,
        on_batch=after_batch,
    )
    cost = Cost()
    cost.add_training(trained)
    for spent in heard.values():
        spent.add(cost)
    soft = {soft: (one.labels(), heard[soft]) for soft, one in listeners.items()}
    return Gold(trained, cost, soft, trace, sources)
