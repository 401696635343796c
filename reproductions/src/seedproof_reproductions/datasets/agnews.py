"""AG News, World against Business, by the description alone. Zhang et al., 2015."""

from pathlib import Path

import numpy as np

from seedproof_reproductions.datasets.cache import Source, fetch, local_file
from seedproof_reproductions.datasets.tables import read_bare_table, read_table
from seedproof_reproductions.datasets.texts import DEV_SHARE, TextData, Texts, tokenize

LOCAL_TRAIN, LOCAL_TEST = "agnews/train.csv", "agnews/test.csv"
# Assembled from parts that others published, where the official file is not to be had.
LOCAL_PARTIAL = "agnews/agnews_train_partial.csv.xz"
_ADDRESS = (
    "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/"
    "555590db4219b1243abb1918effd6a7425a2d75f/data/ag_news_csv/"
)
TRAIN = Source(
    _ADDRESS + "train.csv",
    "sha256:76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
)
TEST = Source(
    _ADDRESS + "test.csv",
    "sha256:521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
)
CLASSES = ("World", "Business")
# The files count classes from 1: World, Sports, Business, Sci/Tech.
LABELS = {"1": 0, "3": 1}
PART_SEED = 2015
NOTE = (
    f"The checkpoint is chosen by {DEV_SHARE:.0%} of the training descriptions, which are held out."
)
PARTIAL_NOTE = "The training file is a part of the official one: about 47 % of it."


def load() -> TextData:
    """World and Business news; all 3,800 of them in the test, as published.

    Returns:
        60,000 descriptions to train on and choose by, or what the partial file has.
    """
    notes: tuple[str, ...] = (NOTE,)
    train, partial = local_file(LOCAL_TRAIN), local_file(LOCAL_PARTIAL)
    if train is None and partial is not None:
        whole = _partial(partial)
        notes = (NOTE, PARTIAL_NOTE)
    else:
        whole = _official(train or fetch(TRAIN, folder="agnews"))
    kept, dev = whole.parted(DEV_SHARE, rng=np.random.default_rng(PART_SEED))
    return TextData(
        name="agnews",
        classes=CLASSES,
        train=kept,
        dev=dev,
        test=_official(local_file(LOCAL_TEST) or fetch(TEST, folder="agnews")),
        notes=notes,
    )


def _official(path: Path) -> Texts:
    rows = read_bare_table(path, n_columns=3)
    return _texts([(kind, description) for kind, _, description in rows])


def _partial(path: Path) -> Texts:
    rows = read_table(path, columns=("class", "description"))
    return _texts([(row["class"], row["description"]) for row in rows])


def _texts(rows: list[tuple[str, str]]) -> Texts:
    chosen = [(place, *row) for place, row in enumerate(rows) if row[0] in LABELS]
    return Texts(
        ids=np.array([place for place, _, _ in chosen], dtype=np.int64),
        tokens=tuple(tokenize(text) for _, _, text in chosen),
        labels=np.array([LABELS[kind] for _, kind, _ in chosen], dtype=np.int64),
    )
