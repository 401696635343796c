"""The effect of an arm on one metric: a ratio or a difference, with interval and power."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from seedproof.messages import Message
from seedproof.metrics.card import Better, card, card_name
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.stats.distributions import student_quantile
from seedproof.stats.drawn import two_way_variance
from seedproof.stats.intervals import WITHOUT_RUNS, Level, Over
from seedproof.typing import FloatArray

POWER = 0.8
# An undecided interval whose upper end is more than this multiple of its value is not printed.
WIDEST = 100.0
# Nor is one of a ratio that includes this multiple and its inverse.
WIDEST_RATIO = 10.0
# Errors of numbers, whose size depends on their unit: they are compared by their ratio.
ERRORS = frozenset({"mae", "rmse"})
# Qualities of ranked lists and sets.
ITEM_QUALITY = frozenset(
    {"hit_rate@k", "ndcg@k", "recall@k", "mrr", "precision", "recall", "micro_f1"}
)
# Metrics that measure how good the runs are; everything else measures how steady they are.
QUALITY = ERRORS | {
    *("accuracy", "balanced_accuracy", "macro_f1", "nll", "brier", "ece", "ece_corrected", "mce"),
    *("mean", "bias", "pass^k", "pass@k"),
    *ITEM_QUALITY,
}
# Ratios of agreements near 1 mean little; like means they are compared by their difference.
AGREEMENTS = frozenset(
    {"explanation_overlap", "explanation_tau", "explanation_rbo"}
    | {"rank_biased_overlap", "average_overlap@k"}
)
# Among them the shares, whose differences are between −1 and 1.
SHARES = frozenset(
    {"accuracy", "balanced_accuracy", "macro_f1", "ece", "ece_corrected", "mce"}
    | {"explanation_overlap", "explanation_rbo", "pass^k", "pass@k"}
    | {"rank_biased_overlap", "average_overlap@k", *ITEM_QUALITY}
)
# Shares that depend on the number of runs or trials, so that arms are not compared by them.
COUNTED = frozenset({"solid_share", "flaky_share", "broken_share"})
# Means of numbers of any size: no difference is small for all of them.
UNBOUNDED = frozenset({"mean", "bias"})
# Usual margins: a tenth of the baseline for ratios, half a percentage point for differences.
RATIO_MARGIN, DIFFERENCE_MARGIN = 0.1, 0.005

Scale: TypeAlias = Literal["ratio", "difference"]
Verdict: TypeAlias = Literal[
    "steadier",
    "less steady",
    "better",
    "worse",
    "higher",
    "lower",
    "equivalent",
    "no difference shown",
    "too few runs",
    "not tested",
]


OPPOSITE: Mapping[Verdict, Verdict] = {
    "steadier": "less steady",
    "less steady": "steadier",
    "better": "worse",
    "worse": "better",
    "higher": "lower",
    "lower": "higher",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of an arm on one metric, against the baseline.

    Args:
        metric: Name of the metric.
        scale: `ratio` of the arm to the baseline for metrics of stability, `difference` for metrics
            of quality.
        value: The ratio or the difference; None for a ratio to a baseline of 0.
        low: Lower end of the interval, adjusted for the number of arms and metrics; None if there
            is none.
        high: Its upper end.
        over: What the interval is over.
        detectable: The smallest true effect that these runs would show with 80 % power: a ratio
            above 1, whose inverse is as easy to detect, or a difference above 0.
        verdict: The conclusion.
        note: Reason why there is no interval, or no verdict because a check reports an error;
            None otherwise.
        exploratory: True unless this is the primary metric, or the quality that is judged together
            with it: its interval holds simultaneously with those of all other exploratory metrics
            and arms.
        confidence: Confidence of the interval alone, such as 0.95; more if several hold
            simultaneously.
        margin: The change that does not matter: a share of the baseline for a ratio; None if
            there is none, as for means of numbers of any size.

    Examples:
        >>> import seedproof as sp
        >>> sp.Effect(
        ...     "flip_rate", "ratio", 0.5, low=0.4, high=0.7, verdict="steadier"
        ... ).is_shown
        True
    """

    metric: str
    scale: Scale
    value: float | None
    low: float | None = None
    high: float | None = None
    over: Over | None = None
    detectable: float | None = None
    verdict: Verdict = "not tested"
    note: Message | None = None
    exploratory: bool = False
    confidence: float | None = None
    margin: float | None = None

    @property
    def is_shown(self) -> bool:
        """True if the interval excludes no change."""
        return self.verdict in OPPOSITE

    @property
    def is_too_wide(self) -> bool:
        """True if the interval includes no change and is too wide to be of use."""
        if self.value is None or self.low is None:
            return False
        high = np.inf if self.high is None else self.high
        if self.scale == "difference":
            return card_name(self.metric) in SHARES and self.low <= -1.0 and high >= 1.0
        if self.low <= 1 / WIDEST_RATIO and high >= WIDEST_RATIO:
            return True
        return self.low <= 1.0 <= high and high > WIDEST * self.value > 0.0

    def summary(self) -> dict[str, Any]:
        """Return plain data, with the text of the note."""
        return asdict(self) | {"note": "" if self.note is None else str(self.note)}


