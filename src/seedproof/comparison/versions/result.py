"""What comparing two versions gives: figures with intervals, and examples that changed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyarrow as pa

from seedproof.measurement.examples import StoredExamples
from seedproof.messages import Message
from seedproof.records.location import Location
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import TAIL, Estimate
from seedproof.stats.vote_tests import Discoveries

FORMAT = 1
OWN_COLUMNS = (
    "example",
    "label",
    "old",
    "old_share",
    "new",
    "new_share",
    "flip_rate",
    "correct_share_old",
    "correct_share_new",
    "p_value",
    "q_value",
    "old_predictions",
    "new_predictions",
)
# What is said of an example that is listed; what each run said and the user's columns stay out.
LISTED = OWN_COLUMNS[:-2]


@dataclass(frozen=True)
class GroupFigures:
    """The figures of some examples: all, those of a gold class, or those of a slice.

    Args:
        name: `all`, the class, or the value of the column.
        n_examples: How many they are.
        n_labeled: How many of them have a gold label.
        figures: Value and interval by name; those of right and wrong need labels.
        beyond: Flips beyond the seed, with an interval that holds for all classes or all values of
            a column together; one example has none.
        is_beyond: Whether flips beyond the seed are shown: that interval is above 0, and over runs.
    """

    name: str
    n_examples: int
    n_labeled: int
    figures: Mapping[str, Estimate]
    beyond: Estimate
    is_beyond: bool

    def summary(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "name": self.name,
            "n_examples": self.n_examples,
            "n_labeled": self.n_labeled,
            "is_beyond": self.is_beyond,
            "beyond": asdict(self.beyond),
            "figures": {name: asdict(value) for name, value in self.figures.items()},
        }


@dataclass(frozen=True, slots=True)
class Exchange:
    """Whether the runs could have been dealt to the versions the other way round.

    Args:
        p_value: Share of the ways to deal them that show as many flips beyond the seed.
        least: The smallest such share that so many runs can give.
    """

    p_value: float
    least: float


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """What a new version changes, beside what another seed changes.

    Args:
        old_runs: Names of the runs of the old version.
        new_runs: Names of the runs of the new version.
        classes: Names of the classes of both.
        whole: The figures of all examples.
        by_class: Those of each gold class that has an example.
        slices: Those of each value of each column that was asked for.
        exchange: The exact test over runs of whether anything is beyond the seed.
        discoveries: What the tests of single examples say together.
        unexplained: The examples whose votes the seed does not explain, the surest first, at most
            500, with what each run said.
        examples_file: Parquet file with one row an example.
        notes: What a person should know about how the input was read.
        steadiness: Flip rate of the new version as a ratio to the old one's; None if a version has
            a single run.
    """

    old_runs: tuple[str, ...]
    new_runs: tuple[str, ...]
    classes: tuple[str, ...]
    whole: GroupFigures
    by_class: tuple[GroupFigures, ...]
    slices: Mapping[str, tuple[GroupFigures, ...]]
    exchange: Exchange
    discoveries: Discoveries
    unexplained: pa.Table
    examples_file: Location
    notes: tuple[Message, ...] = ()
    steadiness: Effect | None = None

    def __getitem__(self, name: str) -> Estimate:
        return self.whole.figures[name]

    @property
    def n_examples(self) -> int:
        """How many examples both versions predicted."""
        return self.whole.n_examples

    @property
    def is_beyond(self) -> bool:
        """Whether flips beyond the seed are shown: by the exact test, or by the interval.

        Few runs can never give a small p-value, and then the interval decides alone.
        """
        return self.exchange.p_value <= 2 * TAIL or self.whole.is_beyond

    @property
    def baseline_from(self) -> Literal["both", "old", "new"]:
        """Which version's runs say what another seed changes: a single run cannot."""
        if len(self.old_runs) == 1:
            return "new"
        return "old" if len(self.new_runs) == 1 else "both"

    def examples(self) -> pa.Table:
        """One row for each example, in the order of their ids."""
        return StoredExamples(self.examples_file).read()

    def extras(self) -> tuple[str, ...]:
        """Columns of the user's own that were carried along."""
        return tuple(name for name in self.unexplained.column_names if name not in OWN_COLUMNS)

    def summary(self) -> dict[str, Any]:
        """Everything but the table of all examples, as plain data.

        It holds no path, time, host or version, so equal predictions give equal bytes.
        """
        listed = [name for name in LISTED if name in self.unexplained.column_names]
        return {
            "format": FORMAT,
            "old_runs": list(self.old_runs),
            "new_runs": list(self.new_runs),
            "n_examples": self.n_examples,
            "n_labeled": self.whole.n_labeled,
            "n_classes": len(self.classes),
            "baseline_from": self.baseline_from,
            "whole": self.whole.summary(),
            "by_class": [part.summary() for part in self.by_class],
            "slices": {
                column: [part.summary() for part in parts] for column, parts in self.slices.items()
            },
            "is_beyond": self.is_beyond,
            "steadiness": None if self.steadiness is None else self.steadiness.summary(),
            "exchange": asdict(self.exchange),
            "discoveries": asdict(self.discoveries),
            "unexplained": self.unexplained.select(listed).to_pylist(),
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """The summary as it stands in `versions.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"
