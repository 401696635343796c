"""Comparison of two versions of a model: changes that differences between runs do not explain.

The examples of both are read once. Memory grows with runs, classes and slices, never with examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from seedproof.comparison.arm_alignment import ArmAlignment
from seedproof.comparison.versions.items import ItemVersionSums
from seedproof.comparison.versions.numbers import MeansOfRuns, NumberVersionSums
from seedproof.comparison.versions.result import VersionComparison
from seedproof.comparison.versions.sums import ClassVersionSums, VersionSums
from seedproof.comparison.versions.texts import TextVersionSums
from seedproof.engines import Engine
from seedproof.errors import OptionError, TooFewRunsError
from seedproof.measurement.engines import map_shards
from seedproof.measurement.examples import ExampleWriter
from seedproof.messages import Message
from seedproof.records.levels import refuse_unequal
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.typing import Progress

# Sums of answers that are not classes.
SUMS: dict[Kind, type[NumberVersionSums | TextVersionSums | ItemVersionSums]] = {
    Kind.NUMBERS: NumberVersionSums,
    Kind.TEXTS: TextVersionSums,
    Kind.RANKINGS: ItemVersionSums,
    Kind.SETS: ItemVersionSums,
}


def compare_versions(
    old: ShardSource,
    new: ShardSource,
    examples_file: Location,
    *,
    slices: Sequence[str] = (),
    clusters: str | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
    notes: tuple[Message, ...] = (),
) -> VersionComparison:
    """Compare a new version with the old one, and separate the changes that another run causes.

    Runs that have several trials or judges are compared by their means.
    """
    for source in (old, new):
        _refuse_text_levels(source)
    for source in (old, new):
        refuse_unequal(source.settings, "Versions are")
    notes = (*notes, *_notes_on_judges(old, new))
    old, new = (x if x.settings.levels is None else MeansOfRuns(x) for x in (old, new))
    if len(old.runs) == len(new.runs) == 1 and old.settings.are_trials:
        raise TooFewRunsError(
            "Both versions have a single trial, so their noise is unknown. Repeat at least one of "
            "them; or compare them as arms, which gives the difference of their means.",
            n_runs=1,
        )
    if len(old.runs) == len(new.runs) == 1:
        raise TooFewRunsError(
            "Both versions have a single run, so the differences between runs are unknown. "
            "Repeat at least one of them: 2 runs give figures, 5 also verdicts.",
            n_runs=1,
        )
    alignment = ArmAlignment(("the old version", "the new version"), (old, new))
    task = CompareVersions(alignment, tuple(slices), clusters)
    total = task.empty()
    with ExampleWriter(examples_file) as writer:
        parts = map_shards(task, alignment.n_shards, engine=engine, progress=progress)
        for part, rows in parts:
            total.merge(part)
            writer.write(rows)
    return total.result(examples_file, notes)


def _notes_on_judges(old: ShardSource, new: ShardSource) -> list[Message]:
    """Return a note on answers that the same judges grade: intervals are for these judges."""
    judges = [x.settings.levels.judges if x.settings.levels else () for x in (old, new)]
    if not any(judges):
        return []
    if judges[0] != judges[1]:
        return [
            Message(
                "judges-of-versions-differ",
                "The versions are graded by different judges: their difference contains how strict "
                "these are, and no interval covers that. Let the same judges grade both.",
            )
        ]
    return [
        Message(
            "for-these-judges",
            "Intervals are for these {n_judges} judges. How strict they are cancels in the "
            "difference, but others may see another one: compare the versions as arms for "
            "intervals over judges like these.",
            n_judges=len(judges[0]),
        )
    ]


def _refuse_text_levels(source: ShardSource) -> None:
    """Raise an error for texts of runs that have several trials each: texts have no mean."""
    if source.kind is Kind.TEXTS and source.settings.levels is not None:
        raise OptionError(
            "The texts have both runs and trials of each run. Versions of such texts are not "
            "compared example by example. Compare them as arms, `seedproof compare OLD NEW`, or "
            "keep the rows of one trial per run.",
            option="trial",
        )


@dataclass(frozen=True, eq=False)
class CompareVersions:
    """Compare one shard of two versions; frozen, so that it can be sent to another process."""

    alignment: ArmAlignment
    slices: tuple[str, ...]
    clusters: str | None = None

    def empty(self) -> VersionSums:
        """Return sums without examples."""
        old, new = self.alignment.sources
        return SUMS.get(old.kind, ClassVersionSums)((old, new), self.slices, self.clusters)

    def __call__(self, index: int) -> tuple[VersionSums, pa.Table]:
        """Return the sums of shard `index`, and one row per example."""
        sums, first = self.empty(), self.alignment.shard(index)
        return sums, sums.update(first, self.alignment.match(1, first))
