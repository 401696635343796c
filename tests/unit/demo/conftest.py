"""A small bundle with exact numbers."""

import numpy as np
import pytest

from seedproof.demo.bundle import Bundle
from seedproof.records.manifest import RunManifest, StudyManifest

ARMS = ("none", "mine")
SEEDS = {"0": 11, "1": 12}


@pytest.fixture
def bundle() -> Bundle:
    """Two arms of two runs, three examples, of which the first and the last are explained."""
    runs = tuple(
        RunManifest(f"{arm}-{name}", name, arm=arm, seeds={"init": seed}, scalars={"loss": 0.5})
        for arm in ARMS
        for name, seed in SEEDS.items()
    )
    return Bundle(
        study=StudyManifest("small", plan={"arms": list(ARMS)}),
        runs=runs,
        split="test",
        method="attention",
        classes=("no", "yes"),
        ids=np.array([3, 5, 20]),
        labels=np.array([1, 0, 1]),
        # 1/3 is not exact in binary, so that float32 differs from shorter types.
        probs=np.array([[0.5, 1 / 3, 1], [0.25, 0, 1], [0.75, 0.5, 0.5], [1, 1, 0]], np.float32),
        explained=np.array([0, 2]),
        lengths=np.array([1, 3]),
        scores=np.array([[1, 0.5, 0.25, 0.25]] * 3 + [[1, 0, 0, 1]], np.float32),
    )
