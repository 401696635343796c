"""The measuring pass over free texts, whose answers are numbered within each example."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from string import ascii_uppercase
from typing import ClassVar

import numpy as np
import pyarrow as pa

from seedproof.measurement.accumulators import Accumulators, GroupResults, MetricAccumulators
from seedproof.measurement.clusters import ClusterKeys
from seedproof.measurement.examples import ExampleRows, lists
from seedproof.measurement.group_metrics import GroupAccumulator
from seedproof.measurement.number_groups import FamilyGroups
from seedproof.measurement.selection import known, text_families
from seedproof.messages import Message
from seedproof.metrics import Accumulator, Batch, ClassFamily
from seedproof.metrics.accumulator import Detail, Need
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.batch import batches
from seedproof.metrics.flips import Disagreement
from seedproof.metrics.numbers.levels import Tree, run_names
from seedproof.metrics.statistic import (
    ExcessSpread,
    MeanOverExamples,
    RootOfMean,
    SpreadOverRuns,
    Statistic,
    of_trials,
)
from seedproof.metrics.text_levels import ModelAccuracy, ModelAnswers
from seedproof.metrics.texts import MOST_ANSWERS
from seedproof.predictions.checks import Check
from seedproof.predictions.text_checks import text_checks_of
from seedproof.records.arrow import texts_to_arrow
from seedproof.records.shards import Shard, ShardSource
from seedproof.records.text_answers import RIGHT, codes_of
from seedproof.stats.intervals import Estimate
from seedproof.typing import IntArray

# Columns of the least stable examples with the code and the text of each run's answer.
CODES, TEXTS = "answer_codes", "answer_texts"
RIGHT_NAME = "right"
# Figures that texts with runs and trials do not have.
LEFT_OUT = (
    "discrepancy",
    "distinct_answers@k",
    "label_entropy_corrected",
    "high_entropy_share",
    "charts of pairs of runs",
)


def _of_models(tree: Tree, n_answers: int, *, is_graded: bool) -> list[Accumulator[Batch]]:
    """Return the families of runs that have several trials each."""
    graded = [ModelAccuracy(tree, n_answers)] if is_graded else []
    return [ModelAnswers(tree, n_answers), *graded]


class TextGroups(FamilyGroups[Batch]):
    """Answers of each slice, of runs that have several trials each."""

    reported = ("flip_rate", "accuracy")
    judged = "flip_rate"

    def __init__(
        self, tree: Tree, n_answers: int, slices: Sequence[str], *, is_graded: bool
    ) -> None:
        super().__init__(tree.n_runs, slices)
        self._tree, self._n_answers, self._is_graded = tree, n_answers, is_graded

    def families(self) -> Sequence[Accumulator[Batch]]:
        """Return empty families."""
        return _of_models(self._tree, self._n_answers, is_graded=self._is_graded)

    def batches(self, shard: Shard, chosen: IntArray, blocks: IntArray | None) -> Iterator[Batch]:
        """Yield some of the examples of a shard."""
        blocks = None if blocks is None else blocks[chosen]
        return batches(shard.rows(chosen), self._n_answers, blocks=blocks)


class TextAccumulators(MetricAccumulators):
    """Partial results of every requested metric of texts that the data allows."""

    keys: ClassVar[tuple[str, ...]] = ("flip_rate", "label_entropy")

    def __init__(
        self,
        source: ShardSource,
        requested: Collection[str] | None = None,
        slices: Sequence[str] = (),
        *,
        has_clusters: bool = False,
    ) -> None:
        n_repeats, has, are_trials = len(source.runs), known(source), source.settings.are_trials
        self._are_trials, self._tree = are_trials, Tree.of(source.settings, n_repeats)
        self._n_repeats = n_repeats
        self.slices: TextGroups | None = None  # of runs with several trials
        is_graded = Accuracy in text_families(has, requested)
        n_answers = max(MOST_ANSWERS, n_repeats + 1)
        if self.levels:
            super().__init__(self._tree.n_runs, n_answers, has, requested)
            self.families = _of_models(self._tree, n_answers, is_graded=is_graded)
            if slices:
                self.slices = TextGroups(self._tree, n_answers, slices, is_graded=is_graded)
            return
        groups = GroupAccumulator(
            n_repeats,
            (),
            slices,
            has_clusters=has_clusters,
            is_labeled="labels" in has,
            has_accuracy=is_graded,
            are_trials=are_trials,
        )
        super().__init__(n_repeats, n_answers, has, requested, groups)

    @property
    def levels(self) -> Mapping[str, int]:
        """Number of runs and of trials of each; empty if runs have a single answer."""
        return self._tree.sizes if len(self._tree.names) > 1 else {}

    def run_names(self, source: ShardSource) -> tuple[str, ...]:
        """Return the names of the runs, each of which may have several trials."""
        return run_names(source.settings, source.runs)

    @property
    def notes(self) -> tuple[Message, ...]:
        """Remarks on groups and figures that are left out."""
        if not self.levels:
            return super().notes
        return (
            Message(
                "levels-of-texts",
                "Answers are compared between trials of the same run, and averaged over runs. "
                "Left out, because they are not defined for several levels: {left_out}.",
                left_out=", ".join(LEFT_OUT),
            ),
        )

    def open_groups(
        self, shard: Shard, clusters: ClusterKeys | None, blocks: IntArray | None = None
    ) -> None:
        """Take the slices of the examples of a shard; if runs have trials, add all of it."""
        super().open_groups(shard, clusters, blocks)
        if self.slices is not None:
            self.slices.add(shard, clusters, blocks)

    def merge(self, other: Accumulators[Batch]) -> None:
        """Add the examples of another part."""
        super().merge(other)
        if isinstance(other, TextAccumulators) and self.slices and other.slices:
            self.slices.merge(other.slices)

    def group_metrics(self, metrics: Mapping[str, Estimate]) -> GroupResults:
        """Return the metrics of each slice, given those of all examples."""
        if self.slices is None:
            return super().group_metrics(metrics)
        return (), self.slices.result(metrics[self.slices.judged])

    def chosen_families(
        self, has: frozenset[Need], requested: Collection[str] | None
    ) -> tuple[type[ClassFamily], ...]:
        """Return the families to measure."""
        return text_families(has, requested)

    def rows(self, shard: Shard, columns: Detail, classes: tuple[str, ...]) -> ExampleRows:
        """Return the examples of a shard with their columns."""
        return ExampleRows(shard.ids, None, shard.extras, columns, classes)

    def with_answers(self, rows: pa.Table, shard: Shard) -> pa.Table:
        """Add the code of each run's answer, 0 if it is right, and its text."""
        codes = lists(codes_of(np.asarray(shard.answers)).T, np.int32)
        rows = rows.append_column(CODES, codes)
        if shard.texts is None:
            return rows
        texts = shard.texts.texts
        listed = texts_to_arrow(texts.T.ravel().tolist())
        return rows.append_column(TEXTS, pa.FixedSizeListArray.from_arrays(listed, len(texts)))

    def result(self) -> dict[str, Statistic]:
        """Return every metric over all examples so far; of trials, those that need no runs."""
        statistics = dict(_of_repeats(super().result(), are_trials=self._are_trials))
        accuracy = statistics.get("accuracy")
        if isinstance(accuracy, MeanOverExamples):
            statistics["accuracy"] = replace(accuracy, step=1 / self._n_repeats)
        return statistics

    def checks(self, source: ShardSource) -> Iterator[Check]:
        """Yield the findings about the input."""
        pairs = next(family for family in self.families if isinstance(family, Disagreement))
        return text_checks_of(source, pairs)


