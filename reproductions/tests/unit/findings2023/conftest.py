"""Made features, so that a head trains in a moment."""

import numpy as np
import pytest
import torch

from seedproof_reproductions.datasets.intents import IntentData, Utterances
from seedproof_reproductions.findings2023.data import Prepared, Split
from seedproof_reproductions.findings2023.settings import Setting


@pytest.fixture(scope="module")
def setting():
    """Two epochs of four batches."""
    return Setting("clinc150", epochs=2, batch_size=64, n_traced=1, n_traced_control=1)


@pytest.fixture(scope="module")
def prepared():
    """Five classes around five points; 250 utterances to train on, 100 to test on."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(5, 12))

    def made(n: int, start: int) -> Split:
        labels = np.arange(n) % 5
        features = (centers[labels] + 0.9 * rng.normal(size=(n, 12))).astype(np.float32)
        ids = np.arange(start, start + n)
        utterances = Utterances(ids, tuple(map(str, ids)), labels)
        inputs, gold = torch.from_numpy(features), torch.from_numpy(labels)
        return Split(utterances, inputs, gold, n_tokens=np.full(n, 10))

    train, test = made(250, 0), made(100, 250)
    data = IntentData("made", tuple("abcde"), train.utterances, test.utterances, test.utterances)
    return Prepared(data, train, test, n_features=12)
