"""The effect of an arm on examples of high baseline entropy, free of regression to the mean."""

from dataclasses import dataclass, field

from seedproof.comparison.arms.result import HighEntropy
from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, entropies, rarefied_entropy
from seedproof.typing import FloatArray

# Each half needs two runs to disagree.
ENOUGH = 2
MIN_RUNS = 2 * ENOUGH


def cuts(n_runs: int) -> list[tuple[slice, slice]]:
    """Return two ways to halve the baseline's runs: every other run, and in the middle."""
    if n_runs < MIN_RUNS:
        return []
    middle = n_runs // 2
    return [(slice(0, None, 2), slice(1, None, 2)), (slice(0, middle), slice(middle, None))]


@dataclass
class HighEntropySums:
    """Sums of entropies over the chosen examples of one arm.

    `partners` has, per run of the arm, the row of the baseline's run with the same seeds, or −1.
    """

    n_base: int
    n_arm: int
    partners: tuple[int, ...] | None = None
    chosen: int = 0
    before: float = 0.0
    after: float = 0.0
    published: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def update(self, base: Batch, arm: Batch) -> None:
        """Add the same batch of both arms."""
        base_votes, arm_votes = (batch.predictions[:, base.contested] for batch in (base, arm))
        for halves in cuts(self.n_base):
            parts = [Batch(base_votes[half], n_classes=base.n_classes) for half in halves]
            for half, choose_on, measure_on in zip(halves, parts, parts[::-1], strict=True):
                other = Batch(arm_votes[self._unseen(half)], n_classes=arm.n_classes)
                n_drawn = min(measure_on.n_runs, other.n_runs)
                if n_drawn < ENOUGH:
                    continue
                chosen = _entropy(choose_on) > HIGH_ENTROPY
                self.chosen += int(chosen.sum())
                self.before += float(_entropy(measure_on, n_drawn)[chosen].sum())
                self.after += float(_entropy(other, n_drawn)[chosen].sum())
        high = _entropy(base) > HIGH_ENTROPY
        n_drawn = min(self.n_base, self.n_arm)
        self.published[0] += float(_entropy(base, n_drawn)[high].sum())
        self.published[1] += float(_entropy(arm, n_drawn)[high].sum())

    def _unseen(self, choosers: slice) -> list[int]:
        """Runs of the arm that share no seed with the runs that choose the examples."""
        if self.partners is None:
            return list(range(self.n_arm))
        rows = range(self.n_base)[choosers]
        return [run for run, partner in enumerate(self.partners) if partner not in rows]

    def merge(self, other: "HighEntropySums") -> None:
        """Add other examples."""
        self.chosen += other.chosen
        self.before += other.before
        self.after += other.after
        self.published = [a + b for a, b in zip(self.published, other.published, strict=True)]

    def result(self) -> HighEntropy:
        """Return both reductions over all examples so far."""
        choosers = [half for halves in cuts(self.n_base) for half in halves]
        n_ways = max(sum(len(self._unseen(half)) >= ENOUGH for half in choosers), 1)
        return HighEntropy(
            reduction=_reduction(self.before, self.after),
            as_published=_reduction(*self.published),
            n_chosen=self.chosen / n_ways,
        )


def _reduction(before: float, after: float) -> float | None:
    return 1 - after / before if before > 0.0 else None


def _entropy(batch: Batch, n_drawn: int | None = None) -> FloatArray:
    """Label entropy of each example as `n_drawn` of the runs would show it; all if omitted."""
    agreement = batch.contested_agreement
    if n_drawn is None or n_drawn >= batch.n_runs:
        return batch.over_contested(entropies(agreement))
    return batch.over_contested(rarefied_entropy(agreement, n_drawn).values)
