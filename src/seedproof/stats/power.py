"""Seeds that a difference needs, and differences that a number of seeds can show.

Each test knows what must be observed, and its power for a true effect, judged as `compare` does it.
Runs are assumed to be normal. Seeds are counted per arm; each arm is compared with one baseline.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr

from seedproof.errors import OptionError
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.distributions import student_quantile
from seedproof.stats.effect import POWER
from seedproof.stats.families import level_of_arms
from seedproof.stats.intervals import CONFIDENCE, PLAIN, Level
from seedproof.typing import is_count

# More seeds than this are a typing error in one of the figures.
MOST_SEEDS: Final = 1_000_000
MOST_ARMS: Final = 1000


class _TwoWayTest(ABC):
    """A test over runs and examples, with the interval of `Contrast.half_width`."""

    __slots__ = ()

    least_runs: ClassVar[int] = VERDICT_FROM
    correlation: float | None  # of paired runs; None if arms are unpaired
    example_variance: float  # of the contrast, from drawing examples
    n_clusters: int | None  # drawn in place of examples; None if those are independent

    def needed(self, n_runs: int, level: Level = PLAIN) -> float:
        """Return the smallest observed effect that is shown, if runs vary as assumed."""
        return float(np.sqrt(sum(self._squares(n_runs, level))))

    def chance(self, n_runs: int, size: float, level: Level = PLAIN) -> float:
        """Return the probability that a true effect of this size is shown."""
        error = float(np.sqrt(self._variance(n_runs) + self.example_variance))
        runs, drawn = self._squares(n_runs, level)
        # Satterthwaite (1946): degrees of freedom of the square of the half width.
        paired_df = n_runs - 1
        run_df = paired_df if self.correlation is not None else 2 * paired_df
        df = (runs + drawn) ** 2 / (runs**2 / run_df + drawn**2 / self._example_df)
        return _beyond(float(np.sqrt(runs + drawn)) / error, df, size / error)

    def examples_factor(self, size: float, *, power: float, level: Level) -> float:
        """Return the factor of examples needed with any number of seeds; below 1: enough."""
        return self.example_variance * (self._shift(power, level) / size) ** 2

    def _shift(self, power: float, level: Level) -> float:
        """Return the effect in standard errors from drawing examples that is shown so often."""
        critical = student_quantile(self._example_df, 1 - level.example_tail)

        def missing(shift: float) -> float:
            return _beyond(critical, self._example_df, shift) - power

        return float(brentq(missing, 0.0, 50 * (1 + critical)))

    @property
    def _example_df(self) -> float:
        return np.inf if self.n_clusters is None else max(self.n_clusters - 1, 1)

    def _squares(self, n_runs: int, level: Level) -> tuple[float, float]:
        """Squared half widths from runs and from examples, or clusters."""
        runs = student_quantile(_contrast_df(n_runs, self.correlation), 1 - level.tail) ** 2
        drawn = student_quantile(self._example_df, 1 - level.example_tail) ** 2
        return runs * self._run_variance(n_runs), drawn * self.example_variance

    @abstractmethod
    def _run_variance(self, n_runs: int) -> float:
        """Variance over runs that the jackknife is expected to give."""

    def _variance(self, n_runs: int) -> float:
        """Variance over runs, without the bias of the jackknife."""
        return self._run_variance(n_runs)

    def _check(self) -> None:
        _check_correlation(self.correlation)
        if not 0.0 <= self.example_variance < np.inf:
            raise OptionError(
                "A variance over examples of {given:g} is not allowed. Pass a number from 0 on.",
                quantity="example variance",
                given=self.example_variance,
            )


@dataclass(frozen=True, slots=True)
class MeanTest(_TwoWayTest):
    """The test of the difference between the means of two arms."""

    sd: float  # over runs, the same in both arms
    correlation: float | None = None
    example_variance: float = 0.0
    n_clusters: int | None = None

    kind: ClassVar[Literal["mean"]] = "mean"

    def __post_init__(self) -> None:
        _check_positive("standard deviation", self.sd)
        self._check()

    def size(self, effect: float) -> float:
        """Return the distance of a difference from 0."""
        if not 0.0 < abs(effect) < np.inf:
            raise OptionError(
                "A difference of {effect:g} cannot be detected. Pass a number that is not 0, "
                "such as 0.005.",
                effect=effect,
            )
        return abs(effect)

    def effect(self, size: float) -> float:
        """Return the difference, above 0."""
        return size

    def _run_variance(self, n_runs: int) -> float:
        return 2 * self.sd**2 / n_runs * (1 - (self.correlation or 0.0))


@dataclass(frozen=True, slots=True)
class TrialTest(MeanTest):
    """The test of the difference between the means of two arms, by trials of one model each.

    Examples contain the noise of the trials: the test is over examples, for any number of trials.
    Here `sd` is that of the mean of a single trial of each example.
    """

    n_drawn: float = 2  # examples of equal weight, or clusters

    least_runs: ClassVar[int] = 1

    def needed(self, n_runs: int, level: Level = PLAIN) -> float:
        """Return the smallest observed effect that is shown, if trials vary as assumed."""
        return self._critical(level) * self._error(n_runs)

    def chance(self, n_runs: int, size: float, level: Level = PLAIN) -> float:
        """Return the probability that a true effect of this size is shown."""
        return _beyond(self._critical(level), self._example_df, size / self._error(n_runs))

    def examples_factor_at(self, n_runs: int, effect: float, promise: "Promise") -> float:
        """Return the factor of examples needed with this number of trials of each."""
        shift = self._shift(promise.power, promise.level(n_runs))
        return (self._error(n_runs) * shift / self.size(effect)) ** 2

    @property
    def _example_df(self) -> float:
        return max(self.n_drawn - 1, 1)

    def _critical(self, level: Level) -> float:
        return student_quantile(self._example_df, 1 - level.example_tail)

    def _error(self, n_runs: int) -> float:
        return float(np.sqrt(self._run_variance(n_runs) + self.example_variance))


class _RatioTest:
    """A test on the log scale."""

    __slots__ = ()

    def size(self, effect: float) -> float:
        """Return the distance of a ratio from 1, on the log scale."""
        if not 0.0 < effect < np.inf or effect == 1.0:
            raise OptionError(
                "A ratio of {ratio:g} cannot be detected. Pass a ratio above 0 that is not 1, such "
                "as 2 or 0.5.",
                ratio=effect,
            )
        return abs(float(np.log(effect)))

    def effect(self, size: float) -> float:
        """Return the ratio, above 1."""
        return float(np.exp(min(size, 700.0)))  # the largest exponent that a float can hold


@dataclass(frozen=True, slots=True)
class SpreadTest(_RatioTest):
    """The F test of the ratio between the standard deviations of two arms."""

    kind: ClassVar[Literal["sd"]] = "sd"
    least_runs: ClassVar[int] = VERDICT_FROM

    def needed(self, n_runs: int, level: Level = PLAIN) -> float:
        """Return the smallest observed log ratio that is shown."""
        return float(np.log(stats.f.ppf(1 - level.tail, n_runs - 1, n_runs - 1))) / 2

    def chance(self, n_runs: int, size: float, level: Level = PLAIN) -> float:
        """Return the probability that a true log ratio of this size is shown."""
        df, needed = n_runs - 1, self.needed(n_runs, level)
        above = stats.f.sf(np.exp(2 * (needed - size)), df, df)
        below = stats.f.cdf(np.exp(-2 * (needed + size)), df, df)
        return float(above + below)


@dataclass(frozen=True, slots=True)
class FlipTest(_TwoWayTest, _RatioTest):
    """The test of the ratio between the flip rates of two arms.

    Runs r and s disagree on the share U·(1 + a_r + a_s + b_rs) of the examples. With cv = sd(a) and
    pair_cv = sd(b), the variance of the mean over all pairs of R runs is
    4·cv²/R + 2·pair_cv²/(R(R-1)), relative to U². The jackknife is expected to give
    4·cv²/R + 4·pair_cv²/(R(R-2)). Two arms have twice as much.
    """

    cv: float  # sd of a run's mean disagreement over its mean, in both arms
    correlation: float | None = None  # of the mean disagreements of paired runs
    example_variance: float = 0.0  # of the log ratio
    n_clusters: int | None = None
    pair_cv: float | None = None  # if None as large as cv, which is conservative

    kind: ClassVar[Literal["flip_rate"]] = "flip_rate"

    def __post_init__(self) -> None:
        _check_positive("coefficient of variation", self.cv)
        self._check()

    def _run_variance(self, n_runs: int) -> float:
        return self._of_runs(n_runs) + 8 * self._pairs / (n_runs * (n_runs - 2))

    def _variance(self, n_runs: int) -> float:
        return self._of_runs(n_runs) + 4 * self._pairs / (n_runs * (n_runs - 1))

    def _of_runs(self, n_runs: int) -> float:
        return 8 * self.cv**2 / n_runs * (1 - (self.correlation or 0.0))

    @property
    def _pairs(self) -> float:
        return (self.cv if self.pair_cv is None else self.pair_cv) ** 2


PlannedTest: TypeAlias = MeanTest | SpreadTest | FlipTest


def _check_share(name: str, value: float, *, usual: float) -> None:
    if not 0.5 <= value < 1.0:
        raise OptionError(
            "A {quantity} of {given:g} is not allowed. Pass a share from 0.5 to less than 1, "
            "such as {usual}.",
            quantity=name,
            given=value,
            usual=usual,
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """Power and confidence of a plan, and the number of arms that are judged together."""

    power: float = POWER
    confidence: float = CONFIDENCE
    n_arms: int = 1  # besides the baseline

    def __post_init__(self) -> None:
        _check_share("power", self.power, usual=POWER)
        _check_share("confidence", self.confidence, usual=CONFIDENCE)
        if not is_count(self.n_arms, 1) or self.n_arms > MOST_ARMS:
            raise OptionError(
                "{n_arms} arms besides the baseline are not allowed. Pass a whole number from 1 to "
                "{at_most:,}.",
                keyword="arms",
                n_arms=self.n_arms,
                at_most=MOST_ARMS,
            )

    def level(self, n_runs: int) -> Level:
        """Return the level at which the contrast of each arm is judged."""
        tail = (1 - self.confidence) / 2
        return level_of_arms(self.n_arms, n_runs, Level(tail, tail))


USUAL: Final = Promise()


def seeds_for(test: PlannedTest, effect: float, promise: Promise = USUAL) -> int | None:
    """Return the fewest seeds per arm that show a true effect with the promised power.

    None if no number suffices, because there are too few examples.
    """
    size = test.size(effect)
    if isinstance(test, MeanTest | FlipTest) and examples_factor(test, effect, promise) >= 1:
        return None

    def suffices(n_runs: int) -> bool:
        return test.chance(n_runs, size, promise.level(n_runs)) >= promise.power

    too_few, enough = test.least_runs - 1, test.least_runs
    while not suffices(enough):
        too_few, enough = enough, min(2 * enough, MOST_SEEDS)
        if too_few == MOST_SEEDS:
            raise OptionError(
                "An effect of {effect:g} needs more than {at_most:,} seeds per arm. Pass a larger "
                "effect, or check the figures.",
                effect=effect,
                at_most=MOST_SEEDS,
            )
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough


def examples_factor(test: MeanTest | FlipTest, effect: float, promise: Promise = USUAL) -> float:
    """Return the factor of examples needed with any number of seeds; below 1: enough."""
    level = promise.level(MOST_SEEDS)
    return test.examples_factor(test.size(effect), power=promise.power, level=level)


def detectable(test: PlannedTest, n_runs: int, promise: Promise = USUAL) -> float:
    """Return the smallest true effect that this number of seeds per arm shows with this power.

    A difference above 0, or a ratio above 1, whose inverse is as easy to detect.
    """
    _check_runs(test, n_runs)
    level = promise.level(n_runs)

    def missing(size: float) -> float:
        return test.chance(n_runs, size, level) - promise.power

    most = 2 * test.needed(n_runs, level)
    while missing(most) < 0:
        most *= 2
    return test.effect(float(brentq(missing, 0.0, most)))


def observed_needed(test: PlannedTest, n_runs: int, promise: Promise = USUAL) -> float:
    """Return the smallest observed effect that is shown with this number of seeds per arm."""
    _check_runs(test, n_runs)
    return test.effect(test.needed(n_runs, promise.level(n_runs)))


def _contrast_df(n_runs: int, correlation: float | None) -> float:
    """Degrees of freedom that `stats.contrast` gives the variance over runs of two equal arms.

    Unpaired arms have those of Welch: the inverse of the expected inverse for normal values.
    """
    df = n_runs - 1
    return df if correlation is not None else 2 * df * (df + 1) / (df + 2)


def _beyond(critical: float, df: float, shift: float) -> float:
    """Probability that a noncentral t is beyond a critical value on either side."""
    if shift > 50 * (1 + critical):  # certain, and scipy gives no number for very large shifts
        return 1.0
    if np.isinf(df):
        return float(ndtr(shift - critical) + ndtr(-shift - critical))
    # The other side mirrored, since scipy's lower tail is not a number for some shifts.
    return float(stats.nct.sf(critical, df, shift) + stats.nct.sf(critical, df, -shift))


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise OptionError(
            "A {quantity} of {given:g} is not allowed. Pass a number above 0.",
            quantity=name,
            given=value,
        )


def _check_correlation(correlation: float | None) -> None:
    if correlation is not None and not -1.0 <= correlation < 1.0:
        raise OptionError(
            "A correlation of {correlation:g} is not allowed. Pass one from -1 to less than 1.",
            correlation=correlation,
        )


def _check_runs(test: PlannedTest, n_runs: int) -> None:
    if not is_count(n_runs, test.least_runs) or n_runs > MOST_SEEDS:
        raise OptionError(
            "{n_runs} seeds per arm are not allowed. Pass at least {least_runs} and at most "
            "{at_most:,}.",
            n_runs=n_runs,
            least_runs=test.least_runs,
            at_most=MOST_SEEDS,
        )
