"""Simulated studies with a known truth, to check whether intervals cover it.

Every example has logits, every run shifts some of them by its own effect, and the prediction is
drawn from the softmax: a better run raises the gold class everywhere (`quality`), or a run raises
the first class everywhere, so that its threshold moves (`threshold`). Two runs are independent
given the example, so all true values are one-dimensional integrals over the run effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from seedproof.measurement.accumulators import MetricAccumulators
from seedproof.measurement.clusters import ClusterKeys
from seedproof.metrics.batch import Batch
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import FloatArray, IntArray

FIGURES = ("flip_rate", "label_entropy_corrected", "accuracy", "accuracy_sd")


@dataclass(frozen=True)
class Simulation:
    """Settings of simulated studies; effects and shifts are in logits.

    Accuracies are about normal with the effect `quality`, and skewed with `threshold`, because a
    threshold that moves either way loses accuracy.
    """

    n_runs: int
    n_examples: int
    n_classes: int = 2
    effect: Literal["quality", "threshold"] = "quality"
    run_sd: float = 0.5
    bad_share: float = 0.0  # of the runs
    bad_shift: float = -2.0  # added to the effect of a bad run
    stuck_share: float = 0.0  # of the runs: they give the first class to every example
    logit_sd: float = 3.0  # larger means more confident models
    cluster_size: int = 1  # neighbors that belong together
    shared: float = 0.0  # share of the variance of the logits that a cluster has in common
    own: float = 0.0  # share of it that each arm of a pair has alone, in clusters as well

    @property
    def clusters(self) -> IntArray | None:
        """Cluster of each example; None if examples are independent."""
        return None if self.cluster_size == 1 else np.arange(self.n_examples) // self.cluster_size

    def draw(self, rng: np.random.Generator) -> Batch:
        """Return a study with new examples and new runs."""
        logits = self._sample(rng)
        return self.make_runs(logits, _choose(logits, rng), rng)

    def draw_pair(self, arm: "Simulation", rng: np.random.Generator) -> tuple[Batch, Batch]:
        """Return two arms on the same examples, with their own runs.

        The logits of the other arm are scaled by the ratio of the `logit_sd`.
        """
        logits = self._sample(rng)
        labels = _choose(logits, rng)
        of_base = of_arm = logits
        if self.own:
            of_base, of_arm = (
                np.sqrt(1 - self.own) * logits + np.sqrt(self.own) * self._sample(rng)
                for _ in range(2)
            )
        scaled = of_arm * (arm.logit_sd / self.logit_sd)
        return self.make_runs(of_base, labels, rng), arm.make_runs(scaled, labels, rng)

    def make_runs(self, logits: FloatArray, labels: IntArray, rng: np.random.Generator) -> Batch:
        """Return new runs on given examples."""
        effects = rng.normal(0.0, self.run_sd, self.n_runs)
        effects += self.bad_shift * (rng.random(self.n_runs) < self.bad_share)
        if self.stuck_share:
            effects[rng.random(self.n_runs) < self.stuck_share] = np.inf
        predictions = np.stack([_choose(self._shift(logits, labels, e), rng) for e in effects])
        return Batch(predictions, n_classes=self.n_classes, labels=labels)

    def truth(self, rng: np.random.Generator, n_population: int = 200_000) -> dict[str, float]:
        """Return the true values, by quadrature over the run effect."""
        logits = self._logits(n_population, rng)
        labels = _choose(logits, rng)
        nodes, weights = self._quadrature()
        marginal = np.zeros_like(logits)
        right, within = np.zeros(len(nodes)), np.zeros(len(nodes))
        for node_idx, (node, weight) in enumerate(zip(nodes, weights, strict=True)):
            probs = _softmax(self._shift(logits, labels, node))
            marginal += weight * probs
            gold = np.take_along_axis(probs, labels[:, None], axis=1)
            right[node_idx] = gold.mean()
            within[node_idx] = (gold * (1 - gold)).mean()
        accuracy = float(weights @ right)
        variance = weights @ (right - accuracy) ** 2 + weights @ within / self.n_examples
        return {
            "flip_rate": float((1 - np.square(marginal).sum(axis=1)).mean()),
            "label_entropy_corrected": float(-(marginal * np.log(marginal)).sum(axis=1).mean()),
            "accuracy": accuracy,
            "accuracy_sd": float(np.sqrt(variance)),
        }

    def _logits(self, n_examples: int, rng: np.random.Generator) -> FloatArray:
        return rng.normal(0.0, self.logit_sd, (n_examples, self.n_classes))

    def _sample(self, rng: np.random.Generator) -> FloatArray:
        """Return logits of a test set; each example alone is as in the population."""
        own = self._logits(self.n_examples, rng)
        if self.clusters is None:
            return own
        common = self._logits(int(self.clusters[-1]) + 1, rng)[self.clusters]
        return np.asarray(np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own)

    def _shift(self, logits: FloatArray, labels: IntArray, effect: float) -> FloatArray:
        shifted = logits.copy()
        if np.isinf(effect):  # stuck
            shifted[:, 0] = 1e3
            return shifted
        moved = labels if self.effect == "quality" else np.zeros_like(labels)
        shifted[np.arange(len(labels)), moved] += effect
        return shifted

    def _quadrature(self) -> tuple[FloatArray, FloatArray]:
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        weights = weights / weights.sum()
        normal = nodes * self.run_sd
        nodes = np.concatenate([normal, normal + self.bad_shift])
        weights = np.concatenate([weights * (1 - self.bad_share), weights * self.bad_share])
        nodes = np.append(nodes, np.inf)
        weights = np.append(weights * (1 - self.stuck_share), self.stuck_share)
        matters = weights > np.finfo(float).eps
        return nodes[matters], weights[matters]


def _softmax(logits: FloatArray) -> FloatArray:
    by_class = np.ascontiguousarray(logits.T)  # a row each: several times faster than columns
    raised = np.exp(by_class - by_class.max(axis=0))
    return np.asarray((raised / raised.sum(axis=0)).T)


def _choose(logits: FloatArray, rng: np.random.Generator) -> IntArray:
    return np.asarray((logits + rng.gumbel(size=logits.shape)).argmax(axis=1))


def estimates(batch: Batch, clusters: IntArray | None = None) -> dict[str, Estimate]:
    """Return the estimates of `FIGURES` for one study."""
    accumulators = MetricAccumulators(batch.n_runs, batch.n_classes, frozenset({"labels"}))
    if clusters is not None:
        accumulators.open(ClusterKeys(np.arange(clusters.max() + 1), clusters))
    accumulators.add(batch)
    return {name: estimate(value) for name, value in accumulators.result().items()}


def coverage(
    simulation: Simulation,
    *,
    n_studies: int,
    rng: np.random.Generator,
    measure: Callable[[Batch], dict[str, Estimate]] | None = None,
) -> dict[str, float]:
    """Return the share of simulated studies whose interval covers the true value, by figure."""
    truth = simulation.truth(rng)
    measure = measure or partial(estimates, clusters=simulation.clusters)
    hits = dict.fromkeys(FIGURES, 0)
    for _ in range(n_studies):
        measured = measure(simulation.draw(rng))
        for name in FIGURES:
            low, high = measured[name].low, measured[name].high
            hits[name] += low is not None and high is not None and low <= truth[name] <= high
    return {name: count / n_studies for name, count in hits.items()}