@dataclass(frozen=True, slots=True)
class RatioOfMeans:
    """A ratio of two means over the same few examples, by the method of Fieller (1954).

    The interval has every ratio r for which the differences arm − r·baseline of the examples have a
    mean near 0. Of equal arms these are symmetric, however skewed the values are: on the log scale,
    arms with a few large values would be called different too often.

    Each variance has two parts: from drawing examples, and the part that is the noise of trials, or
    that the variance over runs counts as well.
    """

    base: float
    arm: float
    base_variance: tuple[float, float]
    arm_variance: tuple[float, float]
    covariance: tuple[float, float]
    # Variances over runs of both, and their covariance; None for trials.
    runs: tuple[float, float, float] | None = None
    power: float = 1.0  # of the ratio that is reported: a half for standard deviations

    def log_ends(self, drawn: float, noise: float, run_share: float = 1.0) -> tuple[float, float]:
        """Return the ends of the logarithm, given the quantiles of both parts of the variance."""
        parts = self.base_variance, self.arm_variance, self.covariance
        if self.runs is None:
            return self._ends([drawn**2 * (x - part) + noise**2 * part for x, part in parts])
        # As for means: over runs and examples, and at least over the examples alone.
        wide = noise**2 * run_share
        both = [
            wide * over_runs + drawn**2 * (x - part)
            for over_runs, (x, part) in zip(self.runs, parts, strict=True)
        ]
        alone = [drawn**2 * (x - (1 - run_share) * part) for x, part in parts]
        lows, highs = zip(self._ends(both), self._ends(alone), strict=True)
        return min(lows), max(highs)

    def _ends(self, squared: Sequence[float]) -> tuple[float, float]:
        """Return the ends, given the squared widths of the baseline, the arm and their product."""
        # a·r² − 2b·r + c ≤ 0
        a = self.base**2 - squared[0]
        b = self.base * self.arm - squared[2]
        c = self.arm**2 - squared[1]
        if a <= 0.0:  # the baseline may be 0
            return -np.inf, np.inf
        root = float(np.sqrt(max(b**2 - a * c, 0.0)))
        with np.errstate(divide="ignore"):
            low, high = (self.power * float(np.log(max(b + x, 0.0) / a)) for x in (-root, root))
        return low, high


@dataclass(frozen=True, slots=True)
class JudgeVariance:
    """Variance of a contrast from drawing the judges who grade every answer."""

    variance: float
    df: float
    interaction_variance: float = 0.0  # part of it that drawing examples counts as well


