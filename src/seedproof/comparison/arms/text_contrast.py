"""Sums over the examples of two arms that give free texts."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from seedproof.comparison.arms.arm_contrast import ArmContrast, ClassPairs, PairSums
from seedproof.comparison.arms.most_changed import MostChangedTexts
from seedproof.measurement.texts import of_few
from seedproof.metrics.batch import Batch
from seedproof.metrics.distinct import RAREFIED
from seedproof.metrics.statistic import MeanOverExamples, Statistic
from seedproof.stats.families import MetricContrast

# Says the same as the flip rate of right and wrong answers.
REPEATED = frozenset({"accuracy_sd_independent"})


class TextPairs(ClassPairs):
    """Covariances of all metrics of two arms, which may be trials of one model each."""

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool, are_trials: bool) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self._are_trials = are_trials

    @classmethod
    def compared(cls, metrics: Collection[str], *, is_uneven: bool) -> list[str]:
        """Return the metrics to compare: the number of distinct answers grows with the runs."""
        repeated = REPEATED | {"distinct_answers" if is_uneven else RAREFIED}
        return [metric for metric in metrics if metric not in repeated]

    def contrasts(
        self,
        base: Mapping[str, Statistic],
        arm: Mapping[str, Statistic],
        seed_groups: tuple[str, str],
    ) -> dict[str, MetricContrast]:
        """Return each metric that both arms have, as trials if they are."""
        known = super().contrasts(base, arm, seed_groups)
        if self.n_base != self.n_arm:
            entropy = known["label_entropy"]
            known["label_entropy"] = replace(
                entropy, base=self._of_few(entropy.base), arm=self._of_few(entropy.arm)
            )
        return {
            metric: replace(contrast, are_trials=self._are_trials)
            for metric, contrast in known.items()
        }

    def _of_few(self, statistic: Statistic) -> Statistic:
        if not isinstance(statistic, MeanOverExamples):
            return statistic
        return of_few(statistic, are_trials=self._are_trials)


class TextContrast(TextPairs, ArmContrast[Batch]):
    """An arm of texts against the baseline: also the examples on which runs agree more or less."""

    changes = "settled", "unsettled"

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool, are_trials: bool) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired, are_trials=are_trials)
        self.most_changed = MostChangedTexts()


class LevelTextPairs(PairSums[Batch]):
    """The same for runs that have several trials each: each figure is a mean over runs."""

    @classmethod
    def compared(cls, metrics: Collection[str], *, is_uneven: bool) -> list[str]:
        """Return the metrics to compare."""
        del is_uneven
        return [metric for metric in metrics if metric not in REPEATED]


class LevelTextContrast(LevelTextPairs, ArmContrast[Batch]):
    """An arm of such runs against the baseline: also where trials agree more or less."""

    changes = "settled", "unsettled"

    def __init__(self, n_base: int, n_arm: int, *, is_paired: bool) -> None:
        super().__init__(n_base, n_arm, is_paired=is_paired)
        self.most_changed = MostChangedTexts()
