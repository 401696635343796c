"""Share of the flips that each source of randomness causes, from the runs of a store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seedproof.comparison.blame.distances import FLIPS, LISTS, LOGITS, run_distances
from seedproof.comparison.blame.variance_shares import Shares, shares_of
from seedproof.engines import Engine
from seedproof.errors import InputError
from seedproof.measurement.selection import answers_of
from seedproof.messages import Message
from seedproof.records.shards import ShardSource
from seedproof.seeds.seed_design import NOTHING, SeedDesign
from seedproof.typing import Progress

FORMAT = 1
USEFUL_BLOCKS = 10


@dataclass(frozen=True)
class Blame:
    """Share of the flips that each source of randomness causes.

    Args:
        sources: Sources that vary.
        n_runs: Number of runs that share a seed with another run.
        n_blocks: Number of independent blocks that these runs make.
        n_examples: Number of examples.
        flips: Shares of the flip rate: of classes, first items, sets or answers.
        further: Shares of other distances by name: the variance of logits, the Jaccard distance,
            the variance of the quality of an example.
        answers: Kind of answers, such as classes or rankings.
        are_of_lists: Flips are those of whole ranked lists, because no first item flips.
    """

    sources: tuple[str, ...]
    n_runs: int
    n_blocks: int
    n_examples: int
    flips: Shares
    further: Mapping[str, Shares] = field(default_factory=dict)
    answers: str = "classes"
    are_of_lists: bool = False

    @property
    def shares(self) -> Mapping[str, Shares]:
        """All shares by the distance that they are of, those of the flips first."""
        return {FLIPS: self.flips, **self.further}

    @property
    def logits(self) -> Shares | None:
        """Shares of the variance of the logit of the followed class; None if there are none."""
        return self.further.get(LOGITS)

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data, without path, time, host or version."""
        return {
            "format": FORMAT,
            "answers": self.answers,
            "sources": list(self.sources),
            "n_runs": self.n_runs,
            "n_blocks": self.n_blocks,
            "n_examples": self.n_examples,
            LOGITS: None,
            **({"are_of_lists": True} if self.are_of_lists else {}),
            **{name: shares.summary() for name, shares in self.shares.items()},
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
    distances = run_distances(source, engine=engine, progress=progress)
    shares = {name: shares_of(matrix, design) for name, matrix in distances.items()}
    first_items, lists = shares.pop(FLIPS), shares.pop(LISTS, None)
    flips = lists if first_items is None else first_items
    if flips is None:
        raise InputError(
            "Runs that differ in every source never flip: there is nothing to explain.",
            n_flips=0,
        )
    return Blame(
        sources=design.sources,
        n_runs=sum(len(block) for block in design.blocks),
        n_blocks=len(design.blocks),
        n_examples=source.n_examples,
        flips=flips,
        further={name: known for name, known in shares.items() if known is not None},
        answers=answers_of(source.kind),
        are_of_lists=first_items is None,
    )


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
