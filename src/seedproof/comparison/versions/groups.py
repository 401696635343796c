"""Changes added up over groups of examples, and their intervals in closed form.

The forms are those of `stats.intervals`: each version's runs are left out one at a time, the two
variances are added, and the variance from drawing examples is counted once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seedproof.comparison.versions.disagreement import Change
from seedproof.measurement.groups import added
from seedproof.metrics.block_statistic import Residuals
from seedproof.metrics.statistic import MeanOverExamples, Scale
from seedproof.stats.distributions import upward_skewness
from seedproof.stats.drawn import drawn_df
from seedproof.stats.effect import Contrast, unseen_variance
from seedproof.stats.intervals import (
    PLAIN,
    Estimate,
    Level,
    estimate,
    jackknife_variance,
    over_drawn,
)
from seedproof.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Deleting one of two runs leaves no pair.
LEAST_RUNS = 3
SCALES: dict[str, Scale] = {
    **dict.fromkeys(("accuracy_old", "accuracy_new", "quality_old", "quality_new"), "logit"),
    **dict.fromkeys(("mean_old", "mean_new"), "linear"),
}
# Figures of one version alone.
OWN = {
    f"{name}_{version}": version
    for name in ("accuracy", "flip_rate", "mean", "error", "difference", "quality", "distance")
    for version in ("old", "new")
}


class GroupSums:
    """Totals of one quantity over the examples of several groups; one row per group.

    Examples on which all runs agree have the quantity 0 and are never added, except to accuracies.
    """

    def __init__(self) -> None:
        self.totals: dict[str, FloatArray] = {}

    def update(
        self, change: Change, members: "csr_array", weights: FloatArray | None = None
    ) -> None:
        """Add examples, whose groups are the rows of `members`, axes (groups, examples)."""
        change = change.scaled(weights)
        swapped = change.swapped
        parts = {
            "total": change.whole,
            "squares": np.square(change.whole),
            "old": change.without_old,
            "old_interaction": _jackknife(change.without_old),
            "new": change.without_new,
            "new_interaction": _jackknife(change.without_new),
            "swapped": swapped,
            "swapped_interaction": None if swapped is None else swapped.var(axis=1, ddof=1),
        }
        if weights is not None:
            parts |= {
                "size": weights,
                "size_squares": np.square(weights),
                "size_products": weights * change.whole,
            }
        for name, values in parts.items():
            if values is not None:
                self._add(name, members @ values)

    def merge(self, other: "GroupSums", places: IntArray) -> None:
        """Add other examples, whose groups have the indices `places` here."""
        for name, values in other.totals.items():
            self._add(name, values, places)

    def add_ones(self, counts: IntArray) -> None:
        """Add examples to each group whose quantity is 1 with and without any run."""
        for name, known in self.totals.items():
            if name in {"total", "squares"}:
                self._add(name, counts.astype(np.float64))
            elif name in {"old", "new"}:
                self._add(name, np.repeat(counts[:, None], known.shape[1], axis=1))

    def _add(self, name: str, sums: FloatArray, places: IntArray | None = None) -> None:
        known = self.totals.get(name, np.zeros((0, *sums.shape[1:])))
        self.totals[name] = added(known, sums, places)

    def group(
        self,
        index: int,
        n_examples: int,
        n_runs: Mapping[str, int],
        clusters: Mapping[str, Residuals] | None = None,
        *,
        largest: float | None = 1.0,
        is_small: bool = False,
        are_trials: bool = False,
    ) -> "GroupMean":
        """Return the mean of one group of `n_examples` examples."""
        totals = {name: values[index] for name, values in self.totals.items()}
        return GroupMean(
            n_examples, n_runs, totals, clusters, largest, is_small=is_small, are_trials=are_trials
        )


def _jackknife(without: FloatArray | None) -> FloatArray | None:
    """Jackknife variance over runs of each example's own value."""
    if without is None:
        return None
    return np.asarray((without.shape[1] - 1) * without.var(axis=1))


