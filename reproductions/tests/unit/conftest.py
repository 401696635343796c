"""Made data, laid out as a folder of the user's own copies."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

GOOD, BAD = ("fine", "warm", "clever", "moving"), ("dull", "cold", "clumsy", "empty")
FILLER = ("the", "film", "is", "a", "story", "of", "two", "people", "and", "their", "dog")


def sentence(label: int, rng: np.random.Generator) -> str:
    """Eight or nine words, two of which tell the label."""
    words = list(rng.choice(FILLER, 6 + rng.integers(2)))
    words += list(rng.choice(GOOD if label else BAD, 2))
    return " ".join(rng.permutation(words))


@pytest.fixture
def write_csv(data_folder) -> Callable[..., Path]:
    """Writes rows below the data folder, and gives the file."""

    def write(path: str, rows: list) -> Path:
        place = data_folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return place

    return write


@pytest.fixture
def data_folder(tmp_path, monkeypatch) -> Path:
    """An empty folder that `SEEDPROOF_DATA` names."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("SEEDPROOF_DATA", str(folder))
    return folder


@pytest.fixture
def made_sst(data_folder, write_csv) -> Path:
    """Sentences that a small model learns in a few steps, and vectors of most of their words."""
    rng = np.random.default_rng(3)
    rows = [("text", "label", "exp_split")]
    for split, n_rows in (("train", 120), ("dev", 40), ("test", 40)):
        rows += [(sentence(i % 2, rng), i % 2, split) for i in range(n_rows)]
        # The longest of each split is left out by the paper's filter.
        rows.append((" ".join(FILLER * 2), 0, split))
    write_csv("sst/sst_dataset.csv", rows)
    words = (*GOOD[:-1], *BAD, *FILLER)
    (data_folder / "word_vectors").mkdir()
    np.savez(
        data_folder / "word_vectors" / "glove6b_100d_subset_f16.npz",
        words=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        vectors=rng.normal(0, 0.4, (len(words), 100)).astype(np.float16),
    )
    return data_folder