def answer_names(codes: Sequence[int]) -> dict[int, str]:
    """Return a name for each answer to an example: "right", or letters, the most frequent first.

    >>> answer_names([2, 1, 1, 0])
    {1: 'A', 2: 'B', 0: 'right'}
    """
    counts = Counter(codes)
    letters = _letters()
    ordered = sorted(counts, key=lambda code: (-counts[code], codes.index(code)))
    return {code: RIGHT_NAME if code == RIGHT else next(letters) for code in ordered}


def _letters() -> Iterator[str]:
    """Yield A to Z, then A1 to Z1 and so on."""
    yield from ascii_uppercase
    for number in count(1):
        yield from (f"{letter}{number}" for letter in ascii_uppercase)


def _of_repeats(
    statistics: Mapping[str, Statistic], *, are_trials: bool
) -> Iterator[tuple[str, Statistic]]:
    """Yield metrics whose intervals suit few examples, and trials of one model if they are that."""
    for name, statistic in statistics.items():
        if isinstance(statistic, MeanOverExamples):
            yield name, of_few(statistic, are_trials=are_trials)
        elif isinstance(statistic, RootOfMean):
            yield name, replace(statistic, mean=of_few(statistic.mean, are_trials=are_trials))
        elif not are_trials or not isinstance(statistic, SpreadOverRuns | ExcessSpread):
            yield name, statistic


def of_few(mean: MeanOverExamples, *, are_trials: bool) -> MeanOverExamples:
    """Return a mean over few examples, and over trials of one model if they are that."""
    return replace(of_trials(mean) if are_trials else mean, is_small=True)
