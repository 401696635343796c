"""All figures of explanations together: feed it examples, merge the parts, ask for the result."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from seedproof.metrics.explanations.ragged import RaggedScores
from seedproof.metrics.explanations.rankings import kendall_tau, rank_biased_overlap
from seedproof.metrics.explanations.top_tokens import jaccard_distance, token_ranks, top_overlap
from seedproof.metrics.explanations.weights import weight_divergences
from seedproof.metrics.statistic import ExampleSums, ExampleValues, MeanOverExamples
from seedproof.typing import FloatArray, IntArray

FIGURES = (
    "explanation_kl",
    "explanation_js",
    "explanation_jaccard_10",
    "explanation_jaccard_20",
    "explanation_overlap",
    "explanation_tau",
    "explanation_rbo",
)
# Shares of the tokens that count as the top ones: 10 % in the thesis, 20 % in the paper.
THESIS_TOP = 10
PAPER_TOP = 20


def values_of_block(magnitudes: FloatArray) -> dict[str, ExampleValues]:
    """Every figure of examples that have equally many tokens.

    Args:
        magnitudes: Scores without their signs, axes (runs, examples, tokens).

    Returns:
        What each figure says of each example, with and without any run.
    """
    kl, js = weight_divergences(magnitudes)
    ranks = token_ranks(magnitudes)
    found = (
        kl,
        js,
        jaccard_distance(ranks, percent=THESIS_TOP),
        jaccard_distance(ranks, percent=PAPER_TOP),
        top_overlap(ranks, percent=PAPER_TOP),
        kendall_tau(magnitudes),
        rank_biased_overlap(ranks),
    )
    return dict(zip(FIGURES, found, strict=True))


def explanation_values(batch: RaggedScores) -> dict[str, ExampleValues]:
    """How the first draws of two runs differ, for each example that has a token.

    Args:
        batch: Explanations of the same examples by at least two runs.

    Returns:
        What each figure says of each example, with and without any run.
    """
    found = _Columns(batch)
    for places, magnitudes in batch.blocks():
        found.put(places, values_of_block(magnitudes))
    return found.values(np.flatnonzero(batch.lengths > 0))


def noise_values(batch: RaggedScores) -> dict[str, ExampleValues]:
    """How two draws of one run differ, averaged over runs, for each example with two draws.

    Whatever differs here is owed to the explainer's own chance and to no seed of the training.

    Args:
        batch: Explanations of the same examples by at least two runs.

    Returns:
        What each figure says of each example, with and without any run; of no example if none
        was explained twice.
    """
    found = _Columns(batch)
    for places, magnitudes in batch.repeated():
        n_draws, n_runs, n_examples, n_tokens = magnitudes.shape
        together = magnitudes.reshape(n_draws, n_runs * n_examples, n_tokens)
        of_runs = {
            name: _mean_over_runs(values.whole.reshape(n_runs, n_examples))
            for name, values in values_of_block(together).items()
        }
        found.put(places, of_runs)
    is_repeated = np.zeros(batch.n_examples, dtype=np.bool_)
    if batch.n_draws is not None:
        is_repeated = (batch.lengths > 0) & (batch.n_draws > 1)
    return found.values(np.flatnonzero(is_repeated))


def _mean_over_runs(values: FloatArray | IntArray) -> ExampleValues:
    """The mean of one value a run and example, axes (runs, examples)."""
    n_runs = len(values)
    total = values.sum(axis=0)
    without = (total - values) / (n_runs - 1) if n_runs > 2 else None
    return ExampleValues(total / n_runs, without)


class _Columns:
    """Figures of all examples of a batch, put together from blocks."""

    def __init__(self, batch: RaggedScores) -> None:
        n_runs, n_examples = batch.n_runs, batch.n_examples
        self._whole = {name: np.zeros(n_examples) for name in FIGURES}
        self._without: dict[str, FloatArray] = {}
        if n_runs > 2:
            self._without = {name: np.zeros((n_runs, n_examples)) for name in FIGURES}

    def put(self, places: IntArray, found: Mapping[str, ExampleValues]) -> None:
        """Add the examples of one block."""
        for name, values in found.items():
            self._whole[name][places] = values.whole
            if values.without is not None:
                self._without[name][:, places] = values.without

    def values(self, places: IntArray) -> dict[str, ExampleValues]:
        """The examples at these places."""
        return {
            name: ExampleValues(
                whole[places],
                self._without[name][:, places] if self._without else None,
                places=places,
            )
            for name, whole in self._whole.items()
        }


class Explanations:
    """Distances between explanations, as they are merged over batches.

    Its size depends on the number of runs alone.

    Args:
        n_runs: How many runs there are.
    """

    figures: ClassVar[tuple[str, ...]] = FIGURES
    memory: ClassVar[str] = "runs"

    def __init__(self, n_runs: int) -> None:
        self._n_runs = n_runs
        self._sums = {name: ExampleSums() for name in FIGURES}
        self._noise = {name: ExampleSums() for name in FIGURES}

    @property
    def n_examples(self) -> int:
        """How many examples were compared."""
        return self._sums[FIGURES[0]].n_examples

    @property
    def n_repeated(self) -> int:
        """How many of them were explained more than once."""
        return self._noise[FIGURES[0]].n_examples

    def update(self, batch: RaggedScores) -> dict[str, ExampleValues]:
        """Add one batch; returns what each figure says of its examples."""
        found = explanation_values(batch)
        for name, values in found.items():
            self._sums[name].update(values)
        for name, values in noise_values(batch).items():
            self._noise[name].update(values)
        return found

    def merge(self, other: "Explanations") -> None:
        """Add the examples of another part."""
        for name in FIGURES:
            self._sums[name] += other._sums[name]
            self._noise[name] += other._noise[name]

    def result(self) -> dict[str, MeanOverExamples]:
        """Each figure over all examples so far."""
        # The entropy of a mean of R runs less their mean entropy is at most ln R.
        most = self._n_runs / (self._n_runs - 1) * float(np.log(self._n_runs))
        return {name: _mean(name, sums, most_js=most) for name, sums in self._sums.items()}

    def noise(self) -> dict[str, MeanOverExamples] | None:
        """Each figure between draws of one run; None if no example was explained twice."""
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
