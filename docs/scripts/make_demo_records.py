"""Create the records of `seedproof demo` from the store of a real study.

They are the runs of two arms: the predictions for all test examples, bit for bit, and the attention
for a fixed random sample of them, in half precision, with ids, gold labels, class names, seeds and
facts of the runs. Words are left out: a token is named by its position. Times are left out, too,
because the machine also had other work.

The same store gives the same bytes. Create it as in docs/how-to/reproduce-a-paper.md:

    seedproof reproduce conll2019 --dataset sst --arms none,naswa --seeds 10 --store sst-cnn

Usage: python docs/scripts/make_demo_records.py STORE
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from seedproof.demo.bundle import Bundle
from seedproof.records.explanation_shards import ExplanationShard, open_explanations
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.typing import FloatArray, IntArray

TARGET = Path(__file__).resolve().parents[2] / "src" / "seedproof" / "demo"
ARMS = ("none", "naswa")
SPLIT, METHOD = "test", "attention"
N_EXPLAINED, CHOICE_SEED = 150, 0
TIMES = ("began", "seconds")


def main() -> None:
    """Extract the bundle from the given store and write it into the package."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bundle = cut(Store(Location.of(sys.argv[1])))
    bundle.save(TARGET)
    written = sorted(TARGET.glob("records.*"))
    sizes = ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in written)
    print(f"{len(bundle.runs)} runs, {len(bundle.ids):,} examples: {sizes}")


def cut(store: Store, *, arms: tuple[str, ...] = ARMS, n_explained: int = N_EXPLAINED) -> Bundle:
    """Return some arms of a study as a bundle without texts."""
    sources = [store.shards(arm=arm, split=SPLIT) for arm in arms]
    explanations = [open_explanations(store, arm=arm, split=SPLIT, method=METHOD) for arm in arms]
    if any(source.n_shards != 1 for source in (*sources, *explanations)):
        sys.exit("A demo is small, but these records have several row groups.")
    shards = [source.shard(0) for source in sources]
    explained = [source.shard(0) for source in explanations]
    check_alike([pa.array([run.seeds for run in source.manifests]) for source in sources], "seeds")
    check_alike([shard.ids for shard in shards], "examples")
    check_alike([pa.array(shard.labels) for shard in shards], "labels")
    check_alike([shard.ids for shard in explained], "explained examples")
    check_alike([shard.tokens for shard in explained], "tokens")
    rows, tokens = choose(explained[0], n_explained)
    ids = shards[0].ids.to_numpy()
    return Bundle(
        study=replace(store.study, plan={**(store.study.plan or {}), "arms": list(arms)}),
        runs=tuple(bare(run) for source in sources for run in source.manifests),
        split=SPLIT,
        method=METHOD,
        classes=sources[0].classes,
        ids=ids,
        labels=shards[0].labels,
        probs=np.concatenate([second_class(shard.probs) for shard in shards]),
        explained=np.searchsorted(ids, explained[0].ids.to_numpy()[rows]),
        lengths=explained[0].lengths[rows],
        scores=np.concatenate([shard.scores[:, tokens] for shard in explained]),
    )


def check_alike(columns: list[pa.Array], what: str) -> None:
    """Exit if arms differ in something that all runs must share."""
    if not all(column.equals(columns[0]) for column in columns):
        sys.exit(f"The arms have different {what}.")


def bare(run: RunManifest) -> RunManifest:
    """Return a run without its files and times."""
    facts, scalars = (
        {name: value for name, value in known.items() if name not in TIMES}
        for known in (run.facts, run.scalars)
    )
    return replace(run, parts=(), facts=facts, scalars=scalars)


def second_class(probs: FloatArray) -> FloatArray:
    """Return the probabilities of the second class; exit if the first is not their complement."""
    if probs.shape[2] != 2 or not np.array_equal(probs[..., 0], 1 - probs[..., 1]):
        sys.exit("The probabilities are not 1 - p and p, bit for bit: keep those of both classes.")
    return probs[..., 1]


def choose(shard: ExplanationShard, n_explained: int) -> tuple[IntArray, IntArray]:
    """Return a fixed random sample of the examples, and the positions of their tokens."""
    if shard.n_draws.max() != 1:
        sys.exit("Some examples are explained more than once: keep one draw.")
    rng = np.random.default_rng(CHOICE_SEED)
    rows = np.sort(rng.choice(len(shard), min(n_explained, len(shard)), replace=False))
    begins = np.cumsum(shard.lengths) - shard.lengths
    return rows, np.concatenate([begins[i] + np.arange(shard.lengths[i]) for i in rows])


if __name__ == "__main__":
    main()
