"""What every run of a setting shares: utterances as its models read them, and labels."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seedproof.typing import IntArray
from seedproof_reproductions.datasets import clinc150, massive
from seedproof_reproductions.datasets.cache import data_folder
from seedproof_reproductions.datasets.intents import IntentData, Utterances
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.minilm import FEATURES, PADDING, encode, tokenize

LOADERS = {"clinc150": clinc150.load, "massive": massive.load}
# Which part a smaller study takes.
PART_SEED = 2023


@dataclass(frozen=True, eq=False)
class Split:
    """Utterances as a model sees them.

    Args:
        utterances: What they are.
        inputs: Axes (utterances, features), standardized; or the numbers of their tokens.
        labels: Gold class of each.
        n_tokens: How many tokens the encoder reads of each.
    """

    utterances: Utterances
    inputs: Tensor
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
        n_features: Numbers that the encoder makes of an utterance.
    """

    data: IntentData
    train: Split
    test: Split
    n_features: int = FEATURES


def prepare(setting: Setting) -> Prepared:
    """Read a data set, and compute the features of its utterances once.

    Args:
        setting: Which data set, which part of it, and for which track.

    Returns:
        What every run shares; the same object for the same setting and folder of data sets.
    """
    return _prepared(setting, data_folder())


@lru_cache(maxsize=1)
def _prepared(setting: Setting, _folder: Path | None) -> Prepared:
    data = LOADERS[setting.dataset]()
    train = data.train.smaller(setting.n_train, seed=PART_SEED)
    test = data.test.smaller(setting.n_test, seed=PART_SEED)
    inputs, n_tokens = (
        _tokens(train, test) if setting.track == "finetune" else _features(train, test)
    )
    splits = [
        Split(utterances, values, torch.from_numpy(utterances.labels.astype(np.int64)), lengths)
        for utterances, values, lengths in zip((train, test), inputs, n_tokens, strict=True)
    ]
    return Prepared(data, splits[0], splits[1])


def _tokens(*splits: Utterances) -> tuple[list[Tensor], list[IntArray]]:
    """Numbers of the tokens of each split, and how many each utterance has."""
    tokens = [tokenize(split.texts) for split in splits]
    return tokens, [(one != PADDING).sum(dim=1).numpy() for one in tokens]


def _features(train: Utterances, test: Utterances) -> tuple[list[Tensor], list[IntArray]]:
    """Features with mean 0 and standard deviation 1 over what is trained on, and lengths."""
    encoded = [encode(split.texts) for split in (train, test)]
    first = encoded[0].features
    center, spread = first.mean(axis=0), first.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    features = [torch.from_numpy((one.features - center) / scale) for one in encoded]
    return features, [one.n_tokens for one in encoded]
