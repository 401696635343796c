"""Parts of a comparison that depend on the kind of answers."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar

from seedproof.comparison.arms.arm_contrast import (
    ArmContrast,
    ClassContrast,
    ClassPairs,
    ItemContrast,
    ItemPairs,
    NumberContrast,
    NumberPairs,
    PairSums,
)
from seedproof.comparison.arms.text_contrast import (
    LevelTextContrast,
    LevelTextPairs,
    TextContrast,
    TextPairs,
)
from seedproof.measurement.accumulators import Accumulators, MetricAccumulators
from seedproof.measurement.items import ItemAccumulators
from seedproof.measurement.numbers import NumberAccumulators
from seedproof.measurement.selection import known
from seedproof.measurement.texts import TextAccumulators
from seedproof.metrics.card import Better, card_name
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.stats.effect import QUALITY

# Usual number of classes kept per example where a model has very many.
USUAL_TOP = 20
# Qualities of probabilities: answers may get worse while these get better.
OF_PROBABILITIES = frozenset({"nll", "brier", "ece", "ece_corrected", "mce"})
# Quality of some directions only: the mean of numbers, and never their bias.
WITHOUT_DIRECTION = frozenset({"mean", "bias"})


class AnswerKind(ABC):
    """The parts of a comparison of one kind of answers."""

    # Sums of two arms.
    pairs: ClassVar[type[PairSums[Any]]]
    # The metric that is judged alone if none is named: the first of these that was measured.
    usual_primary: ClassVar[tuple[str, ...]]
    # The quality that is judged together with a primary metric that says nothing about it: the
    # first of these cards with a compared metric.
    usual_quality: ClassVar[tuple[str, ...]]

    def quality(
        self, primary: str, compared: Collection[str], *, better: Better = "neither"
    ) -> str | None:
        """Return the quality that guards a primary metric; None if there is none, or no need.

        Steadier arms may be worse. `better` is the direction of the mean of numbers.
        """

        def is_directed(name: str) -> bool:
            return name not in WITHOUT_DIRECTION or (name == "mean" and better != "neither")

        of_answers = QUALITY - OF_PROBABILITIES
        if card_name(primary) in of_answers and is_directed(card_name(primary)):
            return None
        qualities = (name for name in self.usual_quality if is_directed(name))
        return next((x for name in qualities for x in compared if card_name(x) == name), None)

    @abstractmethod
    def accumulators(
        self, source: ShardSource, requested: Collection[str] | None
    ) -> Accumulators[Any]:
        """Return accumulators of one arm, without examples."""

    @abstractmethod
    def pair(self, base: ShardSource, arm: ShardSource, *, is_paired: bool) -> PairSums[Any]:
        """Return sums of two arms, without examples."""

    @abstractmethod
    def contrast(
        self,
        base: ShardSource,
        arm: ShardSource,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None,
    ) -> ArmContrast[Any]:
        """Return sums of the baseline and an arm, without examples."""

    @abstractmethod
    def width(self, source: ShardSource) -> int:
        """Return the approximate number of values of one example over all runs."""


class Classes(AnswerKind):
    """Predicted classes, with or without probabilities."""

    pairs = ClassPairs
    usual_primary = ("flip_rate",)
    usual_quality = ("accuracy",)

    def accumulators(
        self, source: ShardSource, requested: Collection[str] | None
    ) -> MetricAccumulators:
        """Return accumulators of one arm, without examples."""
        return MetricAccumulators(len(source.runs), len(source.classes), known(source), requested)

    def pair(self, base: ShardSource, arm: ShardSource, *, is_paired: bool) -> ClassPairs:
        """Return sums of two arms, without examples."""
        return ClassPairs(len(base.runs), len(arm.runs), is_paired=is_paired)

    def contrast(
        self,
        base: ShardSource,
        arm: ShardSource,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None,
    ) -> ClassContrast:
        """Return sums of the baseline and an arm, without examples."""
        n_base, n_arm = len(base.runs), len(arm.runs)
        return ClassContrast(n_base, n_arm, is_paired=is_paired, partners=partners)

    def width(self, source: ShardSource) -> int:
        """Return the approximate number of values of one example over all runs."""
        of_kind = {Kind.PROBS: len(source.classes), Kind.TOP: USUAL_TOP, Kind.LABELS: 1}
        return len(source.runs) * of_kind[source.kind]


class Numbers(AnswerKind):
    """Scores, or predictions of a regression."""

    pairs = NumberPairs
    usual_primary = ("mae", "mean")
    usual_quality = ("mae", "mean")

    def accumulators(
        self, source: ShardSource, requested: Collection[str] | None
    ) -> NumberAccumulators:
        """Return accumulators of one arm, without examples."""
        return NumberAccumulators(source, requested)

    def pair(self, base: ShardSource, arm: ShardSource, *, is_paired: bool) -> NumberPairs:
        """Return sums of two arms, without examples."""
        return NumberPairs(
            base.n_runs,
            arm.n_runs,
            is_paired=is_paired,
            are_trials=base.settings.are_trials and arm.settings.are_trials,
            are_unequal=base.settings.are_unequal or arm.settings.are_unequal,
            better=direction_of_mean(base),
        )

    def contrast(
        self,
        base: ShardSource,
        arm: ShardSource,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None,
    ) -> NumberContrast:
        """Return sums of the baseline and an arm, without examples."""
        del partners
        return NumberContrast(
            base.n_runs,
            arm.n_runs,
            is_paired=is_paired,
            are_trials=base.settings.are_trials and arm.settings.are_trials,
            are_unequal=base.settings.are_unequal or arm.settings.are_unequal,
            better=direction_of_mean(base),
        )

    def width(self, source: ShardSource) -> int:
        """Return the number of values of one example over all runs."""
        return len(source.runs)


class Texts(AnswerKind):
    """Answers in free text."""

    pairs = TextPairs
    usual_primary = ("accuracy", "flip_rate")
    usual_quality = ("accuracy",)

    def accumulators(
        self, source: ShardSource, requested: Collection[str] | None
    ) -> TextAccumulators:
        """Return accumulators of one arm, without examples."""
        return TextAccumulators(source, requested)

    def pair(
        self, base: ShardSource, arm: ShardSource, *, is_paired: bool
    ) -> TextPairs | LevelTextPairs:
        """Return sums of two arms, without examples."""
        if base.settings.levels is not None:
            return LevelTextPairs(base.n_runs, arm.n_runs, is_paired=is_paired)
        return TextPairs(
            len(base.runs),
            len(arm.runs),
            is_paired=is_paired,
            are_trials=base.settings.are_trials,
        )

    def contrast(
        self,
        base: ShardSource,
        arm: ShardSource,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None,
    ) -> TextContrast | LevelTextContrast:
        """Return sums of the baseline and an arm, without examples."""
        del partners
        if base.settings.levels is not None:
            return LevelTextContrast(base.n_runs, arm.n_runs, is_paired=is_paired)
        return TextContrast(
            len(base.runs),
            len(arm.runs),
            is_paired=is_paired,
            are_trials=base.settings.are_trials,
        )

    def width(self, source: ShardSource) -> int:
        """Return the number of values of one example over all runs."""
        return len(source.runs)


class Items(AnswerKind):
    """Ranked lists, or sets of labels or spans."""

    pairs = ItemPairs
    usual_primary = ("first_item_flips", "set_flips")
    usual_quality = ("ndcg@k", "mrr", "hit_rate@k", "recall@k", "micro_f1", "precision", "recall")

    def accumulators(
        self, source: ShardSource, requested: Collection[str] | None
    ) -> ItemAccumulators:
        """Return accumulators of one arm, without examples."""
        return ItemAccumulators(source, requested)

    def pair(self, base: ShardSource, arm: ShardSource, *, is_paired: bool) -> ItemPairs:
        """Return sums of two arms, without examples."""
        return ItemPairs(len(base.runs), len(arm.runs), is_paired=is_paired)

    def contrast(
        self,
        base: ShardSource,
        arm: ShardSource,
        *,
        is_paired: bool,
        partners: tuple[int, ...] | None,
    ) -> ItemContrast:
        """Return sums of the baseline and an arm, without examples."""
        del partners
        return ItemContrast(len(base.runs), len(arm.runs), is_paired=is_paired)

    def width(self, source: ShardSource) -> int:
        """Return the approximate number of values of one example over all runs."""
        return len(source.runs) * USUAL_TOP


def direction_of_mean(source: ShardSource) -> Better:
    """Return the direction in which the mean of numbers is better: neither with targets."""
    return "neither" if source.n_labeled else source.settings.better


def answer_kind(kind: Kind) -> AnswerKind:
    """Return what arms of this kind of answers are compared by."""
    kinds: dict[Kind, AnswerKind] = {
        Kind.NUMBERS: Numbers(),
        Kind.TEXTS: Texts(),
        Kind.RANKINGS: Items(),
        Kind.SETS: Items(),
    }
    return kinds.get(kind, Classes())
