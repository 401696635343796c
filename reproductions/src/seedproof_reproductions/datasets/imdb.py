"""The Large Movie Review Dataset: positive or negative. Maas et al., 2011."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seedproof_reproductions.datasets.cache import Source, fetch, local_file
from seedproof_reproductions.datasets.tables import read_table
from seedproof_reproductions.datasets.texts import DEV_SHARE, TextData, Texts, tokenize

LOCAL = {split: f"imdb/imdb_{split}.csv.xz" for split in ("train", "test")}
PUBLIC = Source(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "md5:7c2ac02c03563afcf9b574c7e56c153a",
)
# Longer reviews are cut to train on, and left out of the test, as in the authors' code.
MAX_TOKENS = 400
# The paper tests on 2184 and 2172 reviews, a fifth of the shorter ones.
TEST_SHARE = 0.2
PART_SEED = 2011
CLASSES = ("negative", "positive")
NOTE = (
    f"Reviews are cut after {MAX_TOKENS} tokens to train on. The test is a fixed random fifth of "
    f"those with fewer tokens: as many as the paper's, not the same ones. The checkpoint is chosen "
    f"by {DEV_SHARE:.0%} of the training reviews, which are held out."
)


def load() -> TextData:
    """IMDB, as close to the paper's splits as the published files allow.

    Returns:
        22,500 reviews to train on, 2,500 to choose by and about 4,400 to test on.
    """
    local = {split: local_file(path) for split, path in LOCAL.items()}
    if local["train"] is not None and local["test"] is not None:
        whole, test = _from_table(local["train"]), _from_table(local["test"])
    else:
        archive = fetch(PUBLIC, folder="imdb")
        whole, test = _from_archive(archive, "train"), _from_archive(archive, "test")
    rng = np.random.default_rng(PART_SEED)
    train, dev = whole.cut(MAX_TOKENS).parted(DEV_SHARE, rng=rng)
    shorter = test.at([i for i, words in enumerate(test.tokens) if len(words) < MAX_TOKENS])
    return TextData(
        name="imdb",
        classes=CLASSES,
        train=train,
        dev=dev,
        test=shorter.parted(TEST_SHARE, rng=rng)[1],
        notes=(NOTE,),
    )


def _from_table(path: Path) -> Texts:
    rows = read_table(path, columns=("label", "text"))
    return _texts((int(row["label"]), row["text"]) for row in rows)


def _from_archive(path: Path, split: str) -> Texts:
    """The reviews of `aclImdb/<split>/pos` and `neg`, by the names of their files."""

    def reviews() -> Iterator[tuple[int, str]]:
        with tarfile.open(path) as archive:
            folders = {f"aclImdb/{split}/{name}": i for i, name in enumerate(("neg", "pos"))}
            members = [m for m in archive.getmembers() if m.name.rpartition("/")[0] in folders]
            for member in sorted(members, key=lambda member: member.name):
                file = archive.extractfile(member)
                if file is not None:
                    yield folders[member.name.rpartition("/")[0]], file.read().decode()

    return _texts(reviews())


def _texts(reviews: Iterator[tuple[int, str]]) -> Texts:
    pairs = [(label, tokenize(text)) for label, text in reviews]
    return Texts(
        ids=np.arange(len(pairs)),
        tokens=tuple(tokens for _, tokens in pairs),
        labels=np.array([label for label, _ in pairs], dtype=np.int64),
    )
