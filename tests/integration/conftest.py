"""A small study with exact numbers, and the command line in this process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from seedproof.cli.main import main

N_RUNS, N_EXAMPLES = 5, 40
CLASSES = ("cat", "dog", "fox")
TEXT = "PRIVATE-TEXT"


@dataclass(frozen=True)
class Study:
    """Predictions as arrays and as one long table.

    Probabilities are multiples of 1/64: exact in float16, in float32 and as decimals, so that every
    way in gives the same bits.
    """

    probs: np.ndarray
    labels: np.ndarray
    table: pa.Table
    classes: tuple[str, ...] = CLASSES


@pytest.fixture(scope="session")
def study() -> Study:
    """Five runs, forty examples, three classes; example ids 0, 10, 20 and so on."""
    rng = np.random.default_rng(20)
    base = rng.dirichlet([0.6] * 3, N_EXAMPLES)
    noisy = 0.7 * base + 0.3 * rng.dirichlet([0.5] * 3, (N_RUNS, N_EXAMPLES))
    first = np.round(noisy[..., 0] * 64)
    second = np.minimum(np.round(noisy[..., 1] * 64), 64 - first)
    probs = np.stack([first, second, 64 - first - second], axis=-1) / 64
    labels = base.argmax(axis=1)
    runs, examples = np.divmod(np.arange(N_RUNS * N_EXAMPLES), N_EXAMPLES)
    columns = {
        "run": runs,
        "example": 10 * examples,
        "label": [CLASSES[labels[e]] for e in examples],
        **{f"p_{name}": probs[runs, examples, i] for i, name in enumerate(CLASSES)},
        "text": [f"{TEXT} of example {e}" for e in examples],
    }
    return Study(probs, labels, pa.table(columns))


@pytest.fixture
def secret() -> str:
    """What stands in the text of every example, and nowhere else."""
    return TEXT


@pytest.fixture
def seedproof(monkeypatch, capfd, tmp_path) -> Callable[..., tuple[int, str, str]]:
    """The command line, called in this process, in an empty folder: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seedproof", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    monkeypatch.chdir(tmp_path)
    return call
