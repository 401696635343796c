"""A data set as tensors that a run trains on: the same for every run of a setting."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seedproof.typing import FloatArray
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.datasets.texts import TextData, Texts, Vocabulary
from seedproof_reproductions.models import Shape
from seedproof_reproductions.word_vectors import embedding_matrix, find_vectors

# Parts of a data set are drawn from this seed, not the run's: all runs see the same examples.
PART_SEED = 2019


@dataclass(frozen=True, eq=False)
class Encoded:
    """One split as tensors."""

    texts: Texts
    numbers: Tensor
    lengths: Tensor
    labels: Tensor
    query: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Return numbers and lengths of some texts, then those of their queries."""
        first = _rows(self.numbers, self.lengths, rows)
        return first if self.query is None else (*first, *_rows(*self.query, rows))


def _rows(numbers: Tensor, lengths: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    of_rows = lengths[rows]
    return numbers[rows, : int(of_rows.max())], of_rows


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that the runs of a setting share."""

    data: TextData
    vocabulary: Vocabulary
    vectors: FloatArray
    train: Encoded
    dev: Encoded
    test: Encoded
    shape: Shape


def prepare(setting: Setting) -> Prepared:
    """Load and encode the data and find vectors; nothing here depends on a run's seeds."""
    data = load(setting.dataset).sample(
        n_train=setting.n_train, n_dev=setting.n_dev, n_test=setting.n_test, seed=PART_SEED
    )
    vocabulary = Vocabulary.of_training(data, min_count=setting.min_count)
    vectors = find_vectors(setting.vectors, vocabulary.words)
    train, dev, test = (encode(texts, vocabulary) for texts in (data.train, data.dev, data.test))
    matrix = embedding_matrix(vocabulary, vectors, n_dimensions=setting.n_dimensions)
    is_pair = data.train.queries is not None
    shape = Shape(setting.encoder, setting.attention, data.n_classes, is_pair)
    return Prepared(data, vocabulary, matrix, train, dev, test, shape)


def encode(texts: Texts, vocabulary: Vocabulary) -> Encoded:
    """Return one split as tensors, in the same order."""

    def tensors(tokens: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        numbers, lengths = vocabulary.encode_all(tokens)
        return torch.from_numpy(numbers), torch.from_numpy(lengths)

    query = None if texts.queries is None else tensors(texts.queries)
    return Encoded(texts, *tensors(texts.tokens), torch.from_numpy(texts.labels), query)
