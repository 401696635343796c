"""Everything that the runs of a setting share: utterances as models read them, and labels."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seedproof.typing import IntArray
from seedproof_reproductions.datasets.files import data_folder
from seedproof_reproductions.datasets.intents import LOADERS, IntentData, Utterances
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.minilm import FEATURES, PADDING, encode, tokenize

# Seed of the part that a smaller study takes.
PART_SEED = 2023


@dataclass(frozen=True, eq=False)
class Split:
    """Utterances as a model sees them."""

    utterances: Utterances
    inputs: Tensor
    labels: Tensor
    n_tokens: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Tensor) -> "Split":
        """Return the utterances at some rows, which may repeat."""
        numbers = rows.numpy()
        return Split(
            self.utterances.at(numbers),
            self.inputs[rows],
            self.labels[rows],
            self.n_tokens[numbers],
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set, what is trained on, what is measured, and the encoder's number of features."""

    data: IntentData
    train: Split
    test: Split
    n_features: int = FEATURES


def prepare(setting: Setting) -> Prepared:
    """Read a data set, and compute the features of its utterances once per folder of data sets."""
    return _prepared(setting, data_folder())


def resampled(prepared: Prepared, rows: Tensor) -> Prepared:
    """Return a run's own sample of the training split, which is all that the run knows of it.

    Features have mean 0 and sd 1 over the sample. The same rows give the same object, so that
    trainings of other arms can be reused.
    """
    return _resampled(prepared, tuple(rows.tolist()))


@lru_cache(maxsize=1)
def _resampled(prepared: Prepared, rows: tuple[int, ...]) -> Prepared:
    train, test = prepared.train.at(torch.tensor(rows)), prepared.test
    if train.inputs.is_floating_point():  # features, not tokens
        center, spread = train.inputs.mean(dim=0), train.inputs.std(dim=0, correction=0)
        scale = torch.where(spread > 0, spread, 1.0)
        train, test = (
            replace(split, inputs=(split.inputs - center) / scale) for split in (train, test)
        )
    return replace(prepared, train=train, test=test)


@lru_cache(maxsize=1)
def _prepared(setting: Setting, _folder: Path | None) -> Prepared:
    data = LOADERS[setting.dataset]()
    parts = (
        data.train.sample(setting.n_train, seed=PART_SEED),
        getattr(data, setting.test_split).sample(setting.n_test, seed=PART_SEED),
    )
    inputs, n_tokens = _tokens(*parts) if setting.track == "finetune" else _features(*parts)
    train, test = (
        Split(utterances, values, torch.from_numpy(utterances.labels.astype(np.int64)), lengths)
        for utterances, values, lengths in zip(parts, inputs, n_tokens, strict=True)
    )
    return Prepared(data, train, test)


def _tokens(*splits: Utterances) -> tuple[list[Tensor], list[IntArray]]:
    """Return the tokens of each split, and their number per utterance."""
    tokens = [tokenize(split.texts) for split in splits]
    return tokens, [(numbers != PADDING).sum(dim=1).numpy() for numbers in tokens]


def _features(*splits: Utterances) -> tuple[list[Tensor], list[IntArray]]:
    """Return features with mean 0 and sd 1 over the first split, and numbers of tokens."""
    encoded = [encode(split.texts) for split in splits]
    first = encoded[0].features
    center, spread = first.mean(axis=0), first.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    features = [torch.from_numpy((split.features - center) / scale) for split in encoded]
    return features, [split.n_tokens for split in encoded]