@dataclass(frozen=True, slots=True)
class Contrast:
    """Arm less baseline on the scale of its interval: the logarithm for ratios."""

    center: float
    run_variance: float
    df: float  # degrees of freedom of the variance over runs
    example_variance: float = 0.0  # from drawing examples
    interaction_variance: float = 0.0  # part of it that the variance over runs counts as well
    residual_bias: float = 0.0  # extra half width, independent of the confidence level
    error: float = 0.0  # bound on the error from classes that were not kept, added in full
    over: Over = "runs × examples"
    example_df: float = np.inf  # degrees of freedom of the variance from drawing examples
    ratio: RatioOfMeans | None = None  # in place of the center and its width
    judges: JudgeVariance | None = None  # None unless the same judges grade every answer

    def ends(self, level: Level) -> tuple[float, float]:
        """Return the ends of the interval."""
        if self.ratio is None:
            half_width = self.half_width(level)
            return self.center - half_width, self.center + half_width
        drawn = student_quantile(self.example_df, 1 - level.example_tail)
        noise = student_quantile(self.df, 1 - level.tail)
        low, high = self.ratio.log_ends(drawn, noise, level.run_share)
        if self.judges is None:
            return low, high
        below = self._over_judges(max(self.center - low, 0.0), level)
        above = self._over_judges(max(high - self.center, 0.0), level)
        return self.center - below, self.center + above

    def _over_judges(self, half_width: float, level: Level) -> float:
        """Return a half width over runs and examples, widened for other judges like these."""
        if self.judges is None:
            return half_width
        drawn = student_quantile(self.example_df, 1 - level.example_tail) ** 2
        squared = two_way_variance(
            student_quantile(self.judges.df, 1 - level.example_tail) ** 2 * self.judges.variance,
            half_width**2,
            drawn * self.judges.interaction_variance,
        )
        return float(np.sqrt(squared))

    def half_width(self, level: Level) -> float:
        """Return half the width of the interval."""
        runs = student_quantile(self.df, 1 - level.tail) ** 2 * level.run_share
        drawn = student_quantile(self.example_df, 1 - level.example_tail) ** 2
        spread = two_way_variance(
            runs * self.run_variance,
            drawn * self.example_variance,
            drawn * self.interaction_variance,
            level.run_share,
        )
        plain = float(np.sqrt(spread + self.residual_bias**2))
        return self._over_judges(plain, level) + self.error

    def detectable(self, level: Level) -> float:
        """Return the smallest true difference that is shown with a probability of `POWER`."""
        variance = two_way_variance(
            self.run_variance, self.example_variance, self.interaction_variance
        )
        if self.judges is not None:
            counted = self.judges.interaction_variance
            variance = two_way_variance(self.judges.variance, variance, counted)
        return self.half_width(level) + student_quantile(self.df, POWER) * float(np.sqrt(variance))


def unseen_variance(
    drawn: float,
    noise: float,
    *,
    n_drawn: float,
    step: float,
    clusters: FloatArray | None = None,
) -> float:
    """Return the variance of a difference of shares that few examples do not show.

    Half an example in each direction is added: Agresti and Min (2005), Statistics in Medicine
    24:729. Otherwise arms that differ on a handful of examples, or on none, are called different,
    or equal, too easily. As far as examples differ by the noise of runs alone, they differ by
    steps of one run, and the half is one of such a step.

    Args:
        drawn: Variance of the difference from drawing examples.
        noise: Part of it that is the noise of runs.
        n_drawn: Number of examples, or of clusters.
        step: The least by which one run changes the value of an example.
        clusters: What each cluster adds to the difference. Half a cluster like those that differ
            is added, and not one whose examples all do.

    Returns:
        The variance to add to that from drawing examples.
    """
    share = min(max(noise, 0.0) / drawn, 1.0) if drawn > 0.0 else 0.0
    unseen = (1 - share + share * step**2) / n_drawn**2
    squares = 0.0 if clusters is None else float(np.square(clusters).sum())
    if clusters is None or not squares > 0.0:
        return unseen
    return min(float(np.power(clusters, 4).sum()) / squares, unseen)


def is_inside(effect: Effect, margin: float, *, needs_runs: bool = True) -> bool:
    """Return whether an interval lies within a margin of no change: a share for ratios."""
    if effect.low is None or effect.high is None or (needs_runs and effect.over in WITHOUT_RUNS):
        return False
    if effect.scale == "difference":
        return -margin <= effect.low and effect.high <= margin
    return 1 / (1 + margin) <= effect.low and effect.high <= 1 + margin


