"""All figures of explanations together: add examples, merge parts, read the result."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, TypeAlias

import numpy as np

from seedproof.metrics.explanations.distances import (
    jaccard_distance,
    kendall_tau,
    rank_biased_overlap,
    token_ranks,
    top_overlap,
    weight_divergences,
)
from seedproof.metrics.explanations.ragged import RaggedScores
from seedproof.metrics.statistic import ExampleSums, ExampleValues, MeanOverExamples
from seedproof.typing import BoolArray, FloatArray, IntArray

FIGURES = (
    "explanation_kl",
    "explanation_js",
    "explanation_jaccard_10",
    "explanation_jaccard_20",
    "explanation_overlap",
    "explanation_tau",
    "explanation_rbo",
)
# Percentage of the tokens that count as the top ones: 10 % in the thesis, 20 % in the paper.
THESIS_TOP = 10
PAPER_TOP = 20

Figures: TypeAlias = dict[str, ExampleValues]


def values_of_block(magnitudes: FloatArray) -> Figures:
    """Return every figure of examples with equally many tokens, from (runs, examples, tokens)."""
    kl, js = weight_divergences(magnitudes)
    ranks = token_ranks(magnitudes)
    figures = (
        kl,
        js,
        jaccard_distance(ranks, percent=THESIS_TOP),
        jaccard_distance(ranks, percent=PAPER_TOP),
        top_overlap(ranks, percent=PAPER_TOP),
        kendall_tau(magnitudes),
        rank_biased_overlap(ranks),
    )
    return dict(zip(FIGURES, figures, strict=True))


def explanation_values(batch: RaggedScores) -> Figures:
    """Return the figures between first draws of two runs, per example that has a token."""
    blocks = ((places, values_of_block(magnitudes)) for places, magnitudes in batch.blocks())
    return _joined(batch, blocks, batch.lengths > 0)


def noise_values(batch: RaggedScores) -> Figures:
    """Return the figures between draws of one run, averaged over runs, per example with two draws.

    These differences come from the explainer's own randomness, not from the seed of the training.
    """
    is_repeated = np.zeros(batch.n_examples, dtype=np.bool_)
    if batch.n_draws is not None:
        is_repeated = (batch.lengths > 0) & (batch.n_draws > 1)
    return _joined(batch, _noise_blocks(batch), is_repeated)


def _noise_blocks(batch: RaggedScores) -> Iterator[tuple[IntArray, Figures]]:
    for places, magnitudes in batch.repeated():
        n_draws, n_runs, n_examples, n_tokens = magnitudes.shape
        block = values_of_block(magnitudes.reshape(n_draws, n_runs * n_examples, n_tokens))
        by_run = {name: v.whole.reshape(n_runs, n_examples) for name, v in block.items()}
        yield places, {name: _mean_over_runs(values) for name, values in by_run.items()}


def _mean_over_runs(values: FloatArray | IntArray) -> ExampleValues:
    n_runs = len(values)
    total = values.sum(axis=0)
    without = (total - values) / (n_runs - 1) if n_runs > 2 else None
    return ExampleValues(total / n_runs, without)


def _joined(
    batch: RaggedScores, blocks: Iterable[tuple[IntArray, Figures]], is_covered: BoolArray
) -> Figures:
    """Join blocks into the figures of all covered examples of a batch."""
    n_runs, n_examples = batch.n_runs, batch.n_examples
    whole = {name: np.zeros(n_examples) for name in FIGURES}
    n_left = n_runs if n_runs > 2 else 0
    without = {name: np.zeros((n_left, n_examples)) for name in FIGURES}
    for block_places, figures in blocks:
        for name, values in figures.items():
            whole[name][block_places] = values.whole
            if values.without is not None:
                without[name][:, block_places] = values.without
    places = np.flatnonzero(is_covered)
    return {
        name: ExampleValues(
            whole[name][places], without[name][:, places] if n_left else None, places=places
        )
        for name in FIGURES
    }


class Explanations:
    """Distances between explanations, merged over batches; its size depends on the runs alone."""

    figures: ClassVar[tuple[str, ...]] = FIGURES
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int) -> None:
        self._n_runs = n_runs
        self._sums = {name: ExampleSums() for name in FIGURES}
        self._noise = {name: ExampleSums() for name in FIGURES}

    @property
    def n_examples(self) -> int:
        """Number of examples that were compared."""
        return self._sums[FIGURES[0]].n_examples

    @property
    def n_repeated(self) -> int:
        """Number of examples that were explained more than once."""
        return self._noise[FIGURES[0]].n_examples

    def update(self, batch: RaggedScores) -> Figures:
        """Add one batch; return the figures of its examples."""
        figures = explanation_values(batch)
        for name, values in figures.items():
            self._sums[name].update(values)
        for name, values in noise_values(batch).items():
            self._noise[name].update(values)
        return figures

    def merge(self, other: "Explanations") -> None:
        """Add the examples of another part."""
        for name in FIGURES:
            self._sums[name] += other._sums[name]
            self._noise[name] += other._noise[name]

    def result(self) -> dict[str, MeanOverExamples]:
        """Return each figure over all examples so far."""
        # The entropy of a mean of R runs less their mean entropy is at most ln R.
        most = self._n_runs / (self._n_runs - 1) * float(np.log(self._n_runs))
        return {name: _mean(name, sums, most_js=most) for name, sums in self._sums.items()}

    def noise(self) -> dict[str, MeanOverExamples] | None:
        """Return each figure between draws of one run; None if no example was explained twice."""
        if self.n_repeated == 0:
            return None
        return {name: _mean(name, sums, most_js=None) for name, sums in self._noise.items()}


def _mean(name: str, sums: ExampleSums, *, most_js: float | None) -> MeanOverExamples:
    match name:
        case "explanation_kl":
            return sums.mean_over_examples()
        case "explanation_js":
            return sums.mean_over_examples(largest=most_js)
        case "explanation_jaccard_10" | "explanation_jaccard_20":
            return sums.mean_over_examples(largest=1.0)
        case _:  # agreements, which crowd below 1 as distances crowd above 0
            return sums.mean_over_examples(scale="logit", largest=1.0)
