"""The text data sets of the CoNLL 2019 paper, by name.

- sst: Stanford Sentiment Treebank, whole sentences (Socher et al., 2013), in the file that the
  paper's code reads: in lower case, cut into tokens, with its splits.
- imdb: Large Movie Review Dataset (Maas et al., 2011).
- agnews: AG News, World against Business, by the description alone (Zhang et al., 2015).
- snli: Stanford Natural Language Inference (Bowman et al., 2015). The premise is attended to, and
  the hypothesis is the query.
- adr: tweets that do or do not mention an adverse drug reaction (Nikfarjam et al., 2015).
- diabetes, anemia: clinical notes of MIMIC-III (Johnson et al., 2016).

The last two sources may not be redistributed: the user's own copy is read.
"""

import csv
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seedproof.errors import EmptyInputError, UnknownLabelError, UnreadableError
from seedproof_reproductions.datasets.files import (
    Tabs,
    local_file,
    own_file,
    public_file,
    read_table,
)
from seedproof_reproductions.datasets.texts import DEV_SHARE, TextData, Texts, tokenize
from seedproof_reproductions.known import check_known
from seedproof_reproductions.packaged import read_toml

Splitter: TypeAlias = Callable[[str], tuple[str, ...]]
NOTES = read_toml(__package__, "notes.toml")
SENTIMENTS = ("negative", "positive")
SPLITS = ("train", "dev", "test")
COLUMNS = ("text", "label", "exp_split")

# The authors' code keeps sentences of more than 5 tokens, and fewer than the longest has.
SST_MORE_THAN = 5
# Longer reviews are cut to train on, and left out of the test, as in the authors' code.
IMDB_MAX_TOKENS = 400
# The paper tests on 2184 and 2172 reviews, a fifth of the shorter ones.
IMDB_TEST_SHARE = 0.2
IMDB_SEED = 2011
AGNEWS_CLASSES = ("World", "Business")
# The files count classes from 1: World, Sports, Business, Sci/Tech.
AGNEWS_LABELS = {"1": 0, "3": 1}
AGNEWS_SEED = 2015
# Assembled from parts that others published, where the official file is not available.
AGNEWS_PARTIAL = "agnews/agnews_train_partial.csv.xz"
# In the order of the paper's table.
SNLI_CLASSES = ("neutral", "contradiction", "entailment")
# Pairs on which the annotators did not agree have another label, and are left out.
SNLI_LABELS = {name: label for label, name in enumerate(SNLI_CLASSES)}
SNLI_PARTIAL = "snli/cat_train.csv"
OWN_SEED = 2019
# Clinical notes have about 2,000 tokens; the longest would decide how long a batch takes.
MIMIC_MAX_TOKENS = 4000


def load(name: str) -> TextData:
    """Load a data set by its name; an unknown one is an `UnknownNameError`."""
    check_known("data set", name, LOADERS)
    return LOADERS[name]()


def _texts(rows: Iterable[tuple[Any, ...]], split_text: Splitter = tokenize) -> Texts:
    """Make a split from the label of each example, its text, and its query if there is one.

    Ids are places among the rows. Rows whose label is None are left out.
    """
    kept = [(place, *row) for place, row in enumerate(rows) if row[0] is not None]
    ids, labels, *texts = zip(*kept, strict=True) if kept else ((), (), ())
    tokens, *queries = [tuple(map(split_text, column)) for column in texts]
    return Texts(np.array(ids, np.int64), tokens, np.array(labels, np.int64), *queries)


def _splits(rows: Sequence[Mapping[str, str]], split_text: Splitter = tokenize) -> list[Texts]:
    """Make train, dev and test from the rows of a table with `COLUMNS`."""

    def example(row: Mapping[str, str], split: str) -> tuple[int | None, str]:
        return int(row["label"]) if row["exp_split"] == split else None, row["text"]

    return [_texts((example(row, split) for row in rows), split_text) for split in SPLITS]


def _load_sst() -> TextData:
    def of_medium_length(texts: Texts) -> Texts:
        lengths = texts.lengths
        is_kept = (lengths > SST_MORE_THAN) & (lengths < lengths.max(initial=0))
        return texts.at(np.flatnonzero(is_kept))

    rows = read_table(public_file("sst/sst_dataset.csv"), columns=COLUMNS)
    train, dev, test = map(of_medium_length, _splits(rows, lambda text: tuple(text.split(" "))))
    return TextData("sst", SENTIMENTS, train, dev, test, notes=(NOTES["sst"],))


def _load_imdb() -> TextData:
    tables = [local_file(f"imdb/imdb_{split}.csv.xz") for split in ("train", "test")]
    if tables[0] is not None and tables[1] is not None:
        rows = (read_table(table, columns=("label", "text")) for table in tables if table)
        reviews = [[(int(row["label"]), row["text"]) for row in split] for split in rows]
    else:
        archive = public_file("imdb/aclImdb_v1.tar.gz")
        reviews = [list(_imdb_reviews(archive, split)) for split in ("train", "test")]
    whole, tested = map(_texts, reviews)
    rng = np.random.default_rng(IMDB_SEED)
    kept, dev = whole.cut(IMDB_MAX_TOKENS).split(DEV_SHARE, rng=rng)
    shorter = tested.at(np.flatnonzero(tested.lengths < IMDB_MAX_TOKENS))
    chosen = shorter.split(IMDB_TEST_SHARE, rng=rng)[1]
    return TextData("imdb", SENTIMENTS, kept, dev, chosen, notes=(NOTES["imdb"],))


