"""Coverage of the 95 % intervals of numbers in simulated studies, printed as Markdown.

    python benchmarks/number_coverage.py --studies 1000 > numbers.md

Next to ours are three intervals that are in use: normal over examples alone, Student's over the
means of the runs alone, and a percentile bootstrap over examples. The docs page on intervals shows
the table.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pyarrow as pa

from seedproof.measurement.clusters import ClusterKeys, blocks_in
from seedproof.measurement.numbers import NumberAccumulators
from seedproof.records.answer_settings import AnswerSettings, Tolerance
from seedproof.records.shards import NumberShards
from seedproof.stats.distributions import student_quantile
from seedproof.stats.intervals import NORMAL, TAIL, estimate
from seedproof.typing import FloatArray, IntArray

N_POPULATION = 400_000
N_RESAMPLES = 200
N_NODES = 9
TOLERANCE, THRESHOLD = 0.5, 0.5
FIGURES = ("mean", "example_sd", "mean_difference", "beyond_tolerance", f"flip_rate@{THRESHOLD:g}")
PARTS = ("variance_run", "variance_example", "variance_residual")
OTHERS = ("examples alone", "runs alone", "bootstrap over examples")


@dataclass(frozen=True)
class Design:
    """Numbers g(difficulty of the example + quality of the run + noise)."""

    name: str
    kind: str  # normal, skewed, bounded, or pass (0 and 1)
    n_runs: int
    n_examples: int
    run_sd: float  # 0 for trials of one model
    cluster_size: int = 1

    @property
    def settings(self) -> AnswerSettings:
        """Choices for the metrics."""
        tolerance = Tolerance(TOLERANCE)
        return AnswerSettings(tolerance, (THRESHOLD,), are_trials=self.run_sd == 0.0)

    @property
    def figures(self) -> tuple[str, ...]:
        """Metrics whose true values are known."""
        own = ("mean", "flip_rate", "pass^2", "pass@2") if self.kind == "pass" else FIGURES
        return (*own, "mean_sd", *PARTS)

    def clusters(self) -> IntArray | None:
        """Return the cluster of each example; None if examples are independent."""
        return None if self.cluster_size == 1 else np.arange(self.n_examples) // self.cluster_size

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw a study: (runs, examples)."""
        difficulty = rng.standard_normal(self.n_examples)
        clusters = self.clusters()
        if clusters is not None:
            shared = rng.standard_normal(int(clusters[-1]) + 1)[clusters]
            difficulty = (difficulty + shared) / np.sqrt(2)
        quality = self.run_sd * rng.standard_normal((self.n_runs, 1))
        return self.numbers(difficulty + quality, rng)

    def numbers(self, latent: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return numbers with noise, from the quality of runs on examples."""
        shape = np.broadcast_shapes(latent.shape, (2 if latent.ndim == 1 else len(latent), 1))
        if self.kind == "pass":
            passed = rng.random(shape) < 1 / (1 + np.exp(-1.0 - 2.0 * latent))
            return np.asarray(passed, dtype=np.float64)
        noisy = latent + 0.5 * rng.standard_normal(shape)
        if self.kind == "skewed":
            return np.asarray(np.exp(0.5 * noisy))
        return np.asarray(1 / (1 + np.exp(-2.0 * noisy)) if self.kind == "bounded" else noisy)

    def truth(self) -> Mapping[str, float]:
        """Return the true values, from pairs of runs on a large population."""
        rng = np.random.default_rng(1)
        difficulty = rng.standard_normal(N_POPULATION)
        quality = self.run_sd * rng.standard_normal((2, N_POPULATION))
        first, second = self.numbers(difficulty + quality, rng)
        variance, of_run = float(first.var()), self._variance_of_runs(difficulty, rng)
        of_example = float(np.cov(first, second)[0, 1])
        residual = variance - of_run - of_example
        apart = np.abs(first - second)
        flips = float(((first >= THRESHOLD) != (second >= THRESHOLD)).mean())
        return {
            "mean": float((first + second).mean() / 2),
            "example_sd": float(np.sqrt(np.square(apart).mean() / 2)),
            "mean_difference": float(apart.mean()),
            "beyond_tolerance": float((apart > TOLERANCE).mean()),
            f"flip_rate@{THRESHOLD:g}": flips,
            "flip_rate": flips,
            "pass^2": float((first * second).mean()),
            "pass@2": float(np.maximum(first, second).mean()),
            "mean_sd": float(np.sqrt(of_run + residual / self.n_examples)),
            "variance_run": of_run / variance,
            "variance_example": of_example / variance,
            "variance_residual": residual / variance,
        }

    def _variance_of_runs(self, difficulty: FloatArray, rng: np.random.Generator) -> float:
        """Return the variance of the means of runs on all examples, by Gauss-Hermite nodes."""
        if self.run_sd == 0.0:
            return 0.0
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        means = [self.numbers(difficulty + self.run_sd * node, rng).mean() for node in nodes]
        share = weights / weights.sum()
        return float(share @ np.square(means - share @ means))


def intervals(design: Design, numbers: FloatArray) -> dict[str, tuple[float, float]]:
    """Return our intervals of one study, and those in use for the mean.

    A figure without an interval, such as a part of the variance of few runs, is left out.
    """
    source = NumberShards(
        [str(run) for run in range(design.n_runs)],
        pa.array(np.arange(design.n_examples)),
        numbers,
        settings=design.settings,
    )
    accumulators = NumberAccumulators(source, design.figures)  # ranks take ten times as long
    clusters = design.clusters()
    keys = None if clusters is None else ClusterKeys(np.arange(clusters[-1] + 1), clusters)
    for index in range(source.n_shards):
        shard = source.shard(index)
        blocks = blocks_in(shard, keys, source.rows_per_shard)
        accumulators.update(shard, (), keys, blocks)
    statistics = accumulators.result()
    ours = {name: estimate(statistics[name]) for name in design.figures if name in statistics}
    ends = {name: (x.low, x.high) for name, x in ours.items() if x.low is not None}
    means, by_run = numbers.mean(axis=0), numbers.mean(axis=1)
    center = float(means.mean())
    half = NORMAL * float(means.std(ddof=1)) / np.sqrt(len(means))
    ends["examples alone"] = center - half, center + half
    half = student_quantile(len(by_run) - 1, 1 - TAIL) * float(by_run.std(ddof=1))
    half /= np.sqrt(len(by_run))
    ends["runs alone"] = center - half, center + half
    rng = np.random.default_rng(0)
    drawn = means[rng.integers(0, len(means), (N_RESAMPLES, len(means)))].mean(axis=1)
    ends["bootstrap over examples"] = tuple(np.quantile(drawn, [TAIL, 1 - TAIL]))
    return ends


def coverage(design: Design, n_studies: int, seed: int) -> dict[str, float | None]:
    """Return the share of studies whose intervals cover the truth; None if they have none."""
    truth = design.truth()
    rng = np.random.default_rng([seed, design.n_runs, design.n_examples])
    hits: dict[str, float | None] = dict.fromkeys((*design.figures, *OTHERS))
    for _ in range(n_studies):
        for name, (low, high) in intervals(design, design.draw(rng)).items():
            is_hit = low <= truth.get(name, truth["mean"]) <= high
            hits[name] = (hits[name] or 0.0) + is_hit / n_studies
    return hits


def main() -> None:
    """Print a table for scores of any size, and one for pass and fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, nargs="*", default=(50, 500, 5000))
    options = parser.parse_args()
    for kinds in (("normal", "skewed", "bounded"), ("pass",)):
        first = Design("", kinds[0], 2, 2, 0.0)
        print("\n| numbers | repeats | examples |", end="")
        print(" | ".join((*(f" `{name}`" for name in first.figures), *OTHERS)), "|")
        print("|---" * (3 + len(first.figures) + len(OTHERS)) + "|", flush=True)
        for kind, (run_sd, n_runs), n_examples, size in product(
            kinds, ((0.0, 3), (0.0, 5), (0.2, 3), (0.2, 5), (0.2, 10)), options.examples, (1, 10)
        ):
            if size > 1 and (n_examples == 50 or kind in {"skewed", "bounded"}):
                continue
            noun = "trials" if run_sd == 0.0 else "runs"
            design = replace(Design("", kind, n_runs, n_examples, run_sd), cluster_size=size)
            rates = coverage(design, options.studies, options.seed)
            cells = " | ".join(
                "–" if rate is None else f"{100 * rate:.1f}" for rate in rates.values()
            )
            where = f"{n_examples:,}" + (f" in {n_examples // size:,} clusters" if size > 1 else "")
            print(f"| {kind} | {n_runs} {noun} | {where} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
