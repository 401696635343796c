"""Shares of the distance between runs that each source of randomness causes.

Two runs disagree on an example with the probability Σ_k Var(1[prediction = k]). So disagreement is
a variance, as half a squared difference is, and its shares are Sobol' indices (Saltelli et al.
2010, Computer Physics Communications 181:259): with δ_S the distance of runs that share exactly
the sources S, the first-order share of X is 1 − δ_{X}/δ_∅, and its total share δ_{all but X}/δ_∅.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from seedproof.seeds.seed_design import NOTHING, SeedDesign, Sources
from seedproof.stats.intervals import PLAIN, jackknife_variance
from seedproof.typing import FloatArray

# The fewest blocks for a jackknife over them.
LEAST_BLOCKS = 5
# A share whose interval is wider than this, ±0.25, is not resolved.
WIDEST = 0.5


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95 % interval over blocks of runs, for these examples.

    A true share is in [0, 1]. An estimate beyond, which chance can give, is cut off there, and its
    interval is that of a share at the limit: half as wide, and never empty. So first-order shares
    and interaction need not add up to 1.
    """

    value: float
    low: float | None = None  # None with fewer than 5 blocks
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}] over blocks"

    @property
    def may_be_none(self) -> bool:
        """True if the share is not distinguishable from 0."""
        return self.low == 0.0

    @property
    def is_resolved(self) -> bool:
        """True if the interval is at most ±0.25 wide."""
        return self.low is not None and self.high is not None and self.high - self.low <= WIDEST

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"is_resolved": self.is_resolved}


@dataclass(frozen=True)
class Shares:
    """Contribution of each source to the distance between runs."""

    apart: float  # distance of two runs that share no source
    # What fixing a source alone removes; None if no two runs share it alone.
    first: Mapping[str, Share | None]
    # What is left if it alone varies; None if no two runs differ in it alone.
    total: Mapping[str, Share | None]
    interaction: Share | None  # 1 less all first-order shares
    # The source whose total share exceeds each other one by more than chance; None if not shown.
    most: str | None

    def summary(self) -> dict[str, Any]:
        """Return plain data."""

        def plain(share: Share | None) -> dict[str, Any] | None:
            return None if share is None else share.summary()

        return {
            "apart": self.apart,
            "first": {source: plain(share) for source, share in self.first.items()},
            "total": {source: plain(share) for source, share in self.total.items()},
            "interaction": plain(self.interaction),
            "most": self.most,
        }


def shares_of(matrix: FloatArray, design: SeedDesign) -> Shares | None:
    """Return the contribution of each source; None if runs that share no seed never differ."""
    unshared = design.distance(matrix, NOTHING)
    if unshared is None or not unshared[0] > 0.0:
        return None

    def ratio(shared: Sources) -> FloatArray | None:
        distance = design.distance(matrix, shared)
        with np.errstate(divide="ignore", invalid="ignore"):
            return None if distance is None else distance / unshared

    every = frozenset(design.sources)
    fixed = {name: ratio(frozenset({name})) for name in design.sources}
    first = {name: None if left is None else 1 - left for name, left in fixed.items()}
    total = {name: ratio(every - {name}) for name in design.sources}
    known = [share for share in first.values() if share is not None]
    return Shares(
        apart=float(unshared[0]),
        first={name: _share(values) for name, values in first.items()},
        total={name: _share(values) for name, values in total.items()},
        interaction=_share(1 - np.sum(known, axis=0)) if len(known) == len(first) else None,
        most=_most(total),
    )


def _share(values: FloatArray | None) -> Share | None:
    """Share with its jackknife interval, from all blocks and with each left out."""
    if values is None:
        return None
    value, half_width = min(max(float(values[0]), 0.0), 1.0), _half_width(values)
    if half_width is None:
        return Share(value)
    return Share(value, max(value - half_width, 0.0), min(value + half_width, 1.0))


def _half_width(values: FloatArray) -> float | None:
    without = values[1:]
    if len(without) < LEAST_BLOCKS or not np.isfinite(without).all():
        return None
    return PLAIN.student(len(without)) * float(np.sqrt(jackknife_variance(without)))


def _most(total: Mapping[str, FloatArray | None]) -> str | None:
    known = {name: values for name, values in total.items() if values is not None}
    if len(known) < len(total):
        return None
    largest = max(known, key=lambda name: known[name][0])
    for name, values in known.items():
        ahead = known[largest] - values
        half_width = _half_width(ahead)
        if name != largest and (half_width is None or ahead[0] <= half_width):
            return None
    return largest
