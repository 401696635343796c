"""Time and memory that clusters add to a measuring pass.

    python benchmarks/clusters.py [--scale 1.0] [--repeat 7] [--only STUDY]

Two studies, 50 runs × 400,000 examples × 10 classes and 10 runs × 4,000,000 examples × 3 classes,
are measured with independent examples and in clusters of ten, in turns and in processes of their
own. The examples of a cluster are neighbors, or spread over all shards. Prints medians of processor
seconds, and of the ratios of each turn.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from seedproof.measurement.measure import measure_shards
from seedproof.records.location import Location
from seedproof.records.schema import Kind, Layout
from seedproof.records.shards import Shard, ShardSource

STUDIES = {"10 classes": (50, 400_000, 10), "3 classes": (10, 4_000_000, 3)}
CLUSTER_SIZE = 10
KINDS = ("independent", "neighbors", "spread")


class RepeatedShards(ShardSource):
    """The same predictions in every shard, with clusters that differ."""

    kind = Kind.PROBS
    extras = ("text",)

    def __init__(
        self, n_runs: int, n_examples: int, n_classes: int, *, are_neighbors: bool
    ) -> None:
        self.runs = tuple(map(str, range(n_runs)))
        self.classes = tuple(map(str, range(n_classes)))
        self.rows_per_shard = Layout(self.kind, self.classes).rows_per_group
        self.n_examples = self.n_labeled = n_examples
        self._are_neighbors = are_neighbors
        rng = np.random.default_rng(0)
        shape = min(self.rows_per_shard, n_examples), n_classes
        shared = 4 * rng.standard_normal(shape, dtype=np.float32)
        self._labels = shared.argmax(axis=1).astype(np.int32)
        self._probs = np.empty((n_runs, *shape), dtype=np.float32)
        for run_idx in range(n_runs):
            raised = np.exp(shared + rng.standard_normal(shape, dtype=np.float32))
            self._probs[run_idx] = raised / raised.sum(axis=1, keepdims=True)

    def shard(self, index: int) -> Shard:
        """Return one shard."""
        start = index * self.rows_per_shard
        ids = np.arange(start, min(start + self.rows_per_shard, self.n_examples))
        n_clusters = self.n_examples // CLUSTER_SIZE
        clusters = ids // CLUSTER_SIZE if self._are_neighbors else ids * 7919 % n_clusters
        names = pa.array(np.char.add("text ", clusters.astype(np.str_)))
        return Shard(
            index,
            pa.array(ids),
            self._labels[: len(ids)],
            probs=self._probs[:, : len(ids)],
            predictions=None,
            extras=pa.table({"text": names}),
        )


def measure(study: str, kind: str, scale: float) -> dict[str, float]:
    """Return processor seconds and peak memory of one pass in this process."""
    n_runs, n_examples, n_classes = STUDIES[study]
    source = RepeatedShards(
        n_runs, int(scale * n_examples), n_classes, are_neighbors=kind != "spread"
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()  # user and system time
        measure_shards(
            source,
            Location.of(Path(folder) / "examples.parquet"),
            clusters=None if kind == "independent" else "text",
        )
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "megabytes": peak}


def main() -> None:
    """Print a table of all kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", choices=STUDIES)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    scale = ["--scale", str(options.scale)]
    if options.step:
        print(json.dumps(measure(*options.step, options.scale)))
        return
    print("| study | clusters | CPU seconds | times | peak MB | times |")
    print("|---|---|---|---|---|---|")
    for study in [options.only] if options.only else STUDIES:
        turns: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
        for _, kind in product(range(options.repeat), KINDS):
            command = [sys.executable, __file__, "--step", study, kind, *scale]
            turns[kind].append(json.loads(subprocess.check_output(command)))
        for kind, figures in turns.items():
            cells = []
            for name in ("seconds", "megabytes"):
                pairs = zip(figures, turns[KINDS[0]], strict=True)
                ratios = [of_kind[name] / first[name] for of_kind, first in pairs]
                cells.append(f"{median(x[name] for x in figures):.1f} | {median(ratios):.2f}")
            print(f"| {study} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
