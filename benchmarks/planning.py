"""Power of studies that were planned for 80 %, in simulated studies, printed as Markdown.

    python benchmarks/planning.py --studies 1000 > planning.md

The true variances are given to the plan, and each study with the planned number of seeds is judged
as `seedproof compare` judges its primary metric. All arms have the same true effect, and the power
is that of each. The table takes about 30 minutes on one core; the how-to page on planning shows it.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from seedproof.measurement.clusters import ClusterAccumulator, ClusterKeys
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import Batch
from seedproof.metrics.flips import Flips
from seedproof.metrics.statistic import ExampleSums, ExampleValues, Statistic
from seedproof.stats.covariance import crosses
from seedproof.stats.families import MetricContrast, shared_level
from seedproof.stats.intervals import PLAIN
from seedproof.stats.power import FlipTest, MeanTest, Promise, seeds_for
from seedproof.typing import FloatArray, IntArray

N_POPULATION = 200_000
N_ARMS = (1, 3, 10)


@dataclass(frozen=True)
class Design:
    """Arms on the same examples, whose answers are right with a probability for each run.

    The logit of that probability is `center + scale · z + e`: z is drawn per example and has the
    correlation `alike` between arms, e is drawn per run. In clusters, half of z is shared.
    """

    name: str
    metric: Literal["accuracy", "flip_rate"]
    alike: float
    arm_center: float
    arm_scale: float
    cluster_size: int = 1
    is_paired: bool = False  # both arms have the same e
    n_examples: int = 1000
    center: float = 2.0
    scale: float = 2.5
    run_sd: float = 0.3

    def clusters(self, n_examples: int) -> IntArray | None:
        """Return the cluster of each example; None if examples are independent."""
        return None if self.cluster_size == 1 else np.arange(n_examples) // self.cluster_size

    def logits(self, n_examples: int, n_arms: int, rng: np.random.Generator) -> FloatArray:
        """Draw the logits of the baseline and of the arms: (1 + arms, examples)."""
        common = self._draw((1, n_examples), rng)
        own = self._draw((1 + n_arms, n_examples), rng)
        z = np.sqrt(self.alike) * common + np.sqrt(1 - self.alike) * own
        centers = np.array([self.center, *[self.arm_center] * n_arms])
        scales = np.array([self.scale, *[self.arm_scale] * n_arms])
        return np.asarray(centers[:, None] + scales[:, None] * z)

    def _draw(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        own = rng.standard_normal(shape)
        clusters = self.clusters(shape[1])
        if clusters is None:
            return own
        shared = rng.standard_normal((shape[0], int(clusters[-1]) + 1))[:, clusters]
        return np.asarray((shared + own) / np.sqrt(2))

    def draw(self, n_runs: int, n_arms: int, rng: np.random.Generator) -> list[Batch]:
        """Draw a study: the baseline and the arms."""
        labels = np.zeros(self.n_examples, dtype=np.int64)
        shared = self.run_sd * rng.standard_normal((n_runs, 1))
        batches = []
        for logits in self.logits(self.n_examples, n_arms, rng):
            own = self.run_sd * rng.standard_normal((n_runs, 1))
            probs = _expit(logits + (shared if self.is_paired else own))
            wrong = rng.random(probs.shape) > probs
            batches.append(Batch(wrong.astype(np.int64), n_classes=2, labels=labels))
        return batches


class Truth(NamedTuple):
    """True figures of two arms on the scale of their contrast."""

    effect: float  # a difference, or a ratio
    variance: float  # over runs on the same examples, mean of both arms
    covariance: float  # of runs of the same seed
    example_variance: float  # of the contrast
    pair_variance: float  # of flips between two runs, beyond that of each


def _expit(logits: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-logits)))


def truth_of(design: Design) -> Truth:
    """Return the true figures, by quadrature over the effect of a run."""
    logits = design.logits(N_POPULATION, 1, np.random.default_rng(1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    weights = weights / weights.sum()
    probs = [_expit(logits + design.run_sd * node) for node in nodes]
    right = np.tensordot(weights, probs, axes=1)  # expected over runs: (arms, examples)
    if design.metric == "accuracy":
        by_example, by_answer = right, np.ones_like(right)
    else:  # disagreement with all other runs: 1 − right if the answer is right, else right
        by_example, by_answer = 2 * right * (1 - right), 1 - 2 * right
    means = by_example.mean(axis=1)
    slopes = np.ones(2) if design.metric == "accuracy" else 1 / means
    by_run = np.array([(p * by_answer).mean(axis=1) for p in probs]) * slopes  # (nodes, arms)
    deviations = by_run - weights @ by_run
    covariance = np.einsum("n,na,nb->ab", weights, deviations, deviations)
    noise = np.tensordot(weights, [p * (1 - p) * by_answer**2 for p in probs], axes=1).mean(axis=1)
    variances = np.diag(covariance) + noise * slopes**2 / design.n_examples
    pairs = ((by_example * (1 - by_example)).mean(axis=1) - 2 * noise) * slopes**2
    contrast = slopes @ ((by_example - means[:, None]) * np.array([[-1], [1]]))
    of_clusters = contrast.reshape(-1, design.cluster_size).mean(axis=1)
    return Truth(
        means[1] - means[0] if design.metric == "accuracy" else means[1] / means[0],
        float(variances.mean()),
        float(covariance[0, 1]),
        float(of_clusters.var()) * design.cluster_size / design.n_examples,
        max(float(pairs.mean()), 0.0) / design.n_examples,
    )


def planned_test(design: Design, truth: Truth) -> MeanTest | FlipTest:
    """Return the test that is planned with the true figures."""
    spread = float(np.sqrt(truth.variance))
    correlation = truth.covariance / truth.variance if design.is_paired else None
    clusters = None
    if design.cluster_size > 1:
        clusters = design.n_examples // design.cluster_size
    if design.metric == "accuracy":
        return MeanTest(spread, correlation, truth.example_variance, clusters)
    pair_cv = float(np.sqrt(truth.pair_variance))
    return FlipTest(spread, correlation, truth.example_variance, clusters, pair_cv)


def measured(
    batch: Batch, metric: str, clusters: IntArray | None
) -> tuple[Statistic, Mapping[str, ExampleValues]]:
    """Return the metric of one arm, and its values by example."""
    family = (Accuracy if metric == "accuracy" else Flips)(batch.n_runs, 2)
    values = family.values(batch)
    sums = ExampleSums()
    sums.update(values[metric])
    statistic: Statistic = sums.mean_over_examples(largest=1.0, is_count=True)
    if clusters is not None:
        accumulator = ClusterAccumulator(batch.n_runs)
        accumulator.open(ClusterKeys(np.arange(clusters[-1] + 1), clusters))
        accumulator.start(batch)
        accumulator.add({metric: values[metric]})
        statistic = accumulator.result(metric, statistic)
    return statistic, values


def contrasts(design: Design, batches: list[Batch]) -> list[MetricContrast]:
    """Return the contrast of each arm with the baseline, the first."""
    clusters = design.clusters(design.n_examples)
    (base, base_values), *arms = [measured(batch, design.metric, clusters) for batch in batches]
    rows = []
    for index, (arm, values) in enumerate(arms):
        sums = crosses(base_values, values, is_paired=design.is_paired) if clusters is None else {}
        n_runs = batches[0].n_runs, batches[index + 1].n_runs
        cross = sums.get(design.metric)
        groups = "baseline", f"arm {index}"
        row = MetricContrast(design.metric, groups, base, arm, design.is_paired, n_runs, cross)
        rows.append(row)
    return rows


def share_shown(design: Design, batches: list[Batch]) -> float:
    """Return the share of the arms of one study whose effect is shown."""
    rows = contrasts(design, batches)
    level = shared_level(rows, PLAIN)
    return float(np.mean([row.effect(level).is_shown for row in rows]))


def rows_of(design: Design, n_studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the rows of one design."""
    truth = truth_of(design)
    test = planned_test(design, truth)
    for n_arms in N_ARMS:
        promise = Promise(n_arms=n_arms)
        n_runs = seeds_for(test, truth.effect, promise)
        if n_runs is None:
            yield f"| {design.name} | {truth.effect:.3f} | {n_arms} | none suffices | | |"
            continue
        planned = test.chance(n_runs, test.size(truth.effect), promise.level(n_runs))
        shown = [share_shown(design, design.draw(n_runs, n_arms, rng)) for _ in range(n_studies)]
        error = np.std(shown, ddof=1) / np.sqrt(n_studies)
        yield (
            f"| {design.name} | {truth.effect:.3f} | {n_arms} | {n_runs} | {100 * planned:.1f} | "
            f"{100 * np.mean(shown):.1f} ± {100 * error:.1f} |"
        )


