"""Simulated studies whose entropies are known: of one arm, and of two on the same examples."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.measurement.clusters import ClusterKeys
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import Entropy
from seedproof.stats.intervals import estimate
from seedproof.typing import FloatArray

# Examples of the studies that give the true values, and number of these studies.
N_POPULATION, N_POPULATIONS = 2_000, 60


@dataclass(frozen=True)
class Design:
    """Probabilities of the classes, from (rng, examples, classes) to (examples, classes)."""

    draw: Callable[[np.random.Generator, int, int], FloatArray]
    least_classes: int = 2


def _softmax(logits: FloatArray) -> FloatArray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _normal(rng: np.random.Generator, n_examples: int, n_classes: int) -> FloatArray:
    scale = {2: 3.0, 3: 4.0, 10: 8.0}.get(n_classes, 9.0)
    return _softmax(rng.normal(0.0, scale, (n_examples, n_classes)))


def _bimodal(rng: np.random.Generator, n_examples: int, n_classes: int) -> FloatArray:
    """All runs agree on four in five examples, and are split between two classes on the others."""
    shares = np.zeros((n_examples, n_classes))
    shares[:, 0] = np.where(rng.random(n_examples) < 0.2, 0.5, 1.0)
    shares[:, 1] = 1 - shares[:, 0]
    return shares


def _wrong(right: FloatArray, weights: FloatArray) -> FloatArray:
    others = (1 - right)[:, np.newaxis] * weights / weights.sum()
    return np.column_stack([right, others])


def _right(rng: np.random.Generator, n_examples: int) -> FloatArray:
    """Shares of right runs, 88 % on average."""
    return rng.beta(4, 0.55, n_examples)


DESIGNS = {
    "normal margins": Design(_normal),
    "bimodal": Design(_bimodal),
    "rare flips, some examples": Design(
        lambda rng, n, k: _wrong(1 - rng.beta(0.2, 6, n), np.ones(k - 1))
    ),
    "1 % flips to one class, all examples": Design(
        lambda _, n, k: _wrong(np.full(n, 0.99), np.eye(k - 1)[0])
    ),
    "88 % right, wrong classes even": Design(
        lambda _, n, k: _wrong(np.full(n, 0.88), np.ones(k - 1)), least_classes=10
    ),
    "88 % right on average, wrong classes even": Design(
        lambda rng, n, k: _wrong(_right(rng, n), np.ones(k - 1))
    ),
    "88 % right on average, wrong classes by Zipf's law": Design(
        lambda rng, n, k: _wrong(_right(rng, n), 1 / np.arange(1.0, k)), least_classes=10
    ),
    "88 % right, wrong classes peaked": Design(
        lambda _, n, k: _wrong(np.full(n, 0.88), 0.6 ** np.arange(k - 1)), least_classes=10
    ),
    "88 % right, one wrong class": Design(
        lambda _, n, k: _wrong(np.full(n, 0.88), np.eye(k - 1)[0]), least_classes=10
    ),
}


def entropy_of(shares: FloatArray) -> float:
    """Return the mean entropy over examples."""
    logs = np.log(np.where(shares > 0.0, shares, 1.0))
    return float(-(shares * logs).sum(axis=1).mean())


def drawn_votes(shares: FloatArray, n_runs: int, rng: np.random.Generator) -> Batch:
    """Return runs that draw a class per example, independently."""
    edges = np.cumsum(shares, axis=1)[:, :-1]
    votes = [(edges < rng.random((len(shares), 1))).sum(axis=1) for _ in range(n_runs)]
    return Batch(np.stack(votes), n_classes=shares.shape[1])


@dataclass(frozen=True)
class CorrectedEntropy:
    """Relative biases of the jackknife and of the value, and the coverage of its interval."""

    jackknife: float
    bias: float
    coverage: float


def corrected_entropy(
    design: Design,
    *,
    n_classes: int,
    n_runs: int,
    n_examples: int,
    n_studies: int,
    rng: np.random.Generator,
) -> CorrectedEntropy:
    """Return the error of the corrected entropy in simulated studies."""
    truth = float(
        np.mean(
            [entropy_of(design.draw(rng, N_POPULATION, n_classes)) for _ in range(N_POPULATIONS)]
        )
    )
    jackknifed, values, n_covered = [], [], 0
    for _ in range(n_studies):
        accumulator = Entropy(n_runs, n_classes)
        accumulator.update(drawn_votes(design.draw(rng, n_examples, n_classes), n_runs, rng))
        statistic = accumulator.result()["label_entropy_corrected"]
        result = estimate(statistic)
        jackknifed.append(accumulator.sums["label_entropy_corrected"].mean)
        values.append(result.value)
        n_covered += result.low <= truth <= result.high
    return CorrectedEntropy(
        float(np.mean(jackknifed)) / truth - 1,
        float(np.mean(values)) / truth - 1,
        n_covered / n_studies,
    )


@dataclass(frozen=True)
class TwoArms:
    """Two arms of a binary model; margins and effects are in logits."""

    scales: tuple[float, float] = (4.0, 4.0)  # larger means more confident
    own: float = 0.0  # share of the variance of margins that each arm has alone
    run_sd: float = 0.5
    seed_sd: float = 0.0  # of what a seed adds to each example
    is_paired: bool = False
    cluster_size: int = 1

    def draw(self, n_runs: int, n_examples: int, rng: np.random.Generator) -> list[Batch]:
        """Return a study with new examples and new runs."""
        shared, batches = self._margins(n_examples, rng), []
        effects = self._effects(n_runs, n_examples, rng)
        for scale in self.scales:
            margins = np.sqrt(1 - self.own) * shared
            if self.own:
                margins = margins + np.sqrt(self.own) * self._margins(n_examples, rng)
            if not self.is_paired:
                effects = self._effects(n_runs, n_examples, rng)
            chance = 1 / (1 + np.exp(-scale * margins - effects))
            votes = (rng.random(chance.shape) < chance).astype(np.int64)
            batches.append(Batch(votes, n_classes=2))
        return batches

    def _margins(self, n_examples: int, rng: np.random.Generator) -> FloatArray:
        own = rng.normal(size=n_examples)
        if self.cluster_size == 1:
            return own
        clusters = np.arange(n_examples) // self.cluster_size
        common = rng.normal(size=clusters[-1] + 1)[clusters]
        return np.asarray(np.sqrt(0.7) * common + np.sqrt(0.3) * own)

    def _effects(self, n_runs: int, n_examples: int, rng: np.random.Generator) -> FloatArray:
        of_run = rng.normal(0.0, self.run_sd, (n_runs, 1))
        return np.asarray(of_run + rng.normal(0.0, self.seed_sd, (n_runs, n_examples)))

    def sums(self, n_runs: int) -> HighEntropySums:
        """Return empty sums."""
        partners = tuple(range(n_runs)) if self.is_paired else None
        return HighEntropySums(n_runs, n_runs, partners, is_paired=self.is_paired)


TWO_ARMS = {
    "no effect": TwoArms(),
    "no effect, paired": TwoArms(is_paired=True, seed_sd=1.0),
    "no effect, unsure of different examples": TwoArms(own=0.4),
    "no effect, unsure of different examples, paired": TwoArms(
        own=0.4, is_paired=True, seed_sd=1.0
    ),
    "no effect, large run effects": TwoArms(run_sd=1.5),
    "entropy halved": TwoArms(scales=(4.0, 9.0)),
    "entropy halved, paired": TwoArms(scales=(4.0, 9.0), is_paired=True, seed_sd=1.0),
    "no effect, clusters of 20": TwoArms(cluster_size=20),
    "entropy halved, paired, clusters of 20": TwoArms(
        scales=(4.0, 9.0), is_paired=True, seed_sd=1.0, cluster_size=20
    ),
}


@dataclass(frozen=True)
class Reductions:
    """True reductions on examples that the baseline and the arm select, and coverage."""

    truth: tuple[float, float]
    coverage: tuple[float, float]


def reductions(
    design: TwoArms, *, n_runs: int, n_examples: int, n_studies: int, rng: np.random.Generator
) -> Reductions:
    """Return the coverage of both intervals; a study without an interval counts as a miss."""
    independent, totals = replace(design, cluster_size=1), np.zeros((2, 2))
    for _ in range(N_POPULATIONS):
        sums = independent.sums(n_runs)
        sums.update(*independent.draw(n_runs, N_POPULATION, rng))
        totals[0] += [of_arm.total for of_arm in sums.by_baseline.sums]
        totals[1] += [of_arm.total for of_arm in sums.by_arm.sums[::-1]]
    truth = 1 - totals[:, 1] / totals[:, 0]
    n_covered = np.zeros(2)
    for _ in range(n_studies):
        sums = design.sums(n_runs)
        if design.cluster_size > 1:
            clusters = np.arange(n_examples) // design.cluster_size
            sums.open(ClusterKeys(np.arange(clusters[-1] + 1), clusters))
        sums.update(*design.draw(n_runs, n_examples, rng))
        result = sums.result()
        for i, effect in enumerate((result, result.by_arm)):
            if effect is not None and effect.low is not None and effect.high is not None:
                n_covered[i] += effect.low <= truth[i] <= effect.high
    covered = n_covered / n_studies
    return Reductions(tuple(truth.tolist()), tuple(covered.tolist()))