def inverted(effect: Effect) -> Effect:
    """Return the effect of the baseline against the arm."""
    verdict = OPPOSITE.get(effect.verdict, effect.verdict)
    value, low, high = effect.value, effect.low, effect.high
    if effect.scale == "difference":
        value, low, high = (None if x is None else -x for x in (value, high, low))
    elif low is None:
        value, high = (1 / value if value else None), None
    else:  # a ratio to 0 has neither value nor upper end
        value = 0.0 if value is None else _inverse(value)
        low, high = (0.0 if high is None else 1 / high), _inverse(low)
    return replace(effect, value=value, low=low, high=high, verdict=verdict)


def _inverse(ratio: float) -> float | None:
    return 1 / ratio if ratio > 0.0 else None


def with_enough_runs(effect: Effect, n_runs: int) -> Effect:
    """Return an effect; without a verdict if an arm has fewer than `VERDICT_FROM` runs."""
    if n_runs >= VERDICT_FROM:
        return effect
    return replace(effect, verdict="too few runs", detectable=None)


def without_verdict(effect: Effect, check: str) -> Effect:
    """Return an effect that is not tested, because a check of this name reports an error.

    Its value and interval stay; without an interval it is not tested anyway.
    """
    if effect.low is None:
        return effect
    note = Message(check, "the check {check} reports an error", check=check)
    return replace(effect, verdict="not tested", detectable=None, note=note)


def scale_of(metric: str) -> Scale:
    """Return the scale on which arms are compared."""
    return "difference" if card_name(metric) in (QUALITY - ERRORS) | AGREEMENTS else "ratio"


def usual_margin(metric: str) -> float:
    """Return the margin within which a change of a metric does not matter, if none is given.

    That of `UNBOUNDED` means is for shares between 0 and 1.
    """
    return RATIO_MARGIN if scale_of(metric) == "ratio" else DIFFERENCE_MARGIN


def judged(metric: str, low: float, high: float) -> Verdict:
    """Return the verdict on an interval of a ratio or a difference."""
    no_change = 0.0 if scale_of(metric) == "difference" else 1.0
    if low <= no_change <= high:
        return "no difference shown"
    is_higher, better = low > no_change, card(metric).better
    is_good = is_higher == (better == "higher")
    if card_name(metric) not in QUALITY:
        return "steadier" if is_good else "less steady"
    if better == "neither":
        return "higher" if is_higher else "lower"
    return "better" if is_good else "worse"


def directed(effect: Effect, better: Better) -> Effect:
    """Return an effect on a metric whose better direction depends on what the numbers are."""
    if better == "neither" or effect.verdict not in {"higher", "lower"}:
        return effect
    return replace(effect, verdict="better" if effect.verdict == better else "worse")


def effect_of(
    metric: str,
    value: float | None,
    contrast: Contrast | None,
    *,
    level: Level,
    note: Message | None = None,
    needs_runs: bool = True,
    are_shares: bool = False,
) -> Effect:
    """Return an effect with interval and power, and a verdict if the interval is over runs.

    Trials of one model need none: the interval over examples contains their noise. A difference of
    shares is between −1 and 1.
    """
    scale = scale_of(metric)
    if contrast is None:
        return Effect(metric, scale, value, note=note)
    (low, high), detectable = contrast.ends(level), contrast.detectable(level)
    if scale == "ratio":
        with np.errstate(over="ignore"):
            low, high, detectable = (float(np.exp(x)) for x in (low, high, detectable))
    if scale == "difference" and (are_shares or card_name(metric) in SHARES):
        low, high = max(low, -1.0), min(high, 1.0)
    if value is not None:  # a value is expected inside its own interval
        low, high = min(low, value), max(high, value)
    over = contrast.over
    if needs_runs and over in WITHOUT_RUNS:
        return Effect(metric, scale, value, low, high, over, verdict="too few runs", note=note)
    verdict = judged(metric, low, high)
    upper, shows = (x if np.isfinite(x) else None for x in (high, detectable))
    return Effect(metric, scale, value, low, upper, over, shows, verdict, note)
