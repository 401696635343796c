"""Share of the flips that each source of randomness causes, from the runs of a store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedproof.comparison.blame.variance_shares import Shares, shares_of
from seedproof.engines import Engine
from seedproof.errors import InputError
from seedproof.measurement.engines import map_shards
from seedproof.messages import Message
from seedproof.metrics.batch import batches
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.seeds.seed_design import NOTHING, SeedDesign
from seedproof.stats.distributions import logit
from seedproof.typing import FloatArray, IntArray, Progress

FORMAT = 1
USEFUL_BLOCKS = 10
# Softmax in single precision saturates: beyond this, a logit is rounding error.
LEAST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Blame:
    """Share of the flips that each source of randomness causes."""

    sources: tuple[str, ...]  # those that vary
    n_runs: int  # that share a seed with another run
    n_blocks: int  # independent blocks that these runs make
    n_examples: int
    flips: Shares  # of the flip rate
    # Of the variance of the logit of the followed class, which has no interaction from taking the
    # most probable class; None if there are no probabilities.
    logits: Shares | None

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data, without path, time, host or version."""
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
        """Return the summary as JSON text."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def blame_runs(
    source: ShardSource,
    seeds: Sequence[Mapping[str, int]],
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Blame:
    """Return the share of the flips that each source of randomness causes.

    Some runs must share seeds; intervals need blocks of runs that share none.
    """
    design = SeedDesign(seeds)
    _check(design)
    flips, squares = run_distances(source, engine=engine, progress=progress)
    shares = shares_of(flips, design)
    if shares is None:
        raise InputError(
            "Runs that differ in every source predict the same classes: there are no flips to "
            "explain.",
            n_flips=0,
        )
    return Blame(
        sources=design.sources,
        n_runs=sum(len(block) for block in design.blocks),
        n_blocks=len(design.blocks),
        n_examples=source.n_examples,
        flips=shares,
        logits=None if squares is None else shares_of(squares, design),
    )


def run_distances(
    source: ShardSource, *, engine: Engine | None = None, progress: Progress | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """Return distances between every two runs, axes (runs, runs), in one pass.

    The share of examples on which they disagree, and the mean squared difference of their logits;
    None if there are no probabilities. Memory is of the order runs².
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
    """Sums over one shard; frozen, so that it can be sent to another process."""

    source: ShardSource

    def __call__(self, index: int) -> tuple[IntArray, FloatArray]:
        """Return disagreements and squared differences of logits, axes (runs, runs)."""
        shape = (len(self.source.runs), len(self.source.runs))
        flips, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        for batch in batches(self.source.shard(index), len(self.source.classes)):
            flips += batch.disagreements
            if self.source.kind is Kind.PROBS:
                probs = np.clip(batch.reference_probs, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
                squares += squared_differences(logit(probs))
        return flips, squares


def squared_differences(values: FloatArray) -> FloatArray:
    """Return the sum over examples of the squared difference of every two runs."""
    whole = np.zeros((len(values), len(values)))
    for run_idx in range(len(values) - 1):
        apart = values[run_idx + 1 :] - values[run_idx]
        whole[run_idx, run_idx + 1 :] = np.square(apart).sum(axis=1)
    return whole + whole.T


def _check(design: SeedDesign) -> None:
    """Refuse runs whose sources cannot be separated, and say which runs can be used."""
    sources, n_blocks = design.sources, len(design.blocks)
    if not sources:
        problem = "The runs have no seeds recorded, or all have the same."
    elif len(sources) == 1:
        problem = "Only {sources} varies over these runs; separating sources needs at least two."
    elif not n_blocks:
        problem = (
            "Any two of these runs differ in all of {sources}, so no source can be separated from "
            "the others."
        )
    elif NOTHING not in design.pairs:
        problem = (
            "No two of these runs differ in all of {sources}, so shares have no total to refer to."
        )
    else:
        return
    varied = sources if len(sources) > 1 and n_blocks else ("init", "order", "dropout")
    remedy = Message(
        "runs-for-blame",
        "Make suitable runs in another store: seedproof run TARGET "
        "--blame {n_blocks} --vary {listed} --store runs-blame",
        n_blocks=USEFUL_BLOCKS,
        listed=",".join(varied),
        sources=varied,
    )
    only = {"source": sources[0]} if len(sources) == 1 else {}
    raise InputError(
        f"{problem} {{remedy}}", sources=sources, n_blocks=n_blocks, remedy=remedy, **only
    )
