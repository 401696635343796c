"""Coverage of the 95 % intervals of ranked lists and sets in simulated studies, as Markdown.

    python benchmarks/item_coverage.py --studies 1000 > items.md

Also printed: the share of comparisons of two arms, and of two versions, of one model that report a
difference in the main figure.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.comparison.versions.compare import compare_versions
from seedproof.measurement.clusters import ClusterKeys, blocks_in
from seedproof.measurement.items import ItemAccumulators
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.records.shards import ItemShards
from seedproof.stats.intervals import estimate
from seedproof.typing import BoolArray, FloatArray, IntArray

N_ITEMS, N_PLACES, DEPTH = 12, 8, 5
# Studies that give the true values, with their runs and examples.
N_TRUE_STUDIES, N_TRUE_RUNS, N_TRUE_EXAMPLES = 400, 5, 600
FIGURES = {
    Kind.RANKINGS: (
        "first_item_flips",
        f"jaccard_distance@{DEPTH}",
        "rank_biased_overlap",
        f"kendall_distance@{DEPTH}",
        f"ndcg@{DEPTH}",
        "mrr",
    ),
    Kind.SETS: ("set_flips", "jaccard_distance", "label_flips", "precision", "micro_f1"),
}
MAIN = {Kind.RANKINGS: "first_item_flips", Kind.SETS: "set_flips"}


@dataclass(frozen=True)
class Design:
    """Items by scores: affinity of the example, preference of the run for the item, and noise."""

    kind: Kind
    n_runs: int
    n_examples: int
    cluster_size: int = 1
    run_sd: float = 0.2
    noise: float = 0.5

    def clusters(self) -> IntArray | None:
        """Return the cluster of each example; None if examples are independent."""
        return None if self.cluster_size == 1 else np.arange(self.n_examples) // self.cluster_size

    def draw(self, rng: np.random.Generator, n_arms: int = 1) -> list[ItemShards]:
        """Draw arms of runs of one model on the same examples."""
        affinity = rng.standard_normal((self.n_examples, N_ITEMS))
        clusters = self.clusters()
        if clusters is not None:
            shared = rng.standard_normal((int(clusters[-1]) + 1, N_ITEMS))[clusters]
            affinity = (affinity + shared) / np.sqrt(2)
        right = self._items(affinity + self.noise * rng.standard_normal(affinity.shape))[:, :3]
        known = Relevance(right, np.ones(self.n_examples, dtype=np.bool_))
        return [self._arm(affinity, known, rng) for _ in range(n_arms)]

    def _arm(self, affinity: FloatArray, known: Relevance, rng: np.random.Generator) -> ItemShards:
        preference = self.run_sd * rng.standard_normal((self.n_runs, 1, N_ITEMS))
        noise = self.noise * rng.standard_normal((self.n_runs, *affinity.shape))
        clusters = self.clusters()
        return ItemShards(
            self.kind,
            [f"run_{run}" for run in range(self.n_runs)],
            pa.array(np.arange(self.n_examples)),
            names=[f"item_{item}" for item in range(N_ITEMS)],
            items=self._items(affinity + preference + noise),
            relevance=known,
            settings=AnswerSettings(depth=DEPTH),
            extras=None if clusters is None else pa.table({"user": clusters}),
        )

    def _items(self, scores: FloatArray) -> IntArray:
        """Return the items with the highest scores, or those above a threshold."""
        if self.kind is Kind.RANKINGS:
            return np.argsort(-scores, axis=-1)[..., :N_PLACES]
        return _packed(scores > 1.0)


def _packed(is_given: BoolArray) -> IntArray:
    """Return indicators, whose last axis is the items, as items in ascending order."""
    items = np.sort(np.where(is_given, np.arange(N_ITEMS), N_ITEMS), axis=-1)
    return np.where(items == N_ITEMS, NO_ITEM, items)


def measured(
    design: Design, source: ItemShards
) -> dict[str, tuple[float, float | None, float | None]]:
    """Return values and intervals of one study."""
    accumulators = ItemAccumulators(source)
    clusters = design.clusters()
    keys = None if clusters is None else ClusterKeys(np.arange(clusters[-1] + 1), clusters)
    for index in range(source.n_shards):
        shard = source.shard(index)
        blocks = blocks_in(shard, keys, source.rows_per_shard)
        accumulators.update(shard, source.classes, keys, blocks)
    statistics = accumulators.result()
    estimates = {name: estimate(statistics[name]) for name in FIGURES[design.kind]}
    return {name: (x.value, x.low, x.high) for name, x in estimates.items()}


@lru_cache
def true_values(kind: Kind) -> Mapping[str, float]:
    """Return the true values: the means of many studies, each with other runs and examples."""
    rng = np.random.default_rng(1)
    design = Design(kind, N_TRUE_RUNS, N_TRUE_EXAMPLES)
    studies = [measured(design, *design.draw(rng)) for _ in range(N_TRUE_STUDIES)]
    return {name: float(np.mean([study[name][0] for study in studies])) for name in FIGURES[kind]}


def coverage(design: Design, n_studies: int, seed: int) -> dict[str, float]:
    """Return the share of studies whose intervals cover the truth."""
    truth = true_values(design.kind)
    rng = np.random.default_rng([seed, design.n_runs, design.n_examples])
    hits = dict.fromkeys(truth, 0)
    for _ in range(n_studies):
        (source,) = design.draw(rng)
        for name, (_, low, high) in measured(design, source).items():
            hits[name] += low is not None and high is not None and low <= truth[name] <= high
    return {name: count / n_studies for name, count in hits.items()}


def false_alarms(design: Design, n_studies: int, seed: int) -> tuple[float, float]:
    """Return the share of comparisons of equal arms, and of equal versions, with a difference."""
    rng = np.random.default_rng([seed, design.n_runs, design.n_examples, 1])
    clusters = None if design.cluster_size == 1 else "user"
    arms = versions = 0
    with TemporaryDirectory() as folder:
        place = Location.of(Path(folder) / "examples.parquet")
        for _ in range(n_studies):
            old, new = design.draw(rng, n_arms=2)
            both = [ArmData(name, x, clusters=clusters) for name, x in (("a", old), ("b", new))]
            compared = compare_arms(both, Location.of(Path(folder) / "arms"))
            effect = compared.arms[0].effects[MAIN[design.kind]]
            arms += effect.verdict in {"steadier", "less steady"}
            versions += compare_versions(old, new, place, clusters=clusters).is_beyond
    return arms / n_studies, versions / n_studies


def main() -> None:
    """Print a table for lists, and one for sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, nargs="*", default=(100, 1000))
    options = parser.parse_args()
    for kind, figures in FIGURES.items():
        names = (*(f"`{name}`" for name in figures), "arms differ", "versions differ")
        print(f"\n| {kind} | examples | {' | '.join(names)} |")
        print("|---" * (2 + len(names)) + "|", flush=True)
        for n_runs, n_examples, size in product((5, 10), options.examples, (1, 10)):
            design = Design(kind, n_runs, n_examples, size)
            rates = [*coverage(design, options.studies, options.seed).values()]
            rates += false_alarms(design, options.studies, options.seed)
            cells = " | ".join(f"{100 * rate:.1f}" for rate in rates)
            where = f"{n_examples:,}" + (f" in {n_examples // size:,} clusters" if size > 1 else "")
            print(f"| {n_runs} runs | {where} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
