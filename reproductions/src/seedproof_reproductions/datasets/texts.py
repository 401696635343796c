"""Texts with labels, cut into tokens: what every data set becomes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from seedproof.errors import OptionError, ShapeError
from seedproof.typing import IntArray

NUMBER, EMPTY = "<number>", "<empty>"
# Part of every data set whose own files have no split to choose the checkpoint by.
DEV_SHARE = 0.1
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[a-z]+|[0-9]+")


def tokenize(text: str) -> tuple[str, ...]:
    """The words of a raw text, in lower case: `don't` gives `don` and `t`, as in the SST file.

    Tags of HTML and punctuation are dropped, and each number is the token `<number>`.

    Args:
        text: Any text.

    Returns:
        Its tokens, at least one: a text without letters and digits is the token `<empty>`, since
        attention needs something to attend to.
    """
    words = _WORD.findall(_TAG.sub(" ", text).lower())
    return tuple(NUMBER if word[0].isdigit() else word for word in words) or (EMPTY,)


@dataclass(frozen=True, eq=False)
class Texts:
    """One split of a data set.

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

    def __post_init__(self) -> None:
        sizes = {len(self.ids), len(self.tokens), len(self.labels)}
        if self.queries is not None:
            sizes.add(len(self.queries))
        if len(sizes) != 1:
            raise ShapeError(
                f"Ids, texts and labels have different lengths: {sorted(sizes)}. "
                "Give one of each an example."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, chosen: Sequence[int] | IntArray) -> "Texts":
        """The examples at some positions.

        Args:
            chosen: Their positions.

        Returns:
            A smaller split, with the ids that they had.
        """
        where = np.asarray(chosen, dtype=np.int64)
        return Texts(
            ids=self.ids[where],
            tokens=tuple(self.tokens[i] for i in where),
            labels=self.labels[where],
            queries=None if self.queries is None else tuple(self.queries[i] for i in where),
        )

    def some(self, n_examples: int | None, *, rng: np.random.Generator) -> "Texts":
        """A random part, in the order of the whole.

        Args:
            n_examples: How many; None, or more than there are, gives all.
            rng: Who draws.

        Returns:
            A smaller split.

        Raises:
            OptionError: Fewer than two are asked for.
        """
        if n_examples is None or n_examples >= len(self):
            return self
        if n_examples < 2:
            raise OptionError(f"A part of {n_examples} examples is too small. Give 2 or more.")
        return self.at(np.sort(rng.choice(len(self), n_examples, replace=False)))

    def parted(self, share: float, *, rng: np.random.Generator) -> tuple["Texts", "Texts"]:
        """Two random parts that make up the whole, each in its order.

        Args:
            share: Share of the examples in the second part.
            rng: Who draws.

        Returns:
            The larger and the smaller part.
        """
        held = self.some(max(2, round(share * len(self))), rng=rng)
        return self.without(held), held

    def without(self, other: "Texts") -> "Texts":
        """The examples whose ids another split does not have.

        Args:
            other: A part of this split.

        Returns:
            The rest.
        """
        return self.at(np.flatnonzero(~np.isin(self.ids, other.ids)))

    def cut(self, n_tokens: int) -> "Texts":
        """The same examples, with texts that end after some tokens.

        Args:
            n_tokens: The most that a text keeps.

        Returns:
            Texts that are as long or shorter.
        """
        queries = self.queries
        if queries is not None:
            queries = tuple(words[:n_tokens] for words in queries)
        tokens = tuple(words[:n_tokens] for words in self.tokens)
        return replace(self, tokens=tokens, queries=queries)


@dataclass(frozen=True, eq=False)
class TextData:
    """A data set, split into what is trained on, chosen by and tested on.

    Args:
        name: What it is called on the command line.
        classes: Names of the classes, in the order of their indices.
        train: What is trained on.
        dev: What the checkpoint is chosen by.
        test: What is predicted.
        notes: Where it differs from the paper's.
    """

    name: str
    classes: tuple[str, ...]
    train: Texts
    dev: Texts
    test: Texts
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    def smaller(
        self, *, n_train: int | None, n_dev: int | None, n_test: int | None, seed: int
    ) -> "TextData":
        """A part of the data set; the same numbers give the same part in every run.

        Args:
            n_train: Examples to train on; None is all.
            n_dev: Examples to choose by.
            n_test: Examples to test on.
            seed: What is drawn depends on it alone.

        Returns:
            A smaller data set.
        """
        rngs = [np.random.default_rng([seed, place]) for place in range(3)]
        return replace(
            self,
            train=self.train.some(n_train, rng=rngs[0]),
            dev=self.dev.some(n_dev, rng=rngs[1]),
            test=self.test.some(n_test, rng=rngs[2]),
        )
