"""The numbers of runs, or of trials of one model, at which a candidate is judged."""

from dataclasses import dataclass
from typing import ClassVar

from seedproof.errors import OptionError
from seedproof.metrics.card import card_name
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.intervals import Level
from seedproof.stats.looks import LOOKS

# Runs at which a candidate may be discarded, but not kept: this costs no false keep.
FIRST_SCREEN = 2
# Numbers of trials of one model at which a candidate is judged, and the last one besides.
TRIAL_LOOKS = (1, 2, 3, *LOOKS)
# A level below this keeps nothing.
LEAST_LEVEL = 1e-12
# Numbers that identify a candidate of trials: two candidates hardly share so many.
IDENTIFYING_NUMBERS = 50
# Share of a level that is spent on looks at trials: noise and examples, each judged at this level,
# exceed their common interval in up to 1.25 times as many studies.
SPENT_ON_TRIALS = 0.8
# Metrics of numbers that a single trial has; others need a second one.
OF_ONE_TRIAL = frozenset({"mean", "bias", "mae", "rmse"})


@dataclass(frozen=True)
class Schedule:
    """The steps of a candidate, from its first look to the one that decides at last."""

    looks: tuple[int, ...]  # at which it may be kept
    screens: tuple[int, ...] = ()  # before them: it may be discarded only
    n_identifying: int = FIRST_SCREEN  # first runs that identify it; further ones may be added
    least_baseline: int = VERDICT_FROM
    spent: float = 1.0  # share of the level

    usual: ClassVar[int] = 20  # largest number of runs
    usual_trials: ClassVar[int] = 5

    @classmethod
    def of_runs(cls, max_runs: int | None = None, *, has_examples: bool = True) -> "Schedule":
        """Return the steps of runs that are models of their own.

        Single numbers of two runs say nothing about others, and may be those of another candidate.
        """
        last = cls.usual if max_runs is None else max_runs
        if last not in LOOKS:
            raise OptionError(
                "max_runs is {value}. Pass a number of runs at which verdicts are planned: "
                "{known}.",
                value=last,
                known=tuple(map(str, LOOKS)),
                option="max_runs",
            )
        looks = tuple(look for look in LOOKS if look <= last)
        if has_examples:
            return cls(looks, (FIRST_SCREEN,))
        return cls(looks, n_identifying=LOOKS[0])

    @classmethod
    def of_trials(cls, max_trials: int | None, metric: str, n_examples: int) -> "Schedule":
        """Return the steps of trials of one model, of which any number is judged."""
        last = cls.usual_trials if max_trials is None else max_trials
        n_identifying = -(-IDENTIFYING_NUMBERS // n_examples)
        least = max(least_trials(metric), min(n_identifying, last))
        if not least <= last <= LOOKS[-1]:
            raise OptionError(
                "max_runs is {value}. Pass a number of trials from {least} to {largest}.",
                value=last,
                least=least,
                largest=LOOKS[-1],
                option="max_runs",
            )
        looks = (*(look for look in TRIAL_LOOKS if least <= look < last), last)
        n_identifying = min(n_identifying, last)
        return cls(looks, (), n_identifying, least_baseline=1, spent=SPENT_ON_TRIALS)

    @property
    def last(self) -> int:
        """The number at which a candidate is decided at last."""
        return self.looks[-1]

    def at(self, n_runs: int) -> tuple[int | None, int | None]:
        """Return the latest planned number of runs that is reached, and the next one."""
        steps = (*self.screens, *self.looks)
        reached = [step for step in steps if step <= n_runs]
        following = next((step for step in steps if step > n_runs), None)
        return (reached[-1] if reached else None), following

    def baseline_runs(self, step: int) -> int:
        """Return the runs that the baseline needs at a step, besides those that selected it.

        A baseline was kept because it looked good: new runs lower the bar to what it is worth.
        """
        return max(step, self.least_baseline)

    def levels(self, level: float) -> dict[int, Level]:
        """Return the level of each look; none if the level of the candidate is used up.

        Most is spent at the last look, where a true gain is easiest to show. Examples are drawn
        once, so that their part needs no division.
        """
        level *= self.spent
        if level <= LEAST_LEVEL:
            return {}
        whole = sum(look**2 for look in self.looks)
        return {
            look: Level(tail=level * look**2 / whole, example_tail=level) for look in self.looks
        }


def least_trials(metric: str) -> int:
    """Return the number of trials of one model that a metric needs.

    >>> least_trials("mean"), least_trials("flip_rate"), least_trials("pass^4")
    (1, 2, 4)
    """
    shared = card_name(metric)
    if shared in {"pass^k", "pass@k"}:
        return int(metric[len("pass^") :])
    return 1 if shared in OF_ONE_TRIAL else 2
