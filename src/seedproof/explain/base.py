"""The interface of explainers: a model and some texts in, a score for each word out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from operator import index
from typing import Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from seedproof.errors import DtypeError, EmptyInputError, OptionError, ShapeError
from seedproof.typing import FloatArray, is_count

# One array per text, one number per word: texts have different lengths.
Scores: TypeAlias = list[FloatArray]


class Explainer(Protocol):
    """A callable that scores the words of texts."""

    def __call__(self, model: nn.Module, texts: "TokenBatch", /) -> Scores:
        """Return one array per text, in the order of the texts, with a score for each word.

        The model is left unchanged, and no global generator is used. The scores of a text do not
        depend on the others, except for rounding.
        """


@dataclass(frozen=True)
class TokenBatch:
    """Token ids of some texts, padded to one length.

    Args:
        tokens: Token ids, axes (texts, positions).
        mask: True for real tokens, False for padding, with the same axes.
        ids: Id of each text, the same in every run: the samples of LIME depend on it.
        words: Tokens that get a score. If omitted, every real one. Leave out the tokens that a
            tokenizer adds at both ends, such as [CLS] and [SEP].
        targets: The class to explain, for each text. If omitted, the predicted one.

    Raises:
        ShapeError: The axes do not fit each other.
        DtypeError: Tokens or targets are not integers, or a mask is not of booleans.
        EmptyInputError: A text has no word.
        OptionError: A word is at a position without a token.
    """

    tokens: Tensor
    mask: Tensor
    ids: Sequence[int | str]
    _: KW_ONLY
    words: Tensor | None = None
    targets: Tensor | None = None

    def __post_init__(self) -> None:
        self._check_axes()
        self._check_types()
        if bool((self.is_word & ~self.mask).any()):
            raise OptionError(
                "Some words are at positions that `mask` marks as padding. "
                "Make `words` True only where `mask` is.",
                argument="words",
            )
        empty = (~self.is_word.any(dim=1)).nonzero()
        if len(empty):
            raise EmptyInputError(
                "Text {example!r} has no word, so there is nothing to score. Leave such texts out.",
                example=self.ids[int(empty[0])],
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_word(self) -> Tensor:
        """Tokens that get a score, axes (texts, positions)."""
        return self.mask if self.words is None else self.words

    def chunks(self, size: int) -> Iterator[tuple[list[int], "TokenBatch"]]:
        """Yield places and texts of one length, without padding, so that no model can see it.

        Args:
            size: Largest number of texts per chunk.

        Yields:
            The places of some texts, and these texts.
        """
        places = [mask.nonzero()[:, 0] for mask in self.mask.cpu()]
        spans = [(int(real[0]), int(real[-1]) + 1) for real in places]
        by_length: dict[int, list[int]] = {}
        for row, (start, stop) in enumerate(spans):
            by_length.setdefault(stop - start, []).append(row)
        for length, rows in by_length.items():
            for first in range(0, len(rows), size):
                some = rows[first : first + size]
                columns = torch.tensor([spans[row][0] for row in some])[:, None]
                yield some, self._cut(some, columns + torch.arange(length))

    def _cut(self, rows: list[int], columns: Tensor) -> "TokenBatch":
        columns = columns.to(self.tokens.device)
        tokens, mask, words = (
            of[rows].gather(1, columns) for of in (self.tokens, self.mask, self.is_word)
        )
        targets = None if self.targets is None else self.targets[rows]
        return TokenBatch(
            tokens, mask, [self.ids[row] for row in rows], words=words, targets=targets
        )

    def _check_axes(self) -> None:
        shape = tuple(self.tokens.shape)
        if len(shape) != 2:
            raise ShapeError(
                "Tokens have the shape {shape!s}. Pass the axes (texts, positions).", shape=shape
            )
        for name, tensor in (("mask", self.mask), ("words", self.is_word)):
            if tuple(tensor.shape) != shape:
                raise ShapeError(
                    "Tokens have the shape {shape!s} and `{argument}` has {other_shape!s}. "
                    "Give both the same axes (texts, positions).",
                    shape=shape,
                    argument=name,
                    other_shape=tuple(tensor.shape),
                )
        if len(self.ids) != shape[0]:
            raise ShapeError(
                "There are {n_texts} texts and {n_ids} ids. Pass one id per text.",
                n_texts=shape[0],
                n_ids=len(self.ids),
            )
        if self.targets is not None and tuple(self.targets.shape) != shape[:1]:
            raise ShapeError(
                "There are {n_texts} texts, and targets have the shape {shape!s}. Pass one class "
                "per text.",
                n_texts=shape[0],
                shape=tuple(self.targets.shape),
            )

    def _check_types(self) -> None:
        for name, tensor in (("tokens", self.tokens), ("targets", self.targets)):
            if tensor is not None and (tensor.is_floating_point() or tensor.dtype == torch.bool):
                raise DtypeError(
                    "`{argument}` are {dtype}. Pass integers.",
                    argument=name,
                    dtype=tensor.dtype,
                )
        for name, tensor in (("mask", self.mask), ("words", self.is_word)):
            if tensor.dtype != torch.bool:
                raise DtypeError(
                    "`{argument}` is {dtype}. Pass booleans: `{argument}.bool()`.",
                    argument=name,
                    dtype=tensor.dtype,
                )


def score_words(texts: TokenBatch, size: int, score: Callable[[TokenBatch], Tensor]) -> Scores:
    """Score words with a function that scores every position of a few texts of one length."""
    check_size(size)
    scores: Scores = [np.empty(0)] * len(texts)
    for rows, some in texts.chunks(size):
        values = score(some)
        for row, value, words in zip(rows, values, some.is_word, strict=True):
            scores[row] = value[words].double().cpu().numpy()
    return scores


def check_size(size: int) -> None:
    """Refuse a batch size that is not a positive integer."""
    if not is_count(size, 1):
        raise OptionError(
            "`batch_size` is {batch_size!r}. Pass an integer of at least 1.", batch_size=size
        )


def to_shares(scores: Scores) -> Scores:
    """Scale the absolute scores of each text to sum to 1; equal shares if all scores are 0.

    Args:
        scores: One array per text.

    Returns:
        The same axes; numbers in [0, 1].
    """
    return [_share(np.abs(of_text)) for of_text in scores]


def _share(sizes: FloatArray) -> FloatArray:
    largest = sizes.max()
    if largest == 0:
        return np.full(len(sizes), 1 / len(sizes))
    # Scale first: the sum of tiny numbers may be 0, and that of huge ones infinite.
    scaled = sizes / largest
    shares: FloatArray = scaled / scaled.sum()
    return shares


def seed_of(seed: int, draw: int, example: int | str) -> int:
    """Return a seed for one draw of one text; 7 and "7" are different ids."""
    # Integers and strings of numpy count as those of Python.
    key = str(example) if isinstance(example, str) else index(example)
    digest = sha256(repr((seed, draw, key)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:16], "big")
