"""Fine-tunings on gold labels: each is made once, for all arms and processes that need it.

On the track `finetune`, the control of a seed, the averages of its weights and the teacher of that
seed are one and the same training, and the controls are the ensemble that other arms learn from. A
training takes minutes, so what it predicts and teaches is kept in the cache folder.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Self, cast

import torch
from torch import Tensor

from seedproof.records.locks import Lock, acquire
from seedproof_reproductions.findings2023.arms import ARMS, Arm, SoftLabels
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import (
    Cost,
    Listener,
    Trace,
    Trained,
    fit,
    steps_of,
)
from seedproof_reproductions.findings2023.models import Classifier, Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.minilm import PACKAGE, cache_folder

# Averages that do not change a training, and teachers that can be observed together.
AVERAGES = ("none", "swa", "ema")
TEACHERS = {
    soft: name for name in ("tgtss-every-10", "tgtss-free") if (soft := ARMS[name].soft) is not None
}
# Code and packages that determine a training.
CODE = (
    ("seedproof", "stabilize"),
    ("seedproof", "training"),
    ("seedproof_reproductions", "findings2023"),
    ("seedproof_reproductions", "minilm.py"),
)
PACKAGES = (PACKAGE, "numpy", "seedproof", "torch", "transformers")


@dataclass(frozen=True, eq=False)
class GoldTraining:
    """Predictions and soft labels of one fine-tuning.

    Args:
        test: Probabilities for the test split, by average of the weights.
        train: The same for the training split.
        soft: Soft labels, by the arm that learns from them.
        traced: Probabilities for the test split during the training, axes (times, utterances,
            classes).
        costs: Multiplications, of the training (`training`), of it as a teacher (by arm), and of
            serving one utterance (`serving`).
        states: States of the generators at the end.
    """

    test: Mapping[str, Tensor]
    train: Mapping[str, Tensor]
    soft: Mapping[str, Tensor]
    traced: Tensor
    costs: Mapping[str, float]
    states: Sources

    def taught(self, soft: SoftLabels) -> tuple[Tensor, float]:
        """Return soft labels of this training, and what they cost."""
        name = TEACHERS[soft]
        return self.soft[name], self.costs[name]

    def save(self, path: Path) -> None:
        """Write all of it to a file, which appears when it is complete."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        content["states"] = [generator.get_state() for generator in self.states]
        draft = path.with_suffix(f".{os.getpid()}.pt")
        torch.save(content, draft)
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        content = torch.load(path, weights_only=True)
        states = Sources(*(torch.Generator() for _ in Sources._fields))
        for generator, state in zip(states, content.pop("states"), strict=True):
            generator.set_state(state)
        return cls(**content, states=states)


def train_on_gold(
    prepared: Prepared, setting: Setting, arm: Arm, sources: Sources, *, is_traced: bool
) -> GoldTraining:
    """Fine-tune on gold labels, or read the same training from the cache.

    Args:
        prepared: What it is trained on.
        setting: Epochs, batches, learning rate.
        arm: Method; its soft labels and its average do not matter.
        sources: Its randomness, which advances.
        is_traced: Whether it predicts the test split while it trains.

    Returns:
        Predictions and soft labels.
    """
    key = training_key(prepared, setting, arm, sources, is_traced=is_traced)
    path = cache_folder() / f"gold-{key}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another process that needs the same training waits for it.
    with cast("Lock", acquire(path.with_suffix(".lock"), seconds=math.inf)):
        if path.is_file():
            gold = GoldTraining.load(path)
        else:
            gold = _train(prepared, setting, _plain(arm), sources.copy(), is_traced=is_traced)
            gold.save(path)
    sources.advance_to(gold.states)
    return gold


def training_key(
    prepared: Prepared, setting: Setting, arm: Arm, sources: Sources, *, is_traced: bool
) -> str:
    """Return the name of a training: data, recipe, randomness, versions and code."""
    used = setting.name, _plain(arm), is_traced, _code()
    digest = blake2b(repr(used).encode(), digest_size=16)
    for values in (prepared.train.inputs, prepared.train.labels, prepared.test.inputs):
        digest.update(values.numpy().tobytes())
    for state in sources.state:
        digest.update(state)
    return digest.hexdigest()


@cache
def _code() -> str:
    """Return a digest of the code and the versions, as of the first call in this process."""
    digest = blake2b(repr([version(name) for name in PACKAGES]).encode(), digest_size=16)
    for package, part in CODE:
        place = Path(str(files(package))) / part
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in {".py", ".toml"}:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _plain(arm: Arm) -> Arm:
    """Return an arm reduced to what a training on gold labels depends on."""
    return replace(arm, soft=None, average="none", title="")


def _train(
    prepared: Prepared, setting: Setting, arm: Arm, sources: Sources, *, is_traced: bool
) -> GoldTraining:
    costs = {name: Cost() for name in TEACHERS.values()}
    listeners = {
        name: Listener(prepared, setting, arm, soft, costs[name]) for soft, name in TEACHERS.items()
    }
    trace, traced = Trace(prepared, setting, steps_of(prepared, arm, setting)), list[Tensor]()

    def after_step(step: int, model: Classifier, rows: Tensor, logits: Tensor) -> None:
        if is_traced and trace.is_due(step):
            traced.append(model.predict(prepared.test.inputs))
        for listener in listeners.values():
            listener.after_step(step, model, rows, logits)

    trained = fit(prepared, arm, setting, sources, averages=AVERAGES, on_step=after_step)
    training = Cost()
    training.add_training(trained)
    return GoldTraining(
        _predictions(trained, prepared.test.inputs),
        _predictions(trained, prepared.train.inputs),
        {name: listener.labels() for name, listener in listeners.items()},
        torch.stack(traced) if traced else torch.empty(0),
        {
            "training": training.total,
            "serving": trained.model.n_multiplied,
            **{name: cost.total + training.total for name, cost in costs.items()},
        },
        sources,
    )


def _predictions(trained: Trained, inputs: Tensor) -> dict[str, Tensor]:
    return {average: trained.predict(inputs, average) for average in AVERAGES}
