"""Choices for the metrics of answers: a tolerance, thresholds, what repeats, weights."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from seedproof.errors import OptionError
from seedproof.records.text_answers import USUAL, Normalization
from seedproof.typing import BoolArray, FloatArray

# Levels of repetition inside of runs.
TRIAL, JUDGE = "trial", "judge"

Direction: TypeAlias = Literal["higher", "lower"]


@dataclass(frozen=True)
class Tolerance:
    """The largest difference of two numbers that does not count."""

    size: float
    is_relative: bool = False  # a share of the larger of the two

    @classmethod
    def parse(cls, given: float | str) -> "Tolerance":
        """Return a tolerance from a number, or from a text such as "0.05" or "5%".

        >>> Tolerance.parse("5%")
        Tolerance(size=0.05, is_relative=True)
        """
        text = str(given).strip()
        match = re.fullmatch(r"(.+?)\s*(%?)", text)
        try:
            size = float(match[1]) if match else np.nan
        except ValueError:
            size = np.nan
        if match is None or not 0 <= size < np.inf:
            raise OptionError(
                "`{option}` is {text!r}. Pass a number, such as 0.05, or a share of the larger "
                "number, such as 5%.",
                option="tolerance",
                text=text,
            )
        return cls(size / 100, is_relative=True) if match[2] else cls(size)

    def is_exceeded(self, first: FloatArray, second: FloatArray) -> BoolArray:
        """Return where two arrays of numbers differ by more than this."""
        limit: FloatArray | float = self.size
        if self.is_relative:
            limit = self.size * np.maximum(np.abs(first), np.abs(second))
        # Rounding must not count: 0.30000000000000004 and 0.25 differ by 0.05.
        return np.asarray(np.abs(first - second) > limit * (1 + 1e-12))

    def __str__(self) -> str:
        return f"{100 * self.size:g} %" if self.is_relative else f"{self.size:g}"


@dataclass(frozen=True)
class Levels:
    """Levels of repetition, such as trials of each run and judges of each trial.

    Args:
        names: The levels, the outermost first, such as ("run", "trial").
        codes: For each level, the place of each repeat in it, such as ((0, 0, 1, 1), (0, 1, 0, 1)).
        judges: Names of the judges if the same ones grade every answer; empty otherwise.
    """

    names: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    judges: tuple[str, ...] = ()

    def at(self, order: Sequence[int]) -> "Levels":
        """Return the levels of the repeats at these positions, in this order."""
        codes = tuple(tuple(of_level[position] for position in order) for of_level in self.codes)
        return Levels(self.names, codes, self.judges)

    def without_judge(self, judge: int) -> tuple[list[int], "Levels"]:
        """Return the positions of the repeats of all other judges, and their levels."""
        order = [
            position
            for position, judge_of_repeat in enumerate(self.codes[-1])
            if judge_of_repeat != judge
        ]
        return order, replace(self.at(order), judges=())


@dataclass(frozen=True)
class ExampleWeights:
    """Weights of the examples, from one of the further columns.

    Args:
        column: Name of the column.
        mean: Mean of its values, by which they are divided.
        n_effective: Number of examples of equal weight whose mean is as precise: the squared sum of
            the weights over the sum of their squares (Kish 1965, Survey Sampling).
    """

    column: str
    mean: float = 1.0
    n_effective: float = 0.0

    def summary(self) -> dict[str, str | float]:
        """Return plain data."""
        return {"column": self.column, "n_effective": self.n_effective}


def weighted_by(weights: ExampleWeights | None) -> str:
    """Return ", weighted by 'cost'", for the end of a phrase; empty without weights."""
    return "" if weights is None else f", weighted by {weights.column!r}"


@dataclass(frozen=True)
class AnswerSettings:
    """Choices for the metrics of any kind of answers."""

    tolerance: Tolerance | None = None
    thresholds: tuple[float, ...] = ()
    # Runs are independent trials of one model: no run is better than another, and the numbers of
    # an example already contain their noise. Otherwise each run is a model of its own.
    are_trials: bool = False
    # Examples have different numbers of trials: a number that is not there is NaN.
    are_unequal: bool = False
    # None if each run has a single number per example.
    levels: Levels | None = None
    # Direction in which a score is better; the mean of predictions that have targets has none.
    better: Direction = "higher"
    # Number of the first items of a ranked list that figures such as `ndcg@10` are of.
    depth: int = 10
    # Differences between texts that do not make them different answers.
    normalization: Normalization = USUAL
    # A column of the user's own says which texts are the same answer.
    by_meaning: bool = False
    # None if all examples count equally.
    weights: ExampleWeights | None = None
