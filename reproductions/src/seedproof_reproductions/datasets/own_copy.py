"""Data sets that nobody may pass on: a CSV file of the user's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from seedproof.errors import EmptyInputError, UnknownLabelError
from seedproof_reproductions.datasets.tables import read_table
from seedproof_reproductions.datasets.texts import DEV_SHARE, TextData, Texts, tokenize

COLUMNS = ("text", "label", "exp_split")
LAYOUT = (
    "a CSV file in UTF-8 with the columns text (raw), label (0 or 1) and exp_split (train, dev or "
    "test; without dev, a tenth of train is held out)"
)
SPLITS = ("train", "dev", "test")
LABELS = ("0", "1")
PART_SEED = 2019


def read_own(
    path: Path, *, name: str, classes: tuple[str, str], max_tokens: int | None = None
) -> TextData:
    """A data set from a file of the user's own.

    Args:
        path: A CSV file with the columns `text`, `label` and `exp_split`.
        name: What the data set is called.
        classes: Names of the classes 0 and 1.
        max_tokens: Where longer texts are cut; None cuts none.

    Returns:
        Its splits.

    Raises:
        UnknownLabelError: A label or a split is none of those allowed.
        EmptyInputError: There is nothing to train on, or to test on.
    """
    rows = read_table(path, columns=COLUMNS)
    for place, row in enumerate(rows):
        for column, allowed in (("label", LABELS), ("exp_split", SPLITS)):
            if row[column] not in allowed:
                raise UnknownLabelError(
                    f"Row {place + 1} of {path} has the {column} {row[column]!r}. "
                    f"Allowed: {', '.join(allowed)}."
                )
    splits = {split: _split(rows, split) for split in SPLITS}
    for split in ("train", "test"):
        if len(splits[split]) == 0:
            raise EmptyInputError(f"{path} has no row whose exp_split is {split!r}.")
    train, dev = splits["train"], splits["dev"]
    if len(dev) == 0:
        train, dev = train.parted(DEV_SHARE, rng=np.random.default_rng(PART_SEED))
    data = TextData(name, classes, train, dev, splits["test"])
    if max_tokens is None:
        return data
    return replace(
        data,
        train=data.train.cut(max_tokens),
        dev=data.dev.cut(max_tokens),
        test=data.test.cut(max_tokens),
        notes=(f"Texts are cut after {max_tokens} tokens.",),
    )


def _split(rows: list[dict[str, str]], split: str) -> Texts:
    chosen = [(place, row) for place, row in enumerate(rows) if row["exp_split"] == split]
    return Texts(
        ids=np.array([place for place, _ in chosen], dtype=np.int64),
        tokens=tuple(tokenize(row["text"]) for _, row in chosen),
        labels=np.array([int(row["label"]) for _, row in chosen], dtype=np.int64),
    )
