"""Which source of randomness is to blame for the flips, from the runs of a store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedproof.comparison.blame.variance_shares import Shares, shares_of
from seedproof.engines import Engine
from seedproof.errors import InputError
from seedproof.measurement.accumulators import batches
from seedproof.measurement.engines import map_shards
from seedproof.messages import Message
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.seeds.seed_design import NOTHING, SeedDesign
from seedproof.stats.distributions import logit
from seedproof.typing import FloatArray, IntArray, Progress

FORMAT = 1
USEFUL_BLOCKS = 10
# Softmax in single precision saturates: beyond this a logit is rounding.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Blame:
    """Which randomness is to blame for the flips.

    Args:
        sources: The sources that vary.
        n_runs: How many runs share a seed with another one; the rest tells nothing here.
        n_blocks: How many independent blocks these runs make.
        n_examples: How many examples every run predicted.
        flips: Shares of the flip rate.
        logits: Shares of the variance of the logit of the followed class, to which taking the most
            probable class adds no interaction; None without probabilities.
    """

    sources: tuple[str, ...]
    n_runs: int
    n_blocks: int
    n_examples: int
    flips: Shares
    logits: Shares | None

    def summary(self) -> dict[str, Any]:
        """Everything as plain data; it holds no path, time, host or version."""
        return {
            "format": FORMAT,
            "sources": list(self.sources),
            "n_runs": self.n_runs,
            "n_blocks": self.n_blocks,
            "n_examples": self.n_examples,
            "flips": self.flips.summary(),
            "logits": None if self.logits is None else self.logits.summary(),
        }

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def blame_runs(
    source: ShardSource,
    seeds: Sequence[Mapping[str, int]],
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Blame:
    """Which share of the flips comes with each source of randomness.

    Any plan will do in which some runs share seeds; intervals need blocks that share none.
    """
    sharing = SeedDesign(seeds)
    _check(sharing)
    flips, squares = run_distances(source, engine=engine, progress=progress)
    shares = shares_of(flips, sharing)
    if shares is None:
        raise InputError(
            "All runs that differ in every source predict the same classes: nothing flips, so "
            "there is nothing to blame.",
            n_flips=0,
        )
    return Blame(
        sources=sharing.sources,
        n_runs=sum(len(block) for block in sharing.blocks),
        n_blocks=len(sharing.blocks),
        n_examples=source.n_examples,
        flips=shares,
        logits=None if squares is None else shares_of(squares, sharing),
    )


def run_distances(
    source: ShardSource, *, engine: Engine | None = None, progress: Progress | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """How far apart every two runs are, in one pass; memory is of the order runs².

    Share of the examples on which two runs disagree, axes (runs, runs); and the mean squared
    difference of their logits, None without probabilities.
    """
    shape = (len(source.runs), len(source.runs))
    flips, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    parts = map_shards(ShardDistances(source), source.n_shards, engine=engine, progress=progress)
    for more_flips, more_squares in parts:
        flips += more_flips
        squares += more_squares
    has_logits = source.kind is Kind.PROBS
    return flips / source.n_examples, squares / source.n_examples if has_logits else None


@dataclass(frozen=True, eq=False)
class ShardDistances:
    """Sums over the examples of one shard; frozen, so that it can travel to another process."""

    source: ShardSource

    def __call__(self, index: int) -> tuple[IntArray, FloatArray]:
        """Return disagreements and squared differences of logits, axes (runs, runs)."""
        shape = (len(self.source.runs), len(self.source.runs))
        flips, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        for batch in batches(self.source.shard(index), len(self.source.classes)):
            flips += batch.disagreements
            if self.source.kind is Kind.PROBS:
                squares += squared_differences(_logits(batch.reference_probs))
        return flips, squares


def _logits(probs: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(probs, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def squared_differences(values: FloatArray) -> FloatArray:
    """Sum over examples of the squared difference of every two runs."""
    whole = np.zeros((len(values), len(values)))
    for run_idx in range(len(values) - 1):
        apart = values[run_idx + 1 :] - values[run_idx]
        whole[run_idx, run_idx + 1 :] = np.square(apart).sum(axis=1)
    return whole + whole.T


def _check(sharing: SeedDesign) -> None:
    """Refuse runs that cannot tell sources apart, and say which can."""
    sources = sharing.sources
    many = sources if len(sources) > 1 and sharing.blocks else ("init", "order", "dropout")
    remedy = Message(
        "runs-for-blame",
        "Make runs for it, in another store: seedproof run TARGET "
        "--blame {n_blocks} --vary {listed} --store runs-blame",
        n_blocks=USEFUL_BLOCKS,
        listed=",".join(many),
        sources=many,
    )
    if not sources:
        raise InputError(
            "The runs have no seeds recorded, or all the same, so nothing tells which of them "
            "share a source. {remedy}",
            sources=sources,
            remedy=remedy,
        )
    if len(sources) == 1:
        raise InputError(
            "Only {source} varies over these runs, so every flip comes with it: two sources "
            "or more can be told apart. {remedy}",
            source=sources[0],
            sources=sources,
            remedy=remedy,
        )
    if not sharing.blocks:
        raise InputError(
            "All of {sources} differ between any two of these runs, so no source can "
            "be told from the others. {remedy}",
            sources=sources,
            n_blocks=0,
            remedy=remedy,
        )
    if NOTHING not in sharing.pairs:
        raise InputError(
            "No two of these runs differ in all of {sources}, so it is unknown what "
            "their shares would be shares of. {remedy}",
            sources=sources,
            n_blocks=len(sharing.blocks),
            remedy=remedy,
        )
