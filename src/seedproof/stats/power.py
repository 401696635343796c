"""Seeds that a difference needs, and differences that a number of seeds can show.

Each test knows what must be observed, and its power for a true effect. Runs are assumed to be
normal. Seeds are counted per arm, of two arms.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from seedproof.errors import OptionError
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.effect import POWER
from seedproof.stats.intervals import CONFIDENCE
from seedproof.typing import is_count

# More seeds than this are a typing error in one of the figures.
MOST_SEEDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class MeanTest:
    """Student's test of the difference between the means of two arms."""

    sd: float  # over runs, the same in both arms
    correlation: float | None = None  # of paired runs; None if arms are unpaired

    kind: ClassVar[Literal["mean"]] = "mean"

    def __post_init__(self) -> None:
        _check_positive("standard deviation", self.sd)
        _check_correlation(self.correlation)

    def size(self, effect: float) -> float:
        """Return the distance of a difference from 0."""
        if not 0.0 < abs(effect) < np.inf:
            raise OptionError(
                "A difference of {effect:g} cannot be detected. Give a number that is not 0, "
                "such as 0.005.",
                effect=effect,
            )
        return abs(effect)

    def effect(self, size: float) -> float:
        """Return the difference, above 0."""
        return size

    def needed(self, n_runs: int, *, confidence: float = CONFIDENCE) -> float:
        """Return the smallest observed difference that is shown, if the runs have this sd."""
        return float(stdtrit(self._df(n_runs), _upper(confidence))) * self._error(n_runs)

    def chance(self, n_runs: int, size: float, *, confidence: float = CONFIDENCE) -> float:
        """Return the probability that a true difference of this size is shown."""
        df = self._df(n_runs)
        return _beyond(float(stdtrit(df, _upper(confidence))), df, size / self._error(n_runs))

    def _df(self, n_runs: int) -> int:
        return 2 * (n_runs - 1) if self.correlation is None else n_runs - 1

    def _error(self, n_runs: int) -> float:
        return self.sd * float(np.sqrt(2 * (1 - (self.correlation or 0.0)) / n_runs))


