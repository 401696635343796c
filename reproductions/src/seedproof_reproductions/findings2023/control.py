"""The control by itself: whether one run can stand in for many, and the data of the charts."""

from typing import Any

import numpy as np

from seedproof.measurement.dynamics.correlation import (
    fisher_interval,
    fisher_slope,
    fisher_z,
    moved_by_each,
    standardized,
)
from seedproof.measurement.dynamics.measure import measure_dynamics
from seedproof.measurement.dynamics.pictures import EntropyMap
from seedproof.measurement.dynamics.result import DynamicsMeasurement
from seedproof.metrics.confidence import probability_sd
from seedproof.metrics.statistic import ExampleValues
from seedproof.records.reader import StoreShards
from seedproof.stats.intervals import Estimate, jackknife_variance
from seedproof.typing import FloatArray, IntArray
from seedproof_reproductions.findings2023.comparison import entropies_over
from seedproof_reproductions.findings2023.single_runs import Predictions
from seedproof_reproductions.results import plain_array, plain_figure

N_CELLS = 20
MAP_COLUMNS = 40
# How well one run predicts the others, and how well as many other runs would.
STAND_IN = {
    "pearson": "single_run_pearson",
    "precision": "single_run_precision",
    "reference": "other_runs_pearson",
}


def plain_control(source: StoreShards, predictions: Predictions) -> dict[str, Any]:
    """Return figures and chart data of the control: counts in cells, never single examples."""
    probs = _gold_probs(source)
    entropies, spreads = entropies_over(predictions.final), probability_sd(probs)
    measured = None
    if predictions.traces is not None:
        measured = measure_dynamics(predictions.traces, source.runs, n_measured=source.n_examples)
    sigma = correlation(entropies, spreads)
    confidences = np.clip(probs.mean(axis=0), 0.0, 1.0)
    return {
        "stand_in": None if measured is None else _stand_in(measured),
        "sigma": None if sigma is None else {"pearson": plain_figure(sigma)},
        "pictures": {
            "entropy_sigma": _cells(entropies.values, spreads.values, _up_to(entropies.values)),
            "one_run_many": None
            if measured is None or measured.entropy_map is None
            else _map_cells(measured.entropy_map) | {"n_runs": len(measured.runs)},
            "map": _cells(confidences, spreads.values, np.linspace(0.0, 1.0, MAP_COLUMNS + 1)),
        },
    }


def correlation(x: ExampleValues, y: ExampleValues) -> Estimate | None:
    """Return Pearson's correlation of two quantities of the same examples.

    Its interval over runs × examples is on the scale of Fisher's z: a jackknife of the runs, and
    the influence of each example. The effect of runs on single examples is in both parts, so it is
    rather wide. None with fewer than three runs, or if one quantity is constant.
    """
    if x.without is None or y.without is None or min(map(np.ptp, (x.values, y.values))) == 0.0:
        return None
    u = standardized(np.vstack([x.values, x.without]))
    v = standardized(np.vstack([y.values, y.without]))
    each = (u * v).mean(axis=1)
    value, n_runs, n = float(each[0]), len(u) - 1, u.shape[1]
    moved = moved_by_each(u[0], v[0], value)
    low, high = fisher_interval(
        value,
        runs=jackknife_variance(fisher_z(each[1:])),
        n_runs=n_runs,
        examples=float(moved @ moved) * (fisher_slope(value) / n) ** 2,
    )
    return Estimate(value, low, high, "runs × examples")


def _gold_probs(source: StoreShards) -> FloatArray:
    """Return the probability that each run gives to the gold label, axes (runs, examples)."""
    gold = []
    for index in range(source.n_shards):
        shard = source.shard(index)
        labels, probs = np.asarray(shard.labels), np.asarray(shard.probs)
        gold.append(np.take_along_axis(probs, labels[None, :, None], axis=2)[..., 0])
    return np.concatenate(gold, axis=1).astype(np.float64)


def _stand_in(measured: DynamicsMeasurement) -> dict[str, Any]:
    estimates = {name: measured.metrics.get(metric) for name, metric in STAND_IN.items()}
    figures = {name: None if e is None else plain_figure(e) for name, e in estimates.items()}
    return {**figures, "n_traced": len(measured.runs), "n_steps": measured.n_steps[1]}


def _up_to(values: FloatArray) -> FloatArray:
    """Return edges of cells from 0 to the largest value."""
    return np.linspace(0.0, float(values.max()) or 1.0, N_CELLS + 1)


def _cells(x: FloatArray, y: FloatArray, x_edges: FloatArray) -> dict[str, Any]:
    """Count the examples per cell; a value on an edge is in the cell above it."""
    y_edges = _up_to(y)
    counts, _, _ = np.histogram2d(y, x, bins=(y_edges, x_edges))
    return _plain_cells(x_edges, y_edges, counts.astype(np.int64))


def _map_cells(entropies: EntropyMap) -> dict[str, Any]:
    tops, n_edges = (entropies.within_top, entropies.over_top), len(entropies.counts) + 1
    x_edges, y_edges = (np.linspace(0.0, top, n_edges) for top in tops)
    cells = _plain_cells(x_edges, y_edges, entropies.counts)
    return cells | {"means": plain_array(entropies.means)}


def _plain_cells(x_edges: FloatArray, y_edges: FloatArray, counts: IntArray) -> dict[str, Any]:
    """Return plain data; axes of the counts are (rows of y, columns of x)."""
    return {"x": plain_array(x_edges), "y": plain_array(y_edges), "counts": plain_array(counts)}
