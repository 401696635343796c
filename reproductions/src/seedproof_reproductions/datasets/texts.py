"""Texts with labels as tokens, and their words as numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from seedproof.errors import OptionError, ShapeError
from seedproof.typing import IntArray

NUMBER, EMPTY = "<number>", "<empty>"
# Share of the training examples that is held out where a data set has no dev split.
DEV_SHARE = 0.1
# The first numbers are not words. Padding is 0, so that an array of zeros is padding.
PADDING, UNKNOWN, START, END = range(4)
MARKS = ("<padding>", "<unknown>", "<start>", "<end>")
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[a-z]+|[0-9]+")


def tokenize(text: str) -> tuple[str, ...]:
    """Split a raw text into words in lower case: `don't` gives `don` and `t`, as in the SST file.

    HTML tags and punctuation are dropped, and each number is the token `<number>`. A text without
    letters and digits is the token `<empty>`, since attention needs a position to attend to.
    """
    words = _WORD.findall(_TAG.sub(" ", text).lower())
    return tuple(NUMBER if word[0].isdigit() else word for word in words) or (EMPTY,)


@dataclass(frozen=True, eq=False)
class Examples:
    """One split of a data set: columns with a value per example."""

    def __post_init__(self) -> None:
        sizes = {len(column) for column in self._columns().values()}
        if len(sizes) != 1:
            raise ShapeError(
                "Ids, texts and labels have different lengths: {sizes}. "
                "Pass one of each per example.",
                sizes=sorted(sizes),
            )

    def _columns(self) -> dict[str, Any]:
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: column for name, column in columns.items() if column is not None}

    def __len__(self) -> int:
        return len(next(iter(self._columns().values())))

    def at(self, positions: Sequence[int] | IntArray) -> Self:
        """Return the examples at some positions, with their ids."""
        where = np.asarray(positions, dtype=np.int64)
        chosen = {
            name: column[where] if name in {"ids", "labels"} else tuple(column[i] for i in where)
            for name, column in self._columns().items()
        }
        return replace(self, **chosen)


@dataclass(frozen=True, eq=False)
class Texts(Examples):
    """Texts as tokens.

    Args:
        ids: Number of each example in its source: it does not change when examples are left out.
        tokens: The tokens of each text.
        labels: Gold class of each, as an index.
        queries: The tokens of each second text, where examples are pairs.
    """

    ids: IntArray
    tokens: tuple[tuple[str, ...], ...]
    labels: IntArray
    queries: tuple[tuple[str, ...], ...] | None = None

    @property
    def lengths(self) -> IntArray:
        """Number of tokens of each text."""
        return np.array([len(tokens) for tokens in self.tokens], dtype=np.int64)

    def sample(self, n_examples: int | None, *, rng: np.random.Generator) -> "Texts":
        """Draw two or more examples, in the order of the whole; None, or too many, is all."""
        if n_examples is None or n_examples >= len(self):
            return self
        if n_examples < 2:
            raise OptionError(
                "A part of {n_examples} examples is too small. Pass 2 or more.",
                n_examples=n_examples,
            )
        return self.at(np.sort(rng.choice(len(self), n_examples, replace=False)))

    def split(self, share: float, *, rng: np.random.Generator) -> tuple["Texts", "Texts"]:
        """Split at random into two parts, of which the second has a share of the examples."""
        second = self.sample(max(2, round(share * len(self))), rng=rng)
        return self.at(np.flatnonzero(~np.isin(self.ids, second.ids))), second

    def cut(self, n_tokens: int) -> "Texts":
        """Return the same examples, with texts that end after some tokens; queries stay."""
        return replace(self, tokens=tuple(words[:n_tokens] for words in self.tokens))


Split = TypeVar("Split", bound=Examples)


@dataclass(frozen=True, eq=False)
class Dataset(Generic[Split]):
    """A data set, split into what is trained on, chosen by and tested on."""

    name: str
    classes: tuple[str, ...]
    train: Split
    dev: Split
    test: Split
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)


class TextData(Dataset[Texts]):
    """A data set of texts as tokens."""

    def sample(
        self, *, n_train: int | None, n_dev: int | None, n_test: int | None, seed: int
    ) -> "TextData":
        """Draw a part of each split; the same numbers give the same part in every run."""
        rngs = [np.random.default_rng([seed, place]) for place in range(3)]
        train, dev = self.train.sample(n_train, rng=rngs[0]), self.dev.sample(n_dev, rng=rngs[1])
        test = self.test.sample(n_test, rng=rngs[2])
        return TextData(self.name, self.classes, train, dev, test, self.notes)


class Vocabulary:
    """The words that a model knows, each once, the most frequent first."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*MARKS, *words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of_training(cls, data: TextData, *, min_count: int = 1) -> "Vocabulary":
        """Return the words that the training split has at least so often, queries included."""
        texts = (*data.train.tokens, *(data.train.queries or ()))
        counts = Counter(token for tokens in texts for token in tokens)
        words = [word for word, count in counts.items() if count >= min_count]
        return cls(sorted(words, key=lambda word: (-counts[word], word)))

    def encode(self, tokens: Sequence[str]) -> IntArray:
        """Return the numbers of the tokens, with marks around them; unknown words share one."""
        numbers = [self._numbers.get(token, UNKNOWN) for token in tokens]
        return np.array([START, *numbers, END], dtype=np.int32)

    def encode_all(self, texts: Sequence[Sequence[str]]) -> tuple[IntArray, IntArray]:
        """Encode texts of different lengths into one array."""
        rows = [self.encode(tokens) for tokens in texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        numbers = np.full((len(rows), int(lengths.max(initial=2))), PADDING, dtype=np.int32)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
        return numbers, lengths
