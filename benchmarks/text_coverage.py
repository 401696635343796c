"""Coverage of the 95 % intervals of free texts in simulated studies, printed as Markdown.

python benchmarks/text_coverage.py --studies 1000 > texts.md
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seedproof.measurement.clusters import ClusterKeys, blocks_in
from seedproof.measurement.texts import TextAccumulators
from seedproof.records.levels import settings_of
from seedproof.records.text_answers import TextAnswers
from seedproof.records.text_shards import TextShards
from seedproof.stats.intervals import estimate
from seedproof.typing import FloatArray, IntArray

N_POPULATION = 200_000
N_NODES = 15
# Wrong answers, each half as likely as the one before, and some that are hardly ever repeated.
N_WRONG = 40
WRONG = 0.7 * 0.5 ** np.arange(N_WRONG) + 0.3 / N_WRONG
FIGURES = ("flip_rate", "distinct_answers", "distinct_answers@5", "accuracy")
ENTROPIES = ("label_entropy_corrected",)


@dataclass(frozen=True)
class Design:
    """Answers that are right with a chance of difficulty and quality, or one of many others."""

    n_runs: int
    n_examples: int
    run_sd: float  # 0 for trials of one model
    cluster_size: int = 1
    ease: float = 1.0
    n_trials: int = 1  # of each run

    @property
    def name(self) -> str:
        """The design in words."""
        noun = "runs" if self.run_sd else "trials"
        if self.n_trials > 1:
            noun = f"runs × {self.n_trials} trials"
        clusters = f", clusters of {self.cluster_size}" if self.cluster_size > 1 else ""
        return f"{self.n_runs} {noun}, {self.n_examples} examples{clusters}, ease {self.ease:g}"

    def clusters(self) -> IntArray | None:
        """Return the cluster of each example; None if examples are independent."""
        return None if self.cluster_size == 1 else np.arange(self.n_examples) // self.cluster_size

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Draw a study: 0 for right answers, axes (runs, examples)."""
        difficulty = rng.standard_normal(self.n_examples)
        clusters = self.clusters()
        if clusters is not None:
            shared = rng.standard_normal(int(clusters[-1]) + 1)[clusters]
            difficulty = (difficulty + shared) / np.sqrt(2)
        quality = self.run_sd * rng.standard_normal((self.n_runs, 1))
        return self.codes(difficulty + np.repeat(quality, self.n_trials, axis=0), rng)

    def codes(self, latent: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return answers, from the quality of runs on examples."""
        is_right = rng.random(latent.shape) < self.chance(latent)
        wrong = rng.choice(N_WRONG, latent.shape, p=WRONG / WRONG.sum()) + 1
        return np.where(is_right, 0, wrong)

    def chance(self, latent: FloatArray) -> FloatArray:
        """Return the chance that an answer is right."""
        return np.asarray(1 / (1 + np.exp(-self.ease - 2.0 * latent)))

    def truth(self) -> Mapping[str, float]:
        """Return the true values, from independent runs on a large population."""
        rng = np.random.default_rng(1)
        difficulty = rng.standard_normal(N_POPULATION)
        quality = self.run_sd * rng.standard_normal((self.n_runs, N_POPULATION))
        if self.n_trials > 1:  # of one run
            quality = np.repeat(quality[:1], self.n_trials, axis=0)
        codes = self.codes(difficulty + quality, rng)
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        chances = [self.chance(difficulty + self.run_sd * node) for node in nodes]
        right = weights / weights.sum() @ np.array(chances)
        shares = np.concatenate([right[None], np.outer(WRONG / WRONG.sum(), 1 - right)])
        return {
            "flip_rate": float((codes[0] != codes[1]).mean()),
            "distinct_answers": _distinct(codes),
            "distinct_answers@5": _distinct(codes[:5]),
            "accuracy": float((codes == 0).mean()),
            "label_entropy_corrected": float(-(shares * np.log(shares)).sum(axis=0).mean()),
        }


def _distinct(codes: IntArray) -> float:
    ordered = np.sort(codes, axis=0)
    return 1 + float((ordered[1:] != ordered[:-1]).sum(axis=0).mean())


def intervals(design: Design, codes: IntArray) -> dict[str, tuple[float, float]]:
    """Return the intervals of one study."""
    texts = codes.astype(str).astype(object)
    levels = ["run", "trial"] if design.run_sd else ["trial"]
    repeats = [
        (str(run), str(trial)) for run in range(design.n_runs) for trial in range(design.n_trials)
    ]
    source = TextShards(
        ["/".join(repeat) for repeat in repeats],
        pa.array(np.arange(design.n_examples)),
        TextAnswers(texts, references=[("0",)] * design.n_examples),
        settings=settings_of(levels, [repeat[: len(levels)] for repeat in repeats]),
    )
    clusters = design.clusters()
    keys = None if clusters is None else ClusterKeys(np.arange(clusters[-1] + 1), clusters)
    accumulators = TextAccumulators(source, has_clusters=keys is not None)
    for index in range(source.n_shards):
        shard = source.shard(index)
        blocks = blocks_in(shard, keys, source.rows_per_shard)
        accumulators.update(shard, (), keys, blocks)
    statistics = accumulators.result()
    names = [name for name in (*FIGURES, *ENTROPIES) if name in statistics]
    estimates = {name: estimate(statistics[name]) for name in names}
    return {
        name: (x.low, x.high)
        for name, x in estimates.items()
        if x.low is not None and x.high is not None
    }


def coverage(design: Design, n_studies: int, seed: int) -> dict[str, float]:
    """Return the share of studies whose interval covers the truth, by figure."""
    truth, rng = design.truth(), np.random.default_rng(seed)
    covered: dict[str, list[bool]] = {}
    for _ in range(n_studies):
        for name, (low, high) in intervals(design, design.draw(rng)).items():
            covered.setdefault(name, []).append(low <= truth[name] <= high)
    return {name: float(np.mean(of_figure)) for name, of_figure in covered.items()}


DESIGNS = (
    Design(5, 100, run_sd=0.3),
    Design(10, 100, run_sd=0.3),
    Design(5, 100, run_sd=0.3, cluster_size=4),
    Design(10, 200, run_sd=0.3, cluster_size=4),
    Design(5, 40, run_sd=0.0),
    Design(10, 40, run_sd=0.0, ease=3.0),
    Design(4, 100, run_sd=0.0, cluster_size=4),
    Design(5, 100, run_sd=0.3, n_trials=4),
    Design(10, 100, run_sd=0.3, n_trials=3, cluster_size=4),
)


def main() -> None:
    """Print a table with a row per design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = (*FIGURES, *ENTROPIES)
    print("| design |", " | ".join(f"`{name}`" for name in names), "|")
    print("|---|" + "---|" * len(names))
    for design in DESIGNS:
        shares = coverage(design, given.studies, given.seed)
        cells = [f"{100 * shares[name]:.1f}" if name in shares else "–" for name in names]
        print(f"| {design.name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
