"""What every run of a setting shares: features of the utterances, standardized, and labels."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from seedproof.papers.datasets import clinc150, massive
from seedproof.papers.datasets.intents import IntentData, Utterances
from seedproof.papers.findings2023.settings import Setting
from seedproof.papers.minilm import encode
from seedproof.typing import FloatArray, IntArray

LOADERS = {"clinc150": clinc150.load, "massive": massive.load}
# Which part a smaller study takes.
PART_SEED = 2023


@dataclass(frozen=True, eq=False)
class Split:
    """Utterances as a head sees them.

    Args:
        utterances: What they are.
        features: Axes (utterances, features).
        labels: Gold class of each.
        n_tokens: How many tokens the encoder read of each.
    """

    utterances: Utterances
    features: Tensor
    labels: Tensor
    n_tokens: IntArray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What every run shares.

    Args:
        data: The utterances.
        train: What is trained on.
        test: What is measured.
    """

    data: IntentData
    train: Split
    test: Split

    @property
    def n_features(self) -> int:
        """Numbers an utterance."""
        return int(self.train.features.shape[1])


@lru_cache(maxsize=1)
def prepare(setting: Setting) -> Prepared:
    """Read a data set, and compute the features of its utterances once.

    Args:
        setting: Which data set, and which part of it.

    Returns:
        What every run shares; the same object for the same setting.
    """
    data = LOADERS[setting.dataset]()
    train = data.train.smaller(setting.n_train, seed=PART_SEED)
    test = data.test.smaller(setting.n_test, seed=PART_SEED)
    encoded = [encode(split.texts) for split in (train, test)]
    mean, scale = _standard(encoded[0].features)
    splits = [
        Split(
            utterances,
            torch.from_numpy((found.features - mean) / scale),
            torch.from_numpy(utterances.labels.astype(np.int64)),
            found.n_tokens,
        )
        for utterances, found in zip((train, test), encoded, strict=True)
    ]
    return Prepared(data, splits[0], splits[1])


def _standard(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature over what is trained on."""
    scale = features.std(axis=0)
    return features.mean(axis=0), np.where(scale > 0, scale, 1.0)
