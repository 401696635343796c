"""Scores of tokens for examples of different lengths, cut into blocks of one length."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seedproof.typing import FloatArray, IntArray

# Blocks of about this many scores stay in the processor's cache.
BLOCK_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class RaggedScores:
    """Explanations of the same examples by all runs, one after the other.

    An example's draws are adjacent: all its tokens in the first draw, then in the second.
    """

    scores: FloatArray  # axes (runs, tokens of all examples and draws)
    lengths: IntArray  # number of tokens per example
    n_draws: IntArray | None = None  # number of explanations per example; one if omitted

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.scores)

    @property
    def n_examples(self) -> int:
        """Number of examples, including those without a token."""
        return len(self.lengths)

    @cached_property
    def starts(self) -> IntArray:
        """Offset of each example in the scores: (examples,)."""
        sizes = self.lengths if self.n_draws is None else self.lengths * self.n_draws
        return np.asarray(np.cumsum(sizes) - sizes)

    def blocks(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield places and first draws of examples with the same number of tokens.

        Magnitudes have the axes (runs, examples, tokens); examples without a token are left out.
        """
        for n_tokens in np.unique(self.lengths[self.lengths > 0]):
            places = np.flatnonzero(self.lengths == n_tokens)
            for chosen in _cut(places, self.n_runs * int(n_tokens)):
                index = self.starts[chosen, None] + np.arange(n_tokens)
                yield chosen, np.abs(self.scores[:, index])

    def repeated(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield places and all draws of repeated examples with equally many tokens and draws.

        Magnitudes have the axes (draws, runs, examples, tokens).
        """
        if self.n_draws is None:
            return
        shapes = np.stack([self.lengths, self.n_draws], axis=1)
        usable = (self.lengths > 0) & (self.n_draws > 1)
        for n_tokens, n_draws in np.unique(shapes[usable], axis=0):
            places = np.flatnonzero((self.lengths == n_tokens) & (self.n_draws == n_draws))
            width = int(n_draws * n_tokens)
            for chosen in _cut(places, self.n_runs * width):
                index = self.starts[chosen, None] + np.arange(width)
                magnitudes = np.abs(self.scores[:, index])
                magnitudes = magnitudes.reshape(self.n_runs, len(chosen), n_draws, n_tokens)
                yield chosen, magnitudes.transpose(2, 0, 1, 3)


def _cut(places: IntArray, width: int) -> Iterator[IntArray]:
    """Yield places in pieces whose size depends on the shape alone, never on the machine."""
    step = max(1, BLOCK_VALUES // width)
    for start in range(0, len(places), step):
        yield places[start : start + step]
