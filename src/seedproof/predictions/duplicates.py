"""Runs that are copies of each other, and arms that are.

Only runs with equal answers are read again, until their probabilities differ.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import combinations

import numpy as np
import pyarrow as pa

from seedproof.errors import DamagedStoreError
from seedproof.predictions.checks import Check, named
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.typing import BoolArray, IntArray

# Equal answers of two runs are no accident if they have a lower probability than this.
IMPLAUSIBLE = 1e-6
# Representatives of equal runs that are compared in threes: their number grows with the cube.
MOST_COMPARED = 40
NO_EFFECT = (
    "Check that no run is given twice and that the seed has an effect; `seedproof doctor` checks "
    "the latter."
)
FROM_A_CACHE = (
    "Check that none is given twice, and that answers did not come from a cache or from a model "
    "that draws nothing."
)
# Logged as 1 by runs of estimators that are known to draw no random numbers.
DRAWS_NOTHING = "draws_nothing"


def duplicates(source: ShardSource, disagreements: IntArray) -> Iterator[Check]:
    """Yield a finding for each group of runs that are copies of each other."""
    n_runs, alike = len(source.runs), equal_rows(disagreements == 0)
    suspects = [group for group in alike if len(group) > 1]
    if not suspects:
        return
    if source.kind not in {Kind.LABELS, Kind.TEXTS}:
        what, copies = "probabilities", _equal_probabilities(source, suspects)
    else:
        what = "answers"
        copies = suspects if len(alike) == 1 else _implausible(disagreements, alike)
    for group in copies:
        names = tuple(source.runs[run] for run in group)
        noun = "trials" if source.repeats == "trials" else "runs"
        same = f"All {noun}" if len(group) == n_runs else f"{noun.capitalize()} {named(names)}"
        same += f" have identical {what}"
        yield explained_copies(source, group, names, same) or Check(
            "duplicate-runs",
            "error",
            names,
            f"{same}. Copies of a run are not evidence of stability.",
            FROM_A_CACHE if source.kind is Kind.TEXTS else NO_EFFECT,
        )


def explained_copies(
    source: ShardSource, group: Sequence[int], names: tuple[str, ...], same: str
) -> Check | None:
    """Return a note on equal runs if what a store records explains them."""
    runs = [source.manifests[run] for run in group] if source.manifests else []
    if runs and all(run.scalars.get(DRAWS_NOTHING) for run in runs):
        return Check(
            "duplicate-runs",
            "note",
            names,
            f"{same}: this estimator draws no random numbers.",
            "Further runs add nothing. Vary the training data to see its influence.",
        )
    if _share_a_seed([run.seeds for run in runs]):
        message = f"{same}: the sources that differ have no effect."
        return Check("duplicate-runs", "note", names, message, "")
    return None


def _share_a_seed(seeds: Sequence[Mapping[str, int]]) -> bool:
    """Return True if any two of several runs share the seed of some source."""
    return bool(seeds) and all(
        any(first.get(source) == seed for source, seed in second.items())
        for first, second in combinations(seeds, 2)
    )


def equal_rows(is_equal: BoolArray) -> list[list[int]]:
    """Return groups of runs that are equal to each other, each run in one group."""
    first = is_equal.argmax(axis=1)
    return [np.flatnonzero(first == run).tolist() for run in np.unique(first)]


def _implausible(disagreements: IntArray, alike: list[list[int]]) -> list[list[int]]:
    """Return groups of equal answers that chance does not explain, given all other runs.

    Among any three runs of a healthy study each is alone against the other two on some examples,
    even if a common tendency, such as a moving threshold, makes two of them nearly equal. The
    smallest such number over all runs estimates the examples on which the two would differ.
    """
    kept = [group[0] for group in alike][:MOST_COMPARED]
    if len(kept) < 3:
        return []
    d = disagreements[np.ix_(kept, kept)]
    fewest = min(
        min(d[a, b] + d[a, c] - d[b, c], d[a, b] + d[b, c] - d[a, c], d[a, c] + d[b, c] - d[a, b])
        for a, b, c in combinations(range(len(kept)), 3)
    )
    n_pairs = len(disagreements) * (len(disagreements) - 1) / 2
    return [
        group
        for group in alike
        if len(group) > 1 and n_pairs * np.exp(-float(fewest) * (len(group) - 1)) < IMPLAUSIBLE
    ]


def _equal_probabilities(source: ShardSource, groups: list[list[int]]) -> list[list[int]]:
    """Return the parts of groups of runs whose probabilities are equal to the last digit."""
    for shard in _readable(source):
        values = _values(shard)
        parts = [part for group in groups for part in _split(values, group)]
        groups = [part for part in parts if len(part) > 1]
        if not groups:
            break
    return groups


def _readable(source: ShardSource) -> Iterator[Shard]:
    """Yield the shards of a source with probabilities, without damaged ones, which have a note."""
    full = source.in_full()
    for index in range(full.n_shards):
        with suppress(DamagedStoreError):
            yield full.shard(index)


def _values(shard: Shard) -> tuple[np.ndarray, ...]:
    """Return all that a shard has of each run, axes (runs, …)."""
    if shard.top is not None:
        return shard.top.probs, shard.top.classes
    several = (shard.probs, shard.predictions, shard.numbers, shard.items, shard.answers)
    values = next((x for x in several if x is not None), None)
    return () if values is None else (values,)


def _split(values: tuple[np.ndarray, ...], group: list[int]) -> list[list[int]]:
    """Split a group of runs by their values."""
    parts: list[list[int]] = []
    for run in group:
        for part in parts:
            if all(np.array_equal(x[part[0]], x[run]) for x in values):
                part.append(run)
                break
        else:
            parts.append([run])
    return parts


def identical_arms(
    sources: Mapping[str, ShardSource], pairs: Mapping[str, tuple[str, ...] | None]
) -> Iterator[Check]:
    """Yield a finding for arms that make exactly the same predictions with every seed.

    `pairs` are the seeds of each arm's runs, if they are known; otherwise runs are compared in
    their order. Arms are read until they differ, one shard of one arm at a time.
    """
    alike: dict[object, list[str]] = {}
    for name, source in sources.items():
        shape = len(source.runs), source.n_examples, source.rows_per_shard
        alike.setdefault((shape, source.classes, source.kind), []).append(name)
    shards = {name: _readable(source) for name, source in sources.items()}
    n_contested: Counter[str] = Counter()
    for _ in range(max((source.n_shards for source in sources.values()), default=0)):
        groups = [group for group in alike.values() if len(group) > 1]
        alike = {}
        for place, group in enumerate(groups):
            for name in group:
                digest, contested = _digest(next(shards[name], None), _order(pairs[name]))
                alike.setdefault((place, digest), []).append(name)
                n_contested[name] += contested
    for group in alike.values():
        # Arms of answers that hardly ever change may be equal by accident.
        if len(group) > 1 and np.exp(-n_contested[group[0]]) < IMPLAUSIBLE:
            yield Check(
                "identical-arms",
                "error",
                (),
                f"Arms {named(group)} make exactly the same predictions with every seed.",
                "Check that the training uses the name of its arm.",
                arms=tuple(group),
            )


def _order(pairs: tuple[str, ...] | None) -> IntArray | slice:
    """Return the order of runs that is the same in all arms with the same seeds."""
    return slice(None) if pairs is None else np.argsort(np.array(pairs), kind="stable")


def _digest(shard: Shard | None, order: IntArray | slice) -> tuple[bytes, int]:
    """Return a digest of the ids and values of a shard, and the examples on which runs differ."""
    if shard is None:
        return b"", 0
    ids = pa.RecordBatch.from_arrays([shard.ids], ["id"]).serialize()
    content = blake2b(ids, digest_size=16)
    (values, *_) = several = _values(shard)
    for array in several:
        content.update(np.ascontiguousarray(array[order]).tobytes())
    differs = (values != values[0]).reshape(len(values), len(shard), -1)
    return content.digest(), int(differs.any(axis=(0, 2)).sum())
