"""Result of comparing two versions: figures with intervals, and examples that changed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import pyarrow as pa

from seedproof.measurement.clusters import Clusters
from seedproof.measurement.examples import StoredExamples
from seedproof.messages import Message
from seedproof.metrics.card import Better
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.predictions.checks import Check, errors_of
from seedproof.records.answer_settings import ExampleWeights
from seedproof.records.location import Location
from seedproof.records.schema import Kind
from seedproof.stats.effect import Effect, without_verdict
from seedproof.stats.intervals import PLAIN, TAIL, WITHOUT_RUNS, Estimate
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
NUMBER_COLUMNS = (
    "example",
    "target",
    "mean_old",
    "mean_new",
    "difference",
    "p_value",
    "q_value",
    "old_numbers",
    "new_numbers",
)
TEXT_COLUMNS = (
    "example",
    "has_reference",
    "old_share",
    "new_share",
    *OWN_COLUMNS[OWN_COLUMNS.index("flip_rate") :],
)
ITEM_COLUMNS = (
    "example",
    "right_items",
    "distance",
    "distance_old",
    "distance_new",
    "p_value",
    "q_value",
    "old_items",
    "new_items",
)
COLUMNS: Mapping[str, tuple[str, ...]] = {
    Kind.NUMBERS: NUMBER_COLUMNS,
    Kind.TEXTS: TEXT_COLUMNS,
    Kind.RANKINGS: ITEM_COLUMNS,
    Kind.SETS: ITEM_COLUMNS,
}
# Columns of an example in the summary: without predictions per run and the user's columns.
LISTED = tuple(dict.fromkeys(name for own in (OWN_COLUMNS, *COLUMNS.values()) for name in own[:-2]))


@dataclass(frozen=True)
class GroupFigures:
    """Figures of some examples: all, those of a gold class, or those of a slice."""

    name: str  # `all`, the class, or the value of the column
    n_examples: int
    n_labeled: int
    # Those of right and wrong need labels. Of all examples, the flips beyond noise and the change
    # of the quality have the intervals that are judged.
    figures: Mapping[str, Estimate]
    # Flips beyond noise, with an interval that holds for all classes or all values of a column
    # together; a single example has none.
    beyond: Estimate
    is_beyond: bool  # that interval is above 0, and the runs are enough for a verdict

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "name": self.name,
            "n_examples": self.n_examples,
            "n_labeled": self.n_labeled,
            "is_beyond": self.is_beyond,
            "beyond": asdict(self.beyond),
            "figures": {name: asdict(value) for name, value in self.figures.items()},
        }


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Permutation test over runs of whether there are flips beyond noise."""

    p_value: float
    least: float  # the smallest p-value possible with this number of runs


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """A new version compared with the old one, next to the differences between runs."""

    old_runs: tuple[str, ...]
    new_runs: tuple[str, ...]
    classes: tuple[str, ...]  # of both versions
    whole: GroupFigures
    by_class: tuple[GroupFigures, ...]  # gold classes that have an example
    slices: Mapping[str, tuple[GroupFigures, ...]]  # by column, one per value
    permutation_test: PermutationTest
    discoveries: Discoveries
    # At most 500 examples whose votes noise does not explain, by p-value, with all predictions.
    unexplained: pa.Table
    examples_file: Location  # Parquet file with one row per example
    notes: tuple[Message, ...] = ()
    # Flip rate of the new version as a ratio to the old one's; None if a version has a single run.
    steadiness: Effect | None = None
    checks: tuple[Check, ...] = ()  # of both versions, whose names are `old` and `new`
    repeats: str = "runs"  # unit of repetition: `seeds` if both versions recorded them
    clusters: Clusters | None = None  # of the examples; None if they are independent
    weights: ExampleWeights | None = None  # of the examples; None if all count equally
    kind: str = "classes"  # or `numbers`, `rankings`, `sets`, `texts`
    are_trials: bool = False  # of one model, so that few of them are judged
    better: Better = "neither"  # direction in which the mean of numbers is better
    # Figure of how much better the new version is, which is judged together with the flips beyond
    # noise, each at half the level; None if nothing says what is right.
    quality: str | None = None

    def with_checks(self, checks: tuple[Check, ...]) -> "VersionComparison":
        """Return the comparison with checks; an error leaves figures, and no verdict."""
        error = errors_of(checks, ["new"], "old").get("new")
        if error is None:
            return replace(self, checks=checks)

        def unjudged(part: GroupFigures) -> GroupFigures:
            return replace(part, is_beyond=False)

        steadiness = self.steadiness
        return replace(
            self,
            checks=checks,
            whole=unjudged(self.whole),
            by_class=tuple(map(unjudged, self.by_class)),
            slices={name: tuple(map(unjudged, parts)) for name, parts in self.slices.items()},
            discoveries=replace(self.discoveries, n_found=0, threshold=None),
            unexplained=self.unexplained.slice(0, 0),
            steadiness=None if steadiness is None else without_verdict(steadiness, error.name),
        )

    @property
    def error(self) -> Check | None:
        """The error that keeps the versions from being judged."""
        return errors_of(self.checks, ["new"], "old").get("new")

    @property
    def confidence(self) -> float:
        """Confidence of each primary figure of all examples."""
        return (PLAIN if self.quality is None else PLAIN.divided(2)).confidence

    @property
    def quality_side(self) -> Literal["better", "worse"] | None:
        """Return whether the new version is shown to be better or worse; None if neither is."""
        value = None if self.quality is None else self.whole.figures.get(self.quality)
        if value is None or value.low is None or value.high is None or not self.is_judged:
            return None
        if not self.are_trials and value.over in WITHOUT_RUNS:
            return None
        if value.low <= 0.0 <= value.high:
            return None
        is_higher = value.low > 0.0
        lower_is_better = self.quality == "error_change" or (
            self.quality == "mean_change" and self.better == "lower"
        )
        return "better" if is_higher != lower_is_better else "worse"

    @property
    def has_numbers(self) -> bool:
        """True if runs give numbers, not classes."""
        return self.kind == Kind.NUMBERS

    @property
    def has_texts(self) -> bool:
        """True if runs give free texts, not classes."""
        return self.kind == Kind.TEXTS

    @property
    def has_classes(self) -> bool:
        """True if equal answers are counted, as those of classes and texts are."""
        return self.kind not in COLUMNS or self.has_texts

    def __getitem__(self, name: str) -> Estimate:
        return self.whole.figures[name]

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return self.whole.n_examples

    @property
    def is_beyond(self) -> bool:
        """True if flips beyond noise are shown, by the permutation test or by the interval.

        The p-value of a single run is its rank among the runs of the other version: with fewer
        than 39 of them, or 79 next to a quality, it cannot be small, and the interval decides.
        """
        is_shown = self.permutation_test.p_value <= self.largest_p_value or self.whole.is_beyond
        return self.is_judged and is_shown

    @property
    def largest_p_value(self) -> float:
        """The largest p-value of the permutation test that shows a change."""
        tail = TAIL if self.quality is None else TAIL / 2
        return tail if self.baseline_from != "both" else 2 * tail

    @property
    def is_judged(self) -> bool:
        """True if the runs of a version are enough, without an error, to know how runs differ."""
        return self.error is None and self.has_enough_runs

    @property
    def has_enough_runs(self) -> bool:
        """True if the runs of a version are enough to know how much runs differ."""
        return self.are_trials or max(len(self.old_runs), len(self.new_runs)) >= VERDICT_FROM

    @property
    def baseline_from(self) -> Literal["both", "old", "new"]:
        """Version whose runs show the noise: a single run cannot."""
        if len(self.old_runs) == 1:
            return "new"
        return "old" if len(self.new_runs) == 1 else "both"

    def examples(self) -> pa.Table:
        """Return one row per example, in the order of their ids."""
        return StoredExamples(self.examples_file).read()

    def extras(self) -> tuple[str, ...]:
        """Return the names of the user's further columns."""
        own = COLUMNS.get(self.kind, OWN_COLUMNS)
        return tuple(name for name in self.unexplained.column_names if name not in own)

    def summary(self) -> dict[str, Any]:
        """Return everything but the table of all examples, as plain data.

        It has no path, time, host or version, so equal predictions give equal bytes.
        """
        listed = [name for name in LISTED if name in self.unexplained.column_names]
        return {
            "format": FORMAT,
            "old_runs": list(self.old_runs),
            "new_runs": list(self.new_runs),
            "repeats": self.repeats,
            "n_examples": self.n_examples,
            "n_labeled": self.whole.n_labeled,
            **({} if self.clusters is None else {"clusters": asdict(self.clusters)}),
            **({} if self.weights is None else {"weights": self.weights.summary()}),
            "n_classes": len(self.classes),
            **({} if self.has_classes else {"kind": self.kind, "better": self.better}),
            **({"kind": self.kind} if self.has_texts else {}),
            "baseline_from": self.baseline_from,
            "whole": self.whole.summary(),
            "by_class": [part.summary() for part in self.by_class],
            "slices": {
                column: [part.summary() for part in parts] for column, parts in self.slices.items()
            },
            "quality": self.quality,
            "confidence": self.confidence,
            "is_judged": self.is_judged,
            "is_beyond": self.is_beyond,
            "steadiness": None if self.steadiness is None else self.steadiness.summary(),
            "exchange": asdict(self.permutation_test),
            "discoveries": asdict(self.discoveries),
            "unexplained": self.unexplained.select(listed).to_pylist(),
            "checks": [check.summary() for check in self.checks],
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """Return the text of `versions.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"
