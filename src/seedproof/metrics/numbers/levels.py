"""Levels of repetition: the units of each level, their numbers, and pairs of answers in a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.metrics.statistic import ExampleValues, mean_over_runs
from seedproof.records.answer_settings import AnswerSettings, Levels
from seedproof.typing import FloatArray, IntArray

# Answers of one model, each with the axes (judgments, examples).
Answers: TypeAlias = list[npt.NDArray[Any]]
# Numbers of some repeats, axes (repeats, examples), to a quantity per example.
Kernel: TypeAlias = Callable[[npt.NDArray[Any]], ExampleValues]


@dataclass(frozen=True, eq=False)
class Tree:
    """Units of each level of repetition: runs, their trials, the judges of each trial.

    The innermost units are the repeats themselves, the columns of numbers. A unit has the mean of
    its members as its number, so that a run counts once however many trials it has.
    """

    names: tuple[str, ...]  # of the levels, the outermost first; inner ones have several members
    order: IntArray  # the repeats, so that members of a unit are neighbors
    begins: tuple[IntArray, ...]  # per level, the first repeat of each unit in that order
    are_trials: bool  # of one model, so that answers of different outermost units are compared
    is_unequal: bool = False  # examples have different numbers of trials, NaN where there is none
    has_same_judges: bool = False  # at the innermost level, the same ones in every unit above

    @classmethod
    def of(cls, settings: AnswerSettings, n_repeats: int) -> "Tree":
        """Return the units of the levels; without levels, each repeat is a run."""
        alone = "trial" if settings.are_trials else "run"
        levels = settings.levels or Levels((alone,), (tuple(range(n_repeats)),))
        names, codes = levels.names, np.array(levels.codes)
        order = np.lexsort(codes[::-1])
        is_first = np.ones((len(codes), len(order)), dtype=np.bool_)
        is_first[:, 1:] = codes[:, order[1:]] != codes[:, order[:-1]]
        # A unit begins where its own code or that of an outer level changes.
        begins = [np.flatnonzero(row) for row in np.logical_or.accumulate(is_first)]
        kept = [
            level
            for level in range(len(names))
            if level == 0 or len(begins[level]) > len(begins[level - 1])
        ]
        return cls(
            tuple(names[level] for level in kept),
            order,
            tuple(begins[level] for level in kept),
            settings.are_trials,
            settings.are_unequal,
            bool(levels.judges),
        )

    @property
    def n_units(self) -> tuple[int, ...]:
        """Number of units of each level, the outermost first."""
        return tuple(map(len, self.begins))

    @property
    def n_runs(self) -> int:
        """Number of units of the outermost level."""
        return self.n_units[0]

    @property
    def n_repeats(self) -> int:
        """Number of repeats, the units of the innermost level."""
        return len(self.order)

    @cached_property
    def starts(self) -> tuple[IntArray, ...]:
        """Per level but the innermost: the first member of each unit, in the next level."""
        return tuple(np.searchsorted(inner, outer) for outer, inner in pairwise(self.begins))

    @cached_property
    def n_members(self) -> tuple[IntArray, ...]:
        """The same: number of members of each unit."""
        return tuple(
            np.diff(first, append=n_units)
            for first, n_units in zip(self.starts, self.n_units[1:], strict=True)
        )

    @property
    def sizes(self) -> dict[str, int]:
        """Number of runs, and of the members of each at the inner levels, on average."""
        inner = (round(float(n_members.mean())) for n_members in self.n_members)
        return dict(zip(self.names, (self.n_runs, *inner), strict=True))

    def numbers(self, numbers: FloatArray) -> tuple[FloatArray, ...]:
        """Return the numbers of the units of each level, from the axes (repeats, examples)."""
        if len(self.names) == 1:
            return (numbers,)
        by_level = [numbers[self.order]]
        for starts, n_members in zip(self.starts[::-1], self.n_members[::-1], strict=True):
            sums = np.add.reduceat(by_level[0], starts, axis=0)
            by_level.insert(0, sums / n_members[:, np.newaxis])
        return tuple(by_level)

    def runs_of(self, level: int) -> IntArray:
        """Return the outermost unit of each unit of a level."""
        return np.searchsorted(self.begins[0], self.begins[level], side="right") - 1

    def answers(self, numbers: npt.NDArray[Any]) -> list[Answers]:
        """Return the answers of each model, the judgments of an answer together.

        Models are runs, and answers are their trials; with trials of one model, there is one.
        """
        ordered = numbers[self.order]
        if self.are_trials:
            return [np.split(ordered, self.begins[0][1:])]
        answers, firsts = np.split(ordered, self.begins[1][1:]), self.starts[0]
        ends = firsts + self.n_members[0]
        return [answers[first:end] for first, end in zip(firsts, ends, strict=True)]

    @property
    def n_answers(self) -> int:
        """Number of answers of each model; 0 if they are judged several times."""
        if len(self.names) == 1:
            return self.n_repeats
        if len(self.names) > 2 or self.are_trials:
            return 0
        return int(self.n_members[0].min())

    def over_all(self, numbers: npt.NDArray[Any], kernel: Kernel) -> ExampleValues:
        """Return a quantity of all answers of one model per example, each judged once."""
        if len(self.names) == 1:
            return kernel(numbers)
        return self._over_models(numbers, lambda answers: kernel(np.concatenate(answers)).values)

    def _over_models(
        self, numbers: npt.NDArray[Any], of_model: Callable[[Answers], FloatArray]
    ) -> ExampleValues:
        models = self.answers(numbers)
        if self.are_trials:
            (answers,), without = models, None
            if self.n_runs > 2:
                rest = [answers[:run] + answers[run + 1 :] for run in range(self.n_runs)]
                without = np.stack([of_model(others) for others in rest])
            return ExampleValues(of_model(answers), without)
        return mean_over_runs(np.stack([of_model(answers) for answers in models]))

    def over_pairs(self, numbers: npt.NDArray[Any], kernel: Kernel) -> ExampleValues:
        """Return a mean over pairs of answers of one model per example, given one over repeats."""
        if len(self.names) == 1:
            return kernel(numbers)

        def between(answers: Answers) -> FloatArray:
            """Mean over pairs of repeats that are not of the same answer."""
            alone = [answer for answer in answers if len(answer) > 1]
            groups = [np.concatenate(answers), *alone]
            n_pairs = [len(group) * (len(group) - 1) / 2 for group in groups]
            sums = [n * kernel(group).values for n, group in zip(n_pairs, groups, strict=True)]
            rest = np.maximum(sums[0] - sum(sums[1:]), 0.0)  # rounding may leave less than nothing
            return np.asarray(rest / (n_pairs[0] - sum(n_pairs[1:])))

        return self._over_models(numbers, between)


def run_names(settings: AnswerSettings, repeats: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the runs, whose trials and judges follow them after a slash."""
    if settings.levels is None:
        return tuple(repeats)
    tree, n_inner = Tree.of(settings, len(repeats)), len(settings.levels.names) - 1
    return tuple(repeats[i].rsplit("/", n_inner)[0] for i in tree.order[tree.begins[0]])
