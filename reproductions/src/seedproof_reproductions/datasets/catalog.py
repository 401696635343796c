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
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from seedproof.errors import EmptyInputError, UnknownLabelError, UnknownNameError, UnreadableError
from seedproof_reproductions.datasets.files import (
    data_folder,
    local_file,
    own_file,
    public_file,
    read_bare_table,
    read_table,
)
from seedproof_reproductions.datasets.texts import DEV_SHARE, TextData, Texts, tokenize
from seedproof_reproductions.packaged import read_toml

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
AGNEWS_PARTIAL_NOTE = NOTES["agnews_partial"]
# In the order of the paper's table.
SNLI_CLASSES = ("neutral", "contradiction", "entailment")
SNLI_PARTIAL = "cat_train.csv"
OWN_LAYOUT = (
    "a CSV file in UTF-8 with the columns text (raw), label (0 or 1) and exp_split (train, dev or "
    "test; without dev, a tenth of train is held out)"
)
OWN_SEED = 2019
# Clinical notes have about 2,000 tokens; the longest would decide how long a batch takes.
MIMIC_MAX_TOKENS = 4000


def load(name: str) -> TextData:
    """Load a data set by its name; an unknown one is an `UnknownNameError`."""
    if name not in LOADERS:
        raise UnknownNameError(
            "There is no data set {name!r}. Known: {known}.", name=name, known=tuple(LOADERS)
        )
    return LOADERS[name]()


def _texts(rows: Iterable[tuple[int, int, tuple[str, ...]]]) -> Texts:
    """Make a split from the id, label and tokens of each example."""
    ids, labels, tokens = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    return Texts(np.array(ids, dtype=np.int64), tuple(tokens), np.array(labels, dtype=np.int64))


def _load_sst() -> TextData:
    rows = read_table(public_file("sst/sst_dataset.csv"), columns=COLUMNS)

    def split(name: str) -> Texts:
        examples = [
            (place, int(row["label"]), tuple(row["text"].split(" ")))
            for place, row in enumerate(rows)
            if row["exp_split"] == name
        ]
        longest = max((len(tokens) for _, _, tokens in examples), default=0)
        return _texts(row for row in examples if SST_MORE_THAN < len(row[2]) < longest)

    train, dev, test = map(split, SPLITS)
    return TextData("sst", SENTIMENTS, train, dev, test, notes=(NOTES["sst"],))


def _load_imdb() -> TextData:
    tables = [local_file(f"imdb/imdb_{split}.csv.xz") for split in ("train", "test")]
    if tables[0] is not None and tables[1] is not None:
        rows = (read_table(table, columns=("label", "text")) for table in tables if table)
        reviews = [[(int(row["label"]), row["text"]) for row in split] for split in rows]
    else:
        archive = public_file("imdb/aclImdb_v1.tar.gz")
        reviews = [list(_imdb_reviews(archive, split)) for split in ("train", "test")]
    whole, tested = (
        _texts((place, label, tokenize(text)) for place, (label, text) in enumerate(split))
        for split in reviews
    )
    rng = np.random.default_rng(IMDB_SEED)
    kept, dev = whole.cut(IMDB_MAX_TOKENS).split(DEV_SHARE, rng=rng)
    shorter = tested.at([i for i, t in enumerate(tested.tokens) if len(t) < IMDB_MAX_TOKENS])
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
        rows = read_table(partial_file, columns=("class", "description"))
        whole = _agnews((row["class"], row["description"]) for row in rows)
        notes = (*notes, AGNEWS_PARTIAL_NOTE)
    else:
        whole = _agnews_official("train")
    train, dev = whole.split(DEV_SHARE, rng=np.random.default_rng(AGNEWS_SEED))
    return TextData("agnews", AGNEWS_CLASSES, train, dev, _agnews_official("test"), notes=notes)


def _agnews_official(split: str) -> Texts:
    rows = read_bare_table(public_file(f"agnews/{split}.csv"), n_columns=3)
    return _agnews((kind, description) for kind, _, description in rows)


def _agnews(rows: Iterable[tuple[str, str]]) -> Texts:
    return _texts(
        (place, AGNEWS_LABELS[kind], tokenize(text))
        for place, (kind, text) in enumerate(rows)
        if kind in AGNEWS_LABELS
    )


def _load_snli() -> TextData:
    folder = data_folder()
    if folder is not None and (folder / "snli" / SNLI_PARTIAL).is_file():
        train, dev, test = _snli_folder(folder / "snli")
        return TextData("snli", SNLI_CLASSES, train, dev, test, notes=(NOTES["snli_partial"],))
    with zipfile.ZipFile(public_file("snli/snli_1.0.zip")) as archive:
        train, dev, test = (_snli_archived(archive, split) for split in SPLITS)
    return TextData("snli", SNLI_CLASSES, train, dev, test)


def _snli_archived(archive: zipfile.ZipFile, split: str) -> Texts:
    with archive.open(f"snli_1.0/snli_1.0_{split}.txt") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return _snli((row["gold_label"], row["sentence1"], row["sentence2"]) for row in reader)


def _snli_folder(folder: Path) -> list[Texts]:
    rows = read_bare_table(folder / SNLI_PARTIAL, n_columns=4, separator="\t")
    # This file counts classes from 1, in the same order.
    splits = [_snli((SNLI_CLASSES[int(kind) - 1], *texts) for _, kind, *texts in rows)]
    for split in ("dev", "test"):
        columns = [
            (folder / f"{name}.{split}").read_text(encoding="utf-8").rstrip("\n").split("\n")
            for name in ("labels", "s1", "s2")
        ]
        if len({len(column) for column in columns}) != 1:
            raise UnreadableError(
                "labels.{split}, s1.{split} and s2.{split} in {folder} have different numbers of "
                "lines. Give one line per pair in each.",
                split=split,
                folder=folder,
            )
        splits.append(_snli(zip(*columns, strict=True)))
    return splits


def _snli(rows: Iterable[tuple[str, ...]]) -> Texts:
    """Make a split of pairs; those on which the annotators did not agree are left out."""
    pairs = [(place, row) for place, row in enumerate(rows) if row[0] in SNLI_CLASSES]
    return Texts(
        ids=np.array([place for place, _ in pairs], dtype=np.int64),
        tokens=tuple(tokenize(premise) for _, (_, premise, _) in pairs),
        labels=np.array([SNLI_CLASSES.index(kind) for _, (kind, _, _) in pairs], dtype=np.int64),
        queries=tuple(tokenize(hypothesis) for _, (_, _, hypothesis) in pairs),
    )


def _load_own(
    name: str, path: str, title: str, classes: tuple[str, str], max_tokens: int | None = None
) -> TextData:
    """Load a data set that may not be redistributed from the user's own CSV file."""
    file = own_file(path, title=title, layout=OWN_LAYOUT)
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
    train, dev, test = (
        _texts(
            (place, int(row["label"]), tokenize(row["text"]))
            for place, row in enumerate(rows)
            if row["exp_split"] == split
        )
        for split in SPLITS
    )
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