def _imdb_reviews(path: Path, split: str) -> Iterator[tuple[int, str]]:
    """Read the reviews of `aclImdb/<split>/neg` and `pos`, by the names of their files."""
    folders = {f"aclImdb/{split}/{name}": label for label, name in enumerate(("neg", "pos"))}
    with tarfile.open(path) as archive:
        members = [m for m in archive.getmembers() if m.name.rpartition("/")[0] in folders]
        for member in sorted(members, key=lambda member: member.name):
            file = archive.extractfile(member)
            if file is not None:
                yield folders[member.name.rpartition("/")[0]], file.read().decode()


def _load_agnews() -> TextData:
    notes: tuple[str, ...] = (NOTES["agnews"],)
    partial_file = local_file(AGNEWS_PARTIAL)
    if local_file("agnews/train.csv") is None and partial_file is not None:
        whole = _agnews(partial_file, has_header=True)
        notes = (*notes, NOTES["agnews_partial"])
    else:
        whole = _agnews(public_file("agnews/train.csv"))
    train, dev = whole.split(DEV_SHARE, rng=np.random.default_rng(AGNEWS_SEED))
    test = _agnews(public_file("agnews/test.csv"))
    return TextData("agnews", AGNEWS_CLASSES, train, dev, test, notes=notes)


def _agnews(file: Path, *, has_header: bool = False) -> Texts:
    columns = ("class", "title", "description")
    rows = read_table(file, columns=columns, has_header=has_header)
    return _texts((AGNEWS_LABELS.get(row["class"]), row["description"]) for row in rows)


def _load_snli() -> TextData:
    partial_file = local_file(SNLI_PARTIAL)
    if partial_file is not None:
        train, dev, test = _snli_folder(partial_file)
        return TextData("snli", SNLI_CLASSES, train, dev, test, notes=(NOTES["snli_partial"],))
    with zipfile.ZipFile(public_file("snli/snli_1.0.zip")) as archive:
        train, dev, test = (_snli_archived(archive, split) for split in SPLITS)
    return TextData("snli", SNLI_CLASSES, train, dev, test)


def _snli_archived(archive: zipfile.ZipFile, split: str) -> Texts:
    with archive.open(f"snli_1.0/snli_1.0_{split}.txt") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
        rows = csv.DictReader(lines, dialect=Tabs)
        names = ("sentence1", "sentence2")
        return _texts((SNLI_LABELS.get(row["gold_label"]), *map(row.get, names)) for row in rows)


def _snli_folder(train: Path) -> list[Texts]:
    names = ("place", "label", "premise", "hypothesis")
    rows = read_table(train, columns=names, has_header=False, dialect=Tabs)
    # This file counts classes from 1, in the same order.
    labels = {str(label + 1): label for label in SNLI_LABELS.values()}
    splits = [_texts((labels[row["label"]], row["premise"], row["hypothesis"]) for row in rows)]
    for split in ("dev", "test"):
        columns = [
            (train.parent / f"{name}.{split}").read_text(encoding="utf-8").rstrip("\n").split("\n")
            for name in ("labels", "s1", "s2")
        ]
        if len({len(column) for column in columns}) != 1:
            raise UnreadableError(
                "labels.{split}, s1.{split} and s2.{split} in {folder} have different numbers of "
                "lines. Give one line per pair in each.",
                split=split,
                folder=train.parent,
            )
        pairs = zip(*columns, strict=True)
        splits.append(_texts((SNLI_LABELS.get(label), *texts) for label, *texts in pairs))
    return splits


def _load_own(
    name: str, path: str, title: str, classes: tuple[str, str], max_tokens: int | None = None
) -> TextData:
    """Load a data set that may not be redistributed from the user's own CSV file."""
    file = own_file(path, title=title)
    rows = read_table(file, columns=COLUMNS)
    for place, row in enumerate(rows):
        for column, allowed in (("label", ("0", "1")), ("exp_split", SPLITS)):
            if row[column] not in allowed:
                raise UnknownLabelError(
                    "Row {row} of {file} has the {column} {value!r}. Allowed: {allowed}.",
                    row=place + 1,
                    file=file,
                    column=column,
                    value=row[column],
                    allowed=tuple(allowed),
                )
    train, dev, test = _splits(rows)
    for split, texts in (("train", train), ("test", test)):
        if len(texts) == 0:
            raise EmptyInputError(
                "{file} has no row whose exp_split is {split!r}.", file=file, split=split
            )
    if len(dev) == 0:
        train, dev = train.split(DEV_SHARE, rng=np.random.default_rng(OWN_SEED))
    if max_tokens is None:
        return TextData(name, classes, train, dev, test)
    train, dev, test = (texts.cut(max_tokens) for texts in (train, dev, test))
    notes = (f"Texts are cut after {max_tokens} tokens.",)
    return TextData(name, classes, train, dev, test, notes)


_load_mimic = partial(_load_own, title="MIMIC-III", max_tokens=MIMIC_MAX_TOKENS)
LOADERS: dict[str, Callable[[], TextData]] = {
    "sst": _load_sst,
    "imdb": _load_imdb,
    "agnews": _load_agnews,
    "snli": _load_snli,
    "adr": partial(_load_own, "adr", "adr/adr.csv", "The ADR tweets", ("none", "reaction")),
    "diabetes": partial(
        _load_mimic, "diabetes", "mimic/diabetes.csv", classes=("none", "diabetes")
    ),
    "anemia": partial(_load_mimic, "anemia", "mimic/anemia.csv", classes=("acute", "chronic")),
}
