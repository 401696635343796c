"""Covariance of two arms over examples, as sums of products, for paired intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from seedproof.metrics.statistic import ExampleValues
from seedproof.typing import FloatArray, IntArray


@dataclass(eq=False)
class Cross:
    """Sums of products of one quantity in two arms, in constant memory."""

    is_paired: bool  # run r of both arms has the same seeds
    n_examples: int = 0
    products: float = 0.0
    interaction: float = 0.0
    # Sums of weights, of their squares, and of these times both quantities; None without weights.
    weighted: FloatArray | None = None

    def update(self, base: ExampleValues, arm: ExampleValues) -> None:
        """Add the same batch of both arms."""
        weights, base, arm = base.weights, base.weighted, arm.weighted
        if weights is not None:
            self.add_weights(weights, base.values, arm.values)
        self.n_examples += len(base.whole) + base.n_zeros
        in_base, in_arm = _common(base.places, arm.places)
        self.products += float(base.values[in_base] @ arm.values[in_arm])
        if self.is_paired and base.without is not None and arm.without is not None:
            denominators = base.without_denominator * arm.without_denominator
            covariances = _jackknife_covariances(base.without[:, in_base], arm.without[:, in_arm])
            self.interaction += covariances / denominators

    def add_weights(self, weights: FloatArray, base: FloatArray, arm: FloatArray) -> None:
        """Add the weights of examples, given both quantities times the weight."""
        sums = np.array([weights.sum(), weights @ weights, weights @ base, weights @ arm])
        self.weighted = sums if self.weighted is None else self.weighted + sums

    def merge(self, other: "Cross") -> None:
        """Add other examples."""
        self.n_examples += other.n_examples
        self.products += other.products
        self.interaction += other.interaction
        if other.weighted is not None:
            own = 0.0 if self.weighted is None else self.weighted
            self.weighted = own + other.weighted

    def example_covariance(self, base: float, arm: float) -> float:
        """Return the covariance of the two means from drawing examples."""
        n = self.n_examples
        if n < 2:
            return 0.0
        if self.weighted is None:
            return (self.products / n - base * arm) / (n - 1)
        # Of the residuals of both, as in `WeightedMoments`.
        size, squares, of_base, of_arm = self.weighted.tolist()
        n_effective = size**2 / squares
        products = self.products - base * of_arm - arm * of_base + base * arm * squares
        return float(products / size**2 * n_effective / (n_effective - 1))

    @property
    def interaction_covariance(self) -> float:
        """Part of it that the covariance over runs counts as well."""
        size = self.n_examples if self.weighted is None else float(self.weighted[0])
        return self.interaction / size**2


Places: TypeAlias = IntArray | slice


def _common(base: IntArray | None, arm: IntArray | None) -> tuple[Places, Places]:
    """Positions in each arm of the examples that are listed in both."""
    everywhere = slice(None)
    if base is None:
        return everywhere if arm is None else arm, everywhere
    if arm is None:
        return everywhere, base
    _, in_base, in_arm = np.intersect1d(base, arm, assume_unique=True, return_indices=True)
    return in_base, in_arm


def _jackknife_covariances(base: IntArray | FloatArray, arm: IntArray | FloatArray) -> float:
    """Jackknife covariance over runs of each example's values, summed over examples."""
    n_runs = len(base)
    # Deviations from the first run, as for the variances.
    first, second = ((x - x[0]).astype(np.float64, copy=False) for x in (base, arm))
    products = float(np.einsum("ri,ri->", first, second))
    means = first.sum(axis=0) / n_runs, second.sum(axis=0) / n_runs
    return (n_runs - 1) * (products / n_runs - float(means[0] @ means[1]))


def add_crosses(total: dict[str, Cross], further: Mapping[str, Cross]) -> None:
    """Add the sums over other examples."""
    for name, cross in further.items():
        if name in total:
            total[name].merge(cross)
        else:
            total[name] = cross


def crosses(
    base: Mapping[str, ExampleValues], arm: Mapping[str, ExampleValues], *, is_paired: bool
) -> dict[str, Cross]:
    """Return the sums over one batch, for each quantity that both arms have."""
    sums = {
        name: Cross(is_paired)
        for name in base
        if name in arm and _are_of_same_examples(base[name], arm[name])
    }
    for name, cross in sums.items():
        cross.update(base[name], arm[name])
    return sums


def _are_of_same_examples(base: ExampleValues, arm: ExampleValues) -> bool:
    """Return whether no example is in one mean alone; such means are not compared."""
    is_subset = base.is_subset or arm.is_subset
    return not is_subset or len(base.whole) == len(arm.whole)
