"""Clusters of examples in the measuring pass: keys, totals, and a hint where they are likely."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.measurement.checksums import checksums
from seedproof.messages import Message
from seedproof.metrics.accumulator import AnswerBatch
from seedproof.metrics.block_statistic import BinnedGaps, BlockJackknife, Jackknifed, Residuals
from seedproof.metrics.calibration import blocks_of
from seedproof.metrics.clusters import KEY_BITS, ClusterSums, Places, clustered
from seedproof.metrics.statistic import ExampleValues, Statistic
from seedproof.records.arrow import to_numpy
from seedproof.records.shards import Shard
from seedproof.typing import IntArray

# Names under which the sizes of clusters are counted: all examples, and the labeled ones, by their
# weights; and all examples, each once.
EXAMPLES, LABELED, UNWEIGHTED = "n_examples", "n_labeled", "n_unweighted"
# Words in the name of a column that is likely to hold clusters.
USUAL_NAMES = frozenset(
    {
        *("cluster", "conversation", "dialogue", "doc", "document", "group", "patient"),
        *("question", "session", "speaker", "template", "user"),
    }
)
# Knuth's multiplicative hash: the bits of a checksum alone are similar in similar names.
MIXER = np.uint32(2654435761)
# A few thousand rows suffice to see what ids or clusters are like.
N_IDS = 2000
# With fewer prefixes, ids are more likely to name splits, such as dev-1 and test-1.
MIN_PREFIXES = 5
# Such as doc12_3, a/1 and 2024.text.7: a start, a separator, and a number.
NUMBERED = re.compile(r"(.+)[/_:.#-]\d+")
NOT_IN_EXPLANATIONS = Message(
    "explanations-without-clusters",
    "Clusters do not apply to intervals of explanations, which are over examples.",
)

NOT_WEIGHTED = Message(
    "explanations-without-weights",
    "Weights do not apply to figures of explanations, which count every example equally.",
)


@dataclass(frozen=True)
class Clusters:
    """Examples that belong together.

    Args:
        column: Column that names the cluster of each example.
        n_clusters: Number of clusters that the intervals use.
        is_exact: False if there are more clusters, and several were added up to limit memory.
    """

    column: str
    n_clusters: int
    is_exact: bool = True

    def __str__(self) -> str:
        more = "" if self.is_exact else "at least "
        return f"{more}{self.n_clusters:,} cluster{'s' * (self.n_clusters != 1)}"


def in_clusters(clusters: Clusters | None) -> str:
    """Return " in 50 clusters", for the end of a phrase; empty without clusters."""
    return "" if clusters is None else f" in {clusters}"


class ClusterKeys(NamedTuple):
    """The clusters of the examples of a shard: keys, and the index of its key per example.

    A key is a checksum, so that it does not depend on the machine or the shard.
    """

    keys: IntArray
    indices: IntArray

    @classmethod
    def of(cls, shard: Shard, column: str | None) -> "ClusterKeys | None":
        """Return the clusters that a column names; examples without a value are one cluster."""
        if column is None or shard.extras is None:
            return None
        values = shard.extras.column(column).combine_chunks()
        first = values[:N_IDS].dictionary_encode(null_encoding="encode")
        if 2 * len(first.dictionary) > len(first):
            indices = np.arange(len(values))  # a dictionary would take longer than it saves
        else:
            encoded = values.dictionary_encode(null_encoding="encode")
            values, indices = encoded.dictionary, to_numpy(encoded.indices)
        return cls(checksums(pc.fill_null(values.cast(pa.string()), "")), indices)

    def parts(self, bits: int) -> IntArray:
        """Return one of 2 to the power of `bits` parts per example, the same for a cluster."""
        mixed = self.keys.astype(np.uint32) * MIXER >> np.uint32(KEY_BITS - bits)
        return np.asarray(mixed.astype(np.int64)[self.indices])


def blocks_in(shard: Shard, clusters: ClusterKeys | None, rows_per_shard: int) -> IntArray:
    """Return the block of each example: by its cluster, or by its position among all."""
    if clusters is not None:
        return blocks_of(clusters.keys)[clusters.indices]
    return blocks_of(shard.index * rows_per_shard + np.arange(len(shard)))


class ClusterAccumulator:
    """Totals per cluster of every metric that is a mean over examples."""

    def __init__(self, n_runs: int) -> None:
        self.sums = ClusterSums(1 + n_runs)
        self.sizes: dict[str, str] = {}  # of each metric: `EXAMPLES`, `LABELED` or `UNWEIGHTED`
        self._waiting: IntArray = np.zeros(0, dtype=np.int64)
        self._places: dict[str, Places] = {}

    def open(self, clusters: ClusterKeys) -> None:
        """Take the clusters of the examples of a shard, whose batches follow."""
        self._waiting = self.sums.places(clusters.keys)[clusters.indices]

    def start(self, batch: AnswerBatch) -> None:
        """Take the next batch of the shard."""
        places, self._waiting = np.split(self._waiting, [batch.n_examples])
        every = labeled = Places(places)
        is_labeled = batch.is_labeled
        if not is_labeled.all():
            labeled = Places(places[is_labeled])
        self._places = {EXAMPLES: every, LABELED: labeled}
        weights = batch.weights
        of_labeled = None if weights is None else weights[is_labeled]
        self.sums.count(EXAMPLES, every.of_examples, weights=weights)
        self.sums.count(LABELED, labeled.of_examples, weights=of_labeled)
        if weights is not None:
            self._places[UNWEIGHTED] = every
            self.sums.count(UNWEIGHTED, every.of_examples)

    def add(self, values: Mapping[str, ExampleValues], sizes: str = EXAMPLES) -> None:
        """Add metrics of the examples of the batch: all of them, or the labeled ones."""
        for name, of_examples in values.items():
            counts_once = of_examples.weights is None and UNWEIGHTED in self._places
            counted_by = UNWEIGHTED if counts_once else sizes
            self.sizes[name] = counted_by
            if of_examples.is_subset:  # counted apart: other examples are in no mean of it
                self.sizes[name] = f"{counted_by} of {name}"
                places = self._places[counted_by].listed(of_examples.places).of_examples
                self.sums.count(self.sizes[name], places, weights=of_examples.weights)
            self.sums.add_values(name, of_examples, self._places[counted_by])

    def merge(self, other: "ClusterAccumulator") -> None:
        """Add the examples of another part."""
        self.sums.merge(other.sums)
        self.sizes |= other.sizes

    def residuals(self, name: str) -> Residuals | None:
        """Return the residuals of a metric; None if it is not a mean over examples."""
        return self.sums.residuals(name, self.sizes[name]) if name in self.sizes else None

    def result(self, name: str, statistic: Statistic) -> Statistic:
        """Return a metric with the variances from drawing clusters in place of examples."""
        if isinstance(statistic, BinnedGaps | BlockJackknife | Jackknifed):
            return replace(statistic, is_clustered=True)
        residuals = self.residuals(name)
        return statistic if residuals is None else clustered(statistic, residuals)

    def described(self, column: str) -> Clusters:
        """Return the number of clusters so far."""
        return Clusters(column, self.sums.n_clusters(EXAMPLES), self.sums.is_exact)


def cluster_hint(shard: Shard) -> Message | None:
    """Return a note if a column or the ids of the first shard suggest clusters."""
    extras = pa.table({}) if shard.extras is None else shard.extras
    for column in extras.column_names:
        if USUAL_NAMES.isdisjoint(re.split(r"[^a-z]+", column.lower())):
            continue
        n_values = pc.count_distinct(extras.column(column), mode="only_valid").as_py()
        if 2 <= n_values <= len(shard) / 2:
            return Message(
                "clusters-suggested",
                "Several examples have the same {column!r}. If these examples are related, "
                "pass --cluster {column}, or clusters= in Python: intervals that ignore clusters "
                "are too narrow.",
                column=column,
                n_values=n_values,
            )
    prefix = _common_prefix(shard.ids[:N_IDS])
    if prefix is None:
        return None
    return Message(
        "clusters-suggested",
        "The ids of many examples share a prefix, such as {prefix!r}. If such examples are "
        "related, name their cluster in a column and pass it with --cluster, or clusters= in "
        "Python: intervals that ignore clusters are too narrow.",
        prefix=prefix,
    )


def _common_prefix(ids: pa.Array) -> str | None:
    """Return the most frequent start of numbered ids, if most have one that repeats."""
    if not pa.types.is_string(ids.type):
        return None
    matches = [NUMBERED.fullmatch(text) for text in ids.to_pylist()]
    prefixes = Counter(match[1] for match in matches if match)
    enough = MIN_PREFIXES <= len(prefixes) <= len(ids) / 2
    return prefixes.most_common(1)[0][0] if enough and all(matches) else None
