"""Ranked lists: how far those of two runs are apart, and how good they are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.items.batch import ItemBatch
from seedproof.metrics.items.family import ItemFamily, of_labeled
from seedproof.metrics.items.overlap import (
    average_overlap_weights,
    first_differs,
    jaccard_distance,
    kendall_distance,
    rank_biased_weights,
    weighted_overlap,
)
from seedproof.metrics.items.relevance import RankedGains
from seedproof.metrics.numbers.spread import variance_over_runs
from seedproof.metrics.statistic import (
    ExampleValues,
    ExcessSpread,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    mean_over_runs,
)
from seedproof.typing import FloatArray

QUALITIES = ("hit_rate@k", "ndcg@k", "recall@k", "mrr")


class RankingOverlap(ItemFamily):
    """Lists of two runs for the same example."""

    figures: ClassVar[tuple[str, ...]] = (
        "first_item_flips",
        "jaccard_distance@k",
        "rank_biased_overlap",
        "average_overlap@k",
        "kendall_distance@k",
    )

    def values(self, batch: ItemBatch) -> Mapping[str, ExampleValues]:
        """Return every distance and overlap, averaged over pairs of runs, per example."""
        average = weighted_overlap(batch, average_overlap_weights, of_top=True)
        return {
            "first_item_flips": first_differs(batch),
            self.named("jaccard_distance@k"): jaccard_distance(batch),
            "rank_biased_overlap": weighted_overlap(batch, rank_biased_weights),
            self.named("average_overlap@k"): average,
            self.named("kendall_distance@k"): kendall_distance(batch),
        }

    def columns(
        self, batch: ItemBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Return the main distances of each example."""
        del batch
        return {
            "jaccard_distance": values[self.named("jaccard_distance@k")].values,
            "first_item_flips": values["first_item_flips"].values,
        }

    def result(self) -> Mapping[str, Statistic]:
        """Return every figure over all examples so far."""
        return {
            name: self.mean_of(
                name,
                scale="logit" if "overlap" in name else "log",
                is_count=name == "first_item_flips",
            )
            for name in map(self.named, self.figures)
        }


class RankingQuality(ItemFamily):
    """Quality of each run's lists, its spread, and what independent changes alone would give."""

    figures: ClassVar[tuple[str, ...]] = (
        *QUALITIES,
        "score_sd",
        "score_sd_independent",
        "score_sd_excess",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    least_runs: ClassVar[int] = 1

    def values(self, batch: ItemBatch) -> Mapping[str, ExampleValues]:
        """Return every quality, and its variance over runs, per example with right items."""
        labeled = batch.labeled
        if labeled.relevance is None:
            raise ValueError("quality needs right items")
        gains = RankedGains(labeled.items, labeled.relevance.items, labeled.relevance.grades)
        depth, names = self.catalog.depth, [self.named(name) for name in QUALITIES]
        by_run = {
            names[0]: gains.hit_rate(depth),
            names[1]: gains.ndcg(depth),
            names[2]: gains.recall(depth),
            names[3]: gains.reciprocal_rank(labeled.n_places),
        }
        values = {name: mean_over_runs(of_run) for name, of_run in by_run.items()}
        if self.n_runs > 1:
            values |= {f"{x}_sd_independent": variance_over_runs(y) for x, y in by_run.items()}
        return values

    def columns(
        self, batch: ItemBatch, values: Mapping[str, ExampleValues]
    ) -> dict[str, FloatArray]:
        """Return the discounted gain of each example, NaN without right items."""
        return {"ndcg": of_labeled(batch, values[self.named("ndcg@k")].values)}

    def result(self) -> Mapping[str, Statistic]:
        """Return every quality with its spread, over all examples with right items so far."""
        results: dict[str, Statistic] = {}
        for name in map(self.named, QUALITIES):
            is_share = name.startswith("hit_rate")
            mean = self.mean_of(name, scale="logit", is_count=is_share)
            results[name] = replace(mean, step=1 / self.n_runs) if is_share else mean
            if self.n_runs > 1:
                results |= self._spread(name)
        return results

    def _spread(self, name: str) -> dict[str, Statistic]:
        by_run = self.sums[name].mean_by_run
        variance = self.mean_of(f"{name}_sd_independent")
        n_examples = variance.n_examples
        return {
            f"{name}_sd": SpreadOverRuns(by_run, largest=1.0),
            f"{name}_sd_independent": RootOfMean(variance, divisor=n_examples),
            f"{name}_sd_excess": ExcessSpread(by_run, known=(variance.value / n_examples) ** 0.5),
        }

    def detail(self) -> Detail:
        """Return the qualities of each run."""
        names = [self.named(name) for name in QUALITIES]
        return {f"{name}_by_run": self.sums[name].mean_by_run for name in names}
