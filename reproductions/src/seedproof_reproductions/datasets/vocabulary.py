"""Words as numbers, between a mark for the start and one for the end."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.typing import IntArray
from seedproof_reproductions.datasets.texts import TextData

# The first numbers are no words. Padding is 0, so that an array of zeros is padding.
PADDING, UNKNOWN, START, END = range(4)
MARKS = ("<padding>", "<unknown>", "<start>", "<end>")


class Vocabulary:
    """The words that a model knows.

    Args:
        words: Each once, the most frequent first.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*MARKS, *words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    @classmethod
    def of(
        cls, texts: Iterable[Sequence[str]], *, min_count: int = 1, max_words: int | None = None
    ) -> "Vocabulary":
        """The words of some texts.

        Args:
            texts: The tokens of each text.
            min_count: How often a word must occur.
            max_words: The most that are kept; the most frequent ones are.

        Returns:
            A vocabulary that depends on the texts, not on their order.
        """
        counts = Counter(token for tokens in texts for token in tokens)
        kept = [word for word, count in counts.items() if count >= min_count]
        kept.sort(key=lambda word: (-counts[word], word))
        return cls(kept[:max_words])

    def encode(self, tokens: Sequence[str]) -> IntArray:
        """The numbers of the tokens, with the marks around them.

        Args:
            tokens: Any words; those that are not known share one number.

        Returns:
            Two numbers more than there are tokens.
        """
        middle = [self._numbers.get(token, UNKNOWN) for token in tokens]
        return np.array([START, *middle, END], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Padded:
    """Texts of different lengths in one array.

    Args:
        numbers: Axes (examples, positions), padded with 0.
        lengths: How many positions of each are no padding; the two marks count.
    """

    numbers: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> "Padded":
        """Texts as numbers.

        Args:
            texts: The tokens of each.
            vocabulary: The words that are known.

        Returns:
            One array, as wide as the longest text.
        """
        rows = [vocabulary.encode(tokens) for tokens in texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        numbers = np.full((len(rows), int(lengths.max(initial=2))), PADDING, dtype=np.int32)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
        return cls(numbers, lengths)


def vocabulary_of(
    data: TextData, *, min_count: int = 1, max_words: int | None = None
) -> Vocabulary:
    """The words of what is trained on, and of nothing else.

    Args:
        data: A data set.
        min_count: How often a word must occur.
        max_words: The most that are kept.

    Returns:
        A vocabulary.
    """
    texts = (*data.train.tokens, *(data.train.queries or ()))
    return Vocabulary.of(texts, min_count=min_count, max_words=max_words)
