"""A data set as tensors that a run trains on: the same for every run of a setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from seedproof.typing import FloatArray
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.datasets.texts import TextData, Texts
from seedproof_reproductions.datasets.vocabulary import Padded, Vocabulary, vocabulary_of
from seedproof_reproductions.models import Shape
from seedproof_reproductions.word_vectors import embedding_matrix, find_vectors

# Parts of a data set are drawn from this seed, not the run's: all runs see the same examples.
PART_SEED = 2019


class Inputs(NamedTuple):
    """What a model takes: numbers and lengths, and those of the second texts of pairs."""

    numbers: Tensor
    lengths: Tensor
    query_numbers: Tensor | None = None
    query_lengths: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Encoded:
    """One split as tensors.

    Args:
        texts: The examples themselves.
        numbers: Axes (examples, positions).
        lengths: Positions of each that are no padding.
        labels: Gold class of each.
        query: Numbers and lengths of the second texts of pairs.
    """

    texts: Texts
    numbers: Tensor
    lengths: Tensor
    labels: Tensor
    query: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, rows: Tensor) -> Inputs:
        """Some examples, padded to the longest of them.

        Args:
            rows: Their positions.

        Returns:
            What the model takes.
        """
        first = _chosen(self.numbers, self.lengths, rows)
        if self.query is None:
            return Inputs(*first)
        return Inputs(*first, *_chosen(*self.query, rows))


def _chosen(numbers: Tensor, lengths: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    of_rows = lengths[rows]
    return numbers[rows, : int(of_rows.max())], of_rows


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that the runs of a setting share.

    Args:
        data: The examples.
        vocabulary: The words that the model knows.
        vectors: What the embedding begins with.
        train: What is trained on.
        dev: What the checkpoint is chosen by.
        test: What is predicted.
        shape: What the model is made of.
    """

    data: TextData
    vocabulary: Vocabulary
    vectors: FloatArray
    train: Encoded
    dev: Encoded
    test: Encoded
    shape: Shape


def prepare(setting: Setting) -> Prepared:
    """Load, encode and find vectors; nothing here depends on a run's seeds.

    Args:
        setting: What is trained.

    Returns:
        What the runs share.
    """
    data = load(setting.dataset).smaller(
        n_train=setting.n_train, n_dev=setting.n_dev, n_test=setting.n_test, seed=PART_SEED
    )
    vocabulary = vocabulary_of(data, min_count=setting.min_count)
    found = find_vectors(setting.vectors, vocabulary.words)
    return Prepared(
        data=data,
        vocabulary=vocabulary,
        vectors=embedding_matrix(vocabulary, found, n_dimensions=setting.n_dimensions),
        train=encode(data.train, vocabulary),
        dev=encode(data.dev, vocabulary),
        test=encode(data.test, vocabulary),
        shape=Shape(
            encoder=setting.encoder,
            attention=setting.attention,
            n_classes=data.n_classes,
            is_pair=data.train.queries is not None,
        ),
    )


def encode(texts: Texts, vocabulary: Vocabulary) -> Encoded:
    """One split as tensors.

    Args:
        texts: The examples.
        vocabulary: The words that the model knows.

    Returns:
        The same examples, in the same order.
    """
    return Encoded(
        texts,
        *_tensors(texts.tokens, vocabulary),
        torch.from_numpy(texts.labels),
        None if texts.queries is None else _tensors(texts.queries, vocabulary),
    )


def _tensors(tokens: Sequence[Sequence[str]], vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    padded = Padded.of(tokens, vocabulary)
    return torch.from_numpy(padded.numbers), torch.from_numpy(padded.lengths)
