"""Time and memory that clusters add to a measuring pass.

    python benchmarks/clusters.py [--scale 1.0] [--repeat 3]

Two studies, 50 runs × 400,000 examples × 10 classes and 10 runs × 4,000,000 examples × 3 classes,
are measured with independent examples and in clusters of ten, in turns and in processes of their
own. The examples of a cluster are neighbors, or spread over all shards. Prints processor seconds
and peak memory.
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
        start = time.process_time()
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
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(*options.only, options.scale)))
        return
    best: dict[tuple[str, str], dict[str, float]] = {}
    for _ in range(options.repeat):
        for study, kind in product(STUDIES, KINDS):
            scale = ["--scale", str(options.scale)]
            command = [sys.executable, __file__, "--only", study, kind, *scale]
            figures = json.loads(subprocess.check_output(command))
            known = best.setdefault((study, kind), figures)
            known["seconds"] = min(known["seconds"], figures["seconds"])
            known["megabytes"] = max(known["megabytes"], figures["megabytes"])
    print("| study | clusters | CPU seconds | times | peak MB | times |")
    print("|---|---|---|---|---|---|")
    for (study, kind), figures in best.items():
        first = best[study, KINDS[0]]
        cells = [
            f"{figures[name]:.1f} | {figures[name] / first[name]:.2f}"
            for name in ("seconds", "megabytes")
        ]
        print(f"| {study} | {kind} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