_ACCURACY = Design("accuracy, right on the same examples", "accuracy", 0.9, 2.39, 2.5)
_OTHER_ACCURACY = replace(
    _ACCURACY, name="accuracy, right on different examples", alike=0.0, arm_center=2.56
)
_FLIPS = Design("flip rate, flips on the same examples", "flip_rate", 0.9, 2.0, 3.39, run_sd=0.5)
_OTHER_FLIPS = replace(
    _FLIPS, name="flip rate, flips on different examples", alike=0.0, arm_scale=3.71
)
_PAIRED, _IN_CLUSTERS = "the same, paired seeds", "the same, 100 clusters"
DESIGNS: tuple[Design, ...] = (
    _ACCURACY,
    replace(_ACCURACY, name=_PAIRED, is_paired=True, arm_center=2.21),
    replace(_ACCURACY, name=_IN_CLUSTERS, cluster_size=10, arm_center=2.51),
    _OTHER_ACCURACY,
    replace(_OTHER_ACCURACY, name=_IN_CLUSTERS, cluster_size=10, arm_center=3.2, run_sd=0.5),
    _FLIPS,
    replace(_FLIPS, name=_PAIRED, is_paired=True, run_sd=0.7, arm_scale=3.17),
    replace(_FLIPS, name=_IN_CLUSTERS, cluster_size=10, arm_scale=3.7),
    _OTHER_FLIPS,
    replace(_OTHER_FLIPS, name=_IN_CLUSTERS, cluster_size=10, arm_scale=4.5),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--designs", type=int, nargs="*", help="their places; all if omitted")
    options = parser.parse_args()
    places = range(len(DESIGNS)) if options.designs is None else options.designs
    print("| design | true effect | arms | seeds | planned, % | simulated, % |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for place in places:
        rng = np.random.default_rng([options.seed, place])
        for row in rows_of(DESIGNS[place], options.studies, rng):
            print(row, flush=True)


if __name__ == "__main__":
    main()
