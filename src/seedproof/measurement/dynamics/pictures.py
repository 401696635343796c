"""What the charts of dynamics are drawn from: counts and means, never single examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedproof.measurement.dynamics.watched import Watched
from seedproof.records.dynamics import Curve
from seedproof.typing import FloatArray, IntArray

N_CELLS = 20


@dataclass(frozen=True, eq=False)
class EntropyMap:
    """Entropies within a run (across) against those over the other runs (up), in cells.

    An example counts once for each traced run.

    Args:
        within_top: Upper limit of the last column, nats; all columns are equally wide.
        over_top: Upper limit of the last row, nats; all rows are equally high.
        counts: Axes (rows, columns).
        means: Mean entropy over the other runs in each column; NaN where a column is empty.
        errors: Its standard error over examples; NaN with fewer than two examples.
    """

    within_top: float
    over_top: float
    counts: IntArray
    means: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, watched: Watched) -> "EntropyMap":
        """Counts and means over all traced runs."""
        within_top = float(watched.entropies.max()) or 1.0
        over = [_over(watched, int(run_idx)) for run_idx in watched.traced]
        over_top = max(float(values.max()) for values in over) or 1.0
        counts = np.zeros((N_CELLS, N_CELLS), dtype=np.int64)
        sums, squares = np.zeros(N_CELLS), np.zeros(N_CELLS)
        for within, values in zip(watched.entropies, over, strict=True):
            column = _cells(within, within_top)
            all_rows = np.zeros(watched.n_examples, dtype=np.int64)
            all_rows[watched.contested] = _cells(values, over_top)
            cell = all_rows * N_CELLS + column
            counts += np.bincount(cell, minlength=N_CELLS**2).reshape(N_CELLS, N_CELLS)
            column = column[watched.contested]
            sums += np.bincount(column, weights=values, minlength=N_CELLS)
            squares += np.bincount(column, weights=values**2, minlength=N_CELLS)
        n = counts.sum(axis=0)
        means = np.where(n > 0, sums / np.maximum(n, 1), np.nan)
        variances = np.maximum(squares / np.maximum(n, 1) - means**2, 0.0)
        # Traced runs share their examples: they count as if there was one run.
        independent = n / len(watched.traced)
        errors = np.sqrt(variances / np.maximum(independent - 1, 1e-300))
        return cls(within_top, over_top, counts, means, np.where(independent >= 2, errors, np.nan))

    def summary(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "within_top": self.within_top,
            "over_top": self.over_top,
            "counts": self.counts.tolist(),
            "means": _plain(self.means),
            "errors": _plain(self.errors),
        }

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "EntropyMap":
        """What `summary` gave."""
        return cls(
            summary["within_top"],
            summary["over_top"],
            np.array(summary["counts"], dtype=np.int64),
            np.array(summary["means"], dtype=np.float64),
            np.array(summary["errors"], dtype=np.float64),
        )


@dataclass(frozen=True, eq=False)
class CumulativeCurve:
    """Mean entropy of the labels so far, over the steps of the traced runs.

    Args:
        steps: After how many updates.
        mean: Over traced runs, nats.
        low: The lowest of them.
        high: The highest of them.
    """

    steps: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> "CumulativeCurve | None":
        """The mean of several curves, as far as the shortest of them goes.

        At the steps of the shortest; None without a curve.
        """
        if not curves:
            return None
        steps = np.array(min(curves, key=lambda curve: curve.steps[-1]).steps, dtype=np.float64)
        values = np.stack([np.interp(steps, curve.steps, curve.entropies) for curve in curves])
        return cls(steps, values.mean(axis=0), values.min(axis=0), values.max(axis=0))

    def summary(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name).tolist() for name in ("steps", "mean", "low", "high")}

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "CumulativeCurve":
        """What `summary` gave."""
        return cls(**{name: np.array(values, np.float64) for name, values in summary.items()})


def _over(watched: Watched, run_idx: int) -> FloatArray:
    """Entropy over the other runs, of the examples on which runs differ."""
    return np.array(watched.entropies_without(run_idx)[run_idx])


def _cells(values: FloatArray, top: float) -> IntArray:
    return np.minimum((values * (N_CELLS / top)).astype(np.int64), N_CELLS - 1)


def _plain(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
