"""Studies of traced runs whose truth is known, to see whether their intervals cover it.

How hard an example is decides both whether a run wavers on it and whether runs disagree on it. Runs
differ in quality, and the last step of a run is also its vote.
"""

from dataclasses import dataclass, replace

import numpy as np

from seedproof.measurement.dynamics.association import Association
from seedproof.measurement.dynamics.stand_in import stand_in
from seedproof.measurement.dynamics.watched import Watched
from seedproof.typing import FloatArray, IntArray

N_STEPS = 100


@dataclass(frozen=True)
class DynamicsSimulation:
    """How simulated studies are made.

    Args:
        n_runs: Runs a study.
        n_examples: Examples a study.
        n_traced: How many of the runs are traced; all without it.
        run_sd: Standard deviation of a run's quality: what it adds to all margins.
        easy_share: Share of the examples on which no run ever changes its mind.
    """

    n_runs: int
    n_examples: int
    n_traced: int | None = None
    run_sd: float = 0.5
    easy_share: float = 0.5

    def draw(self, rng: np.random.Generator) -> Watched:
        """One study: new examples, new runs."""
        n_traced = self.n_runs if self.n_traced is None else self.n_traced
        entropies, predictions = self.make_runs(self.n_runs, rng)
        return watched_of(entropies[:n_traced], predictions)

    def truth(self, association: Association, rng: np.random.Generator) -> float:
        """What the intervals of a figure should cover: its mean over large studies."""
        large = replace(self, n_examples=4000, n_traced=min(3, self.n_traced or 3))
        found = [stand_in(large.draw(rng), association).mean.value for _ in range(40)]
        return float(np.mean(found))

    def true_reference(self, rng: np.random.Generator) -> float:
        """The correlation of entropies over all runs but one with those over as many fresh runs."""
        large, n_others = replace(self, n_examples=4000), self.n_runs - 1
        found = []
        for _ in range(20):
            _, predictions = large.make_runs(2 * n_others, rng)
            both = [entropy_over(part) for part in np.split(predictions, 2)]
            found.append(np.asarray(np.corrcoef(both))[0, 1])
        return float(np.mean(found))

    def make_runs(self, n_runs: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Entropies within runs and what they predict in the end, axes (runs, examples) each."""
        n = self.n_examples
        is_easy = rng.random(n) < self.easy_share
        margin = np.where(is_easy, 5 + rng.random(n), rng.normal(1.5, 1.5, n))
        own = margin + 0.8 * rng.normal(size=n)  # what wavering alone depends on
        quality = self.run_sd * rng.normal(size=(n_runs, 1))
        last = rng.normal(size=(n_runs, n))
        final = margin + quality + 1.2 * last
        predictions = np.where(final > 0, 0, 1 + (final < -2))
        noise = 0.7 * rng.normal(size=(n_runs, n))
        share = 1 / (1 + np.exp(own + 0.6 * quality + 0.5 * last + noise))
        shares = rng.binomial(N_STEPS, share) / N_STEPS
        entropies = sum(-p * np.log(np.maximum(p, 1e-300)) for p in (shares, 1 - shares))
        return np.asarray(entropies), predictions


def watched_of(
    entropies: FloatArray, predictions: IntArray, traced: IntArray | None = None
) -> Watched:
    """Entropies within runs beside the predictions of all examples.

    Args:
        entropies: Axes (traced, examples).
        predictions: Axes (runs, examples).
        traced: Which runs were traced; the first ones without it.

    Returns:
        Both, with the predictions where runs differ.
    """
    places = np.arange(len(entropies)) if traced is None else np.asarray(traced)
    contested = np.flatnonzero((predictions != predictions[0]).any(axis=0))
    return Watched(np.asarray(entropies), places, contested, predictions[:, contested])


def entropy_over(predictions: IntArray) -> FloatArray:
    """Label entropy of each example over runs, by counting."""
    shares = np.stack([(predictions == k).mean(axis=0) for k in np.unique(predictions)])
    return np.asarray(-(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=0))
