"""Stanford natural language inference: does one sentence follow from another? Bowman et al., 2015.

The premise is attended to; the hypothesis is the query.
"""

import csv
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from seedproof.errors import UnreadableError
from seedproof_reproductions.datasets.cache import Source, data_folder, fetch
from seedproof_reproductions.datasets.texts import TextData, Texts, tokenize

PUBLIC = Source(
    "https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
    "sha256:afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
)
# In the order of the paper's table.
CLASSES = ("neutral", "contradiction", "entailment")
PARTIAL = "cat_train.csv"
NOTE = "The training file is a part of the official one: 18,000 of 549,367 pairs."


def load() -> TextData:
    """SNLI; pairs on which the annotators did not agree are left out, as always.

    Returns:
        Pairs of sentences; dev and test as published.
    """
    folder = data_folder()
    if folder is not None and (folder / "snli" / PARTIAL).is_file():
        return _from_folder(folder / "snli")
    with zipfile.ZipFile(fetch(PUBLIC, folder="snli")) as archive:
        train, dev, test = (_from_archive(archive, split) for split in ("train", "dev", "test"))
    return TextData("snli", CLASSES, train, dev, test)


def _from_archive(archive: zipfile.ZipFile, split: str) -> Texts:
    with archive.open(f"snli_1.0/snli_1.0_{split}.txt") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return _texts((row["gold_label"], row["sentence1"], row["sentence2"]) for row in reader)


def _from_folder(folder: Path) -> TextData:
    with (folder / PARTIAL).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if any(len(row) != 4 for row in rows):
        raise UnreadableError(
            f"{folder / PARTIAL} has a row without four fields: label, label, premise, hypothesis."
        )
    # This file counts classes from 1, in the same order.
    train = _texts((CLASSES[int(kind) - 1], one, two) for _, kind, one, two in rows)
    return TextData(
        "snli", CLASSES, train, _lines(folder, "dev"), _lines(folder, "test"), notes=(NOTE,)
    )


def _lines(folder: Path, split: str) -> Texts:
    columns = [
        (folder / f"{name}.{split}").read_text(encoding="utf-8").rstrip("\n").split("\n")
        for name in ("labels", "s1", "s2")
    ]
    if len({len(column) for column in columns}) != 1:
        raise UnreadableError(
            f"labels.{split}, s1.{split} and s2.{split} in {folder} have different numbers of "
            "lines. Give one line a pair in each."
        )
    return _texts(zip(*columns, strict=True))


def _texts(rows: Iterable[tuple[str, ...]]) -> Texts:
    chosen = [(place, row) for place, row in enumerate(rows) if row[0] in CLASSES]
    return Texts(
        ids=np.array([place for place, _ in chosen], dtype=np.int64),
        tokens=tuple(tokenize(premise) for _, (_, premise, _) in chosen),
        labels=np.array([CLASSES.index(kind) for _, (kind, _, _) in chosen], dtype=np.int64),
        queries=tuple(tokenize(hypothesis) for _, (_, _, hypothesis) in chosen),
    )