@dataclass(frozen=True, eq=False)
class GroupMean:
    """Mean of one quantity over the examples of one group."""

    n_examples: int
    n_runs: Mapping[str, int]  # of the `old` and of the `new` version
    totals: Mapping[str, FloatArray]  # sums over examples, by name
    # Residuals of its clusters, by the runs that are left out; None if examples are independent.
    clusters: Mapping[str, Residuals] | None = None
    largest: float | None = 1.0  # value of one example; None for numbers of any size
    is_small: bool = False  # so few examples that they need Student's quantile
    are_trials: bool = False  # of one model: examples contain their noise

    @property
    def size(self) -> float:
        """Number of examples, or the sum of their weights."""
        return float(self.totals.get("size", self.n_examples))

    @property
    def n_effective(self) -> float | None:
        """Number of examples of equal weight; None without weights."""
        squares = self.totals.get("size_squares")
        if squares is None or self.n_examples == 1:
            return None
        return self.size**2 / float(squares)

    @property
    def n_drawn(self) -> float:
        """Number of clusters, or of examples of equal weight."""
        if self.clusters is not None:
            return self.clusters["old"].n_clusters
        return self.n_effective or self.n_examples

    @property
    def value(self) -> float:
        """Mean over the examples."""
        value = float(self.totals["total"]) / self.size
        return 0.0 if abs(value) < 1e-12 else value  # what rounding leaves of a difference

    def estimate(self, name: str, level: Level = PLAIN) -> Estimate:
        """Return the mean of the quantity of this name, with its interval.

        The level is that of a figure that is judged: a difference.
        """
        if name.endswith(("_beyond", "_change")) and not name.endswith("_no_change"):
            return self.difference(level, is_distance=name.endswith("_beyond"))
        if name in OWN:
            return estimate(self.statistic(name))
        if name.endswith("_no_change") and 1 in self.n_runs.values():
            return estimate(self._own("new" if self.n_runs["old"] == 1 else "old", "log"))
        return self._rate()

    def statistic(self, name: str) -> MeanOverExamples:
        """Return the quantity of one version by its name, as `measure` has it."""
        return self._own(OWN[name], SCALES.get(name, "log"))

    def difference(self, level: Level, *, is_distance: bool = True) -> Estimate:
        """Return the interval of a difference of shares.

        A distance between votes, such as the flips beyond noise, is skewed upward.
        """
        value = self.value
        contrast = self._contrast(is_log=False)
        if self.largest == 1.0 and not is_distance:
            # Half an example in each direction, as in a comparison of arms.
            drawn, clusters = contrast.example_variance, None
            step = 1 / min(self.n_runs.values()) if self.is_small else 1.0
            if self.clusters is not None:
                clusters = self.clusters["old"].whole / self.clusters["old"].n_examples
            unseen = unseen_variance(
                drawn, self._noise(drawn), n_drawn=self.n_drawn, step=step, clusters=clusters
            )
            df = min(contrast.example_df, max(self.n_drawn - 1, 1))
            contrast = replace(contrast, example_variance=drawn + unseen, example_df=df)
        above = below = contrast.half_width(level)
        if is_distance and self._has_single_run:
            below = self._careful(contrast).half_width(replace(level, tail=level.tail / 5))
        if self.largest is None:
            has_width = above > 0.0
            ends = (value - below, value + above, contrast.over) if has_width else ()
            return Estimate(value, *ends)
        if above == 0.0:  # no run saw any example differently
            above = below = 1 - level.example_tail ** (1 / self.n_drawn)
        low, high = max(value - below, -1.0), min(value + above, 1.0)
        return Estimate(value, low, high, contrast.over)

    @property
    def _has_single_run(self) -> bool:
        """True if a version has one run, and the other shows how much a run varies."""
        return "swapped" in self.totals and 1 in self.n_runs.values() and not self.are_trials

    def _careful(self, contrast: Contrast) -> Contrast:
        """Return a contrast with a larger variance of its single run.

        Half the skewness is added to its standard deviation. Together with a fifth of the tail that
        keeps false verdicts below 4 % in simulations of five runs and more, where Student's
        quantile alone gives up to 10 %.
        """
        factor = (1 + upward_skewness(self.totals["swapped"]) / 2) ** 2
        return replace(contrast, run_variance=factor * contrast.run_variance)

    def _rate(self) -> Estimate:
        value = self.value
        largest = np.inf if self.largest is None else self.largest
        if not 0.0 < value < largest:
            return estimate(self._own(None, "log"))
        contrast = self._contrast(is_log=True)
        half_width = contrast.half_width(PLAIN)
        low, high = np.exp(np.log(value) + half_width * np.array([-1, 1]))
        return Estimate(value, float(low), min(float(high), largest), contrast.over)

    def _contrast(self, *, is_log: bool) -> Contrast:
        """Variances over runs and examples, on the scale of the interval."""
        value = self.value
        slope = 1 / value if is_log else 1.0
        if self._has_single_run:
            runs, counted, df = self._single_run()
        else:
            runs, counted, df = self._left_out(is_log=is_log)
        own = self._own(None, "log")
        drawn, example_df = own.example_variance * slope**2, drawn_df(own)
        if df == 0:
            over = over_drawn(own, has_runs=False)
            return Contrast(value, 0.0, np.inf, drawn, over=over, example_df=example_df)
        counted, over = counted * slope**2, over_drawn(own)
        return Contrast(value, runs, df, drawn, counted, over=over, example_df=example_df)

    def _left_out(self, *, is_log: bool) -> tuple[float, float, int]:
        """Variance over runs, its part in the variance over examples, and degrees of freedom."""
        several = [version for version, n_runs in self.n_runs.items() if n_runs > 1]
        too_few = any(v not in self.totals or self.n_runs[v] < LEAST_RUNS for v in several)
        if self.are_trials or too_few:
            return 0.0, 0.0, 0
        runs = counted = 0.0
        for version in several:
            without = self.totals[version] / self.size
            if is_log:
                without = np.log(np.maximum(without, 0.5 * min(1 / self.n_examples, self.value)))
            runs += jackknife_variance(without)
            counted += self._interaction(version)
        return runs, counted, min(self.n_runs[version] for version in several) - 1

    def _single_run(self) -> tuple[float, float, int]:
        """The same if a version has one run, assumed to vary like the runs of the other version.

        The quantity with each run of the other version in its place shows how much one run varies;
        the factor corrects for one run fewer in the other version.
        """
        without = self.totals["swapped"] / self.size
        n_runs = len(without)
        factor = ((n_runs - 1) / n_runs) ** 2 * (1 + 1 / n_runs)
        counted = factor * self._interaction("swapped")
        return factor * float(without.var(ddof=1)), counted, n_runs - 1

    def _noise(self, drawn: float) -> float:
        """Part of the variance from drawing examples that is noise of runs: all if unknown."""
        if any(n_runs < LEAST_RUNS for n_runs in self.n_runs.values()):
            return drawn
        return sum(self._interaction(version) for version in self.n_runs)

    def _interaction(self, part: str) -> float:
        """Part of the variance from drawing examples that the variance over runs counts as well."""
        if self.clusters is None:
            return float(self.totals[f"{part}_interaction"]) / self.size**2
        residuals = self.clusters[part]
        counted, n_runs = residuals.jackknife_covariance(residuals), len(residuals.without)
        # Single runs in place of each other, not means without a run.
        return counted * n_runs / (n_runs - 1) ** 2 if part == "swapped" else counted

    def _example_variance(self) -> float:
        if self.clusters is not None:
            residuals = self.clusters["old"]
            return residuals.example_covariance(residuals)
        n, value, squares = self.n_drawn, self.value, float(self.totals["squares"])
        if self.n_examples < 2:
            return 0.0
        if self.n_effective is None:
            return max(squares / n - value**2, 0.0) / (n - 1)
        # Of residuals, as in `WeightedMoments`.
        products, weights = (float(self.totals[f"size_{x}"]) for x in ("products", "squares"))
        squares += value * (value * weights - 2 * products)
        return max(squares, 0.0) / self.size**2 * n / (n - 1)

    def _own(self, version: str | None, scale: Scale) -> MeanOverExamples:
        """Quantity that depends on the runs of one version only, as `measure` has it."""
        n, without, interaction = self.n_examples, None, 0.0
        has_runs = not self.are_trials and self.n_runs.get(version or "", 0) >= LEAST_RUNS
        if version is not None and version in self.totals and has_runs:
            without = self.totals[version] / self.size
            interaction = self._interaction(version)
        return MeanOverExamples(
            self.value,
            n,
            without,
            self._example_variance(),
            interaction,
            scale=scale,
            largest=self.largest,
            is_count=self.largest is not None,
            is_small=self.is_small,
            clusters=None if self.clusters is None else self.clusters[version or "old"],
            n_effective=self.n_effective,
        )
