"""Items that some runs show more often than others."""

from dataclasses import dataclass

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.stats.distributions import chi_square_quantile

# Chance that any item is reported although its exposure varies by independent changes alone.
FALSE_ALARM = 0.05


@dataclass(frozen=True)
class ItemExposure:
    """Shares of the examples that an item is shown to.

    Args:
        item: Its name.
        by_run: The share of each run.
        independent_sd: Standard deviation over runs if examples changed independently.
        is_beyond: Whether the shares vary by more than that, among as many items as there are.
    """

    item: str
    by_run: tuple[float, ...]
    independent_sd: float
    is_beyond: bool

    @property
    def sd(self) -> float:
        """Standard deviation over runs."""
        return float(np.std(self.by_run, ddof=1))


def exposures(measurement: Measurement) -> tuple[ItemExposure, ...]:
    """Return the items whose exposure varies most beyond independent changes, if it is known."""
    detail, n_runs = measurement.detail, measurement.n_runs
    if "exposure_by_run" not in detail:
        return ()
    n_varied = max(int(detail["n_items_varied"][0]), 1)
    limit = chi_square_quantile(n_runs - 1, 1 - FALSE_ALARM / n_varied) / (n_runs - 1)
    return tuple(
        ItemExposure(
            item,
            tuple(by_run.tolist()),
            float(alone),
            is_beyond=bool(by_run.var(ddof=1) > limit * alone**2),
        )
        for item, by_run, alone in zip(
            measurement.classes,
            detail["exposure_by_run"].T,
            detail["exposure_sd_independent"],
            strict=True,
        )
    )