class _RatioTest:
    """A test on the log scale."""

    __slots__ = ()

    def size(self, effect: float) -> float:
        """Return the distance of a ratio from 1, on the log scale."""
        if not 0.0 < effect < np.inf or effect == 1.0:
            raise OptionError(
                "A ratio of {ratio:g} cannot be detected. Give a ratio above 0 that is not 1, such "
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

    def needed(self, n_runs: int, *, confidence: float = CONFIDENCE) -> float:
        """Return the smallest observed log ratio that is shown."""
        return float(np.log(stats.f.ppf(_upper(confidence), n_runs - 1, n_runs - 1))) / 2

    def chance(self, n_runs: int, size: float, *, confidence: float = CONFIDENCE) -> float:
        """Return the probability that a true log ratio of this size is shown."""
        df, needed = n_runs - 1, self.needed(n_runs, confidence=confidence)
        above = stats.f.sf(np.exp(2 * (needed - size)), df, df)
        below = stats.f.cdf(np.exp(-2 * (needed + size)), df, df)
        return float(above + below)


@dataclass(frozen=True, slots=True)
class FlipTest(_RatioTest):
    """The test of the ratio between the flip rates of two arms.

    Run r disagrees with the others on the share g_r of the examples, and the flip rate U is the
    mean of g. Without run r it is U - 2(g_r - U)/(R-2), so with cv = sd(g)/U the jackknife's
    variance of ln U is 4·cv²·(R-1)²/(R(R-2)²), about 4·cv²/R. Two arms have twice as much.
    """

    cv: float  # sd of the runs' mean disagreements over their mean, in both arms
    correlation: float | None = None  # of the mean disagreements of paired runs; None if unpaired
    example_variance: float = 0.0  # of the log ratio, from drawing examples
    n_clusters: int | None = None  # drawn in place of examples; None if those are independent

    kind: ClassVar[Literal["flip_rate"]] = "flip_rate"

    def __post_init__(self) -> None:
        _check_positive("coefficient of variation", self.cv)
        _check_correlation(self.correlation)

    def needed(self, n_runs: int, *, confidence: float = CONFIDENCE) -> float:
        """Return the smallest observed log ratio that is shown."""
        upper = _upper(confidence)
        runs = float(stdtrit(n_runs - 1, upper)) ** 2 * self._run_variance(n_runs)
        return float(np.sqrt(runs + self._quantile(upper) ** 2 * self.example_variance))

    def chance(self, n_runs: int, size: float, *, confidence: float = CONFIDENCE) -> float:
        """Return the probability that a true log ratio of this size is shown."""
        runs = self._run_variance(n_runs)
        variance = runs + self.example_variance
        error = float(np.sqrt(variance))
        # Satterthwaite: only the variances over runs and clusters are estimated from few values.
        drawn = 0.0 if self.n_clusters is None else self.example_variance**2 / self._example_df
        df = variance**2 / (runs**2 / (n_runs - 1) + drawn)
        return _beyond(self.needed(n_runs, confidence=confidence) / error, df, size / error)

    def examples_factor(
        self, effect: float, *, power: float = POWER, confidence: float = CONFIDENCE
    ) -> float:
        """Return the factor of examples needed with any number of seeds; at most 1: enough."""
        reach = self.size(effect) / (self._quantile(_upper(confidence)) + self._quantile(power))
        return self.example_variance / reach**2

    @property
    def _example_df(self) -> int:
        return max((self.n_clusters or 0) - 1, 1)

    def _quantile(self, share: float) -> float:
        """Quantile for the variance from drawing examples, or clusters."""
        return float(ndtri(share) if self.n_clusters is None else stdtrit(self._example_df, share))

    def _run_variance(self, n_runs: int) -> float:
        one_arm = 4 * self.cv**2 / n_runs * ((n_runs - 1) / (n_runs - 2)) ** 2
        return 2 * one_arm * (1 - (self.correlation or 0.0))


PlannedTest: TypeAlias = MeanTest | SpreadTest | FlipTest


def seeds_for(
    test: PlannedTest, effect: float, *, power: float = POWER, confidence: float = CONFIDENCE
) -> int | None:
    """Return the fewest seeds per arm that show a true effect with this power.

    None if no number suffices, because there are too few examples.
    """
    check_shares(power=power, confidence=confidence)
    size = test.size(effect)
    if isinstance(test, FlipTest):
        factor = test.examples_factor(effect, power=power, confidence=confidence)
        if factor >= 1:
            return None

    def suffices(n_runs: int) -> bool:
        return test.chance(n_runs, size, confidence=confidence) >= power

    too_few, enough = VERDICT_FROM - 1, VERDICT_FROM
    while not suffices(enough):
        too_few, enough = enough, min(2 * enough, MOST_SEEDS)
        if too_few == MOST_SEEDS:
            raise OptionError(
                "An effect of {effect:g} needs more than {at_most:,} seeds per arm. Give a larger "
                "effect, or check the figures.",
                effect=effect,
                at_most=MOST_SEEDS,
            )
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return enough


def detectable(
    test: PlannedTest, n_runs: int, *, power: float = POWER, confidence: float = CONFIDENCE
) -> float:
    """Return the smallest true effect that this number of seeds per arm shows with this power.

    A difference above 0, or a ratio above 1, whose inverse is as easy to detect.
    """
    check_shares(power=power, confidence=confidence)
    _check_runs(n_runs)

    def missing(size: float) -> float:
        return test.chance(n_runs, size, confidence=confidence) - power

    most = 2 * test.needed(n_runs, confidence=confidence)
    while missing(most) < 0:
        most *= 2
    return test.effect(float(brentq(missing, 0.0, most)))


def observed_needed(test: PlannedTest, n_runs: int, *, confidence: float = CONFIDENCE) -> float:
    """Return the smallest observed effect that is shown with this number of seeds per arm."""
    check_shares(power=POWER, confidence=confidence)
    _check_runs(n_runs)
    return test.effect(test.needed(n_runs, confidence=confidence))


def check_shares(*, power: float, confidence: float) -> None:
    """Refuse a power or a confidence outside the useful range."""
    for name, value, usual in (("power", power, 0.8), ("confidence", confidence, 0.95)):
        if not 0.5 <= value < 1.0:
            raise OptionError(
                "A {quantity} of {given:g} is not allowed. Give a share from 0.5 to less than 1, "
                "such as {usual}.",
                quantity=name,
                given=value,
                usual=usual,
            )


def _upper(confidence: float) -> float:
    return (1 + confidence) / 2


def _beyond(critical: float, df: float, shift: float) -> float:
    """Probability that a noncentral t is beyond a critical value on either side."""
    if shift > 50 * (1 + critical):  # certain, and scipy gives no number for very large shifts
        return 1.0
    # The other side mirrored, since scipy's lower tail is not a number for some shifts.
    return float(stats.nct.sf(critical, df, shift) + stats.nct.sf(critical, df, -shift))


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise OptionError(
            "A {quantity} of {given:g} is not allowed. Give a number above 0.",
            quantity=name,
            given=value,
        )


def _check_correlation(correlation: float | None) -> None:
    if correlation is not None and not -1.0 <= correlation < 1.0:
        raise OptionError(
            "A correlation of {correlation:g} is not allowed. Give one from -1 to less than 1.",
            correlation=correlation,
        )


def _check_runs(n_runs: int) -> None:
    if not is_count(n_runs, VERDICT_FROM) or n_runs > MOST_SEEDS:
        raise OptionError(
            "{n_runs} seeds per arm are not allowed. Give at least {least_runs} and at most "
            "{at_most:,}.",
            n_runs=n_runs,
            least_runs=VERDICT_FROM,
            at_most=MOST_SEEDS,
        )
