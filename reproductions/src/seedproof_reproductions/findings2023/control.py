"""The control by itself: whether one run can stand in for many, and the data of the charts."""

from typing import Any

import numpy as np

from seedproof.metrics.confidence import probability_sd
from seedproof.records.reader import StoreShards
from seedproof.typing import FloatArray
from seedproof_reproductions.findings2023.comparison import entropies_over
from seedproof_reproductions.findings2023.single_runs import Predictions
from seedproof_reproductions.findings2023.stand_in import correlation, one_run, other_runs
from seedproof_reproductions.results import plain_array, plain_figure

N_CELLS = 20
MAP_COLUMNS = 40


def plain_control(source: StoreShards, predictions: Predictions) -> dict[str, Any]:
    """Return figures and chart data of the control: counts in cells, never single examples."""
    probs = _gold_probs(source)
    entropies, spreads = entropies_over(predictions.final), probability_sd(probs)
    sigma = correlation(entropies, spreads)
    confidences = np.clip(probs.mean(axis=0), 0.0, 1.0)
    return {
        "stand_in": _stand_in(predictions),
        "sigma": None if sigma is None else {"pearson": plain_figure(sigma)},
        "pictures": {
            "entropy_sigma": _cells(entropies.values, spreads.values, _up_to(entropies.values)),
            "one_run_many": _one_run_many(predictions),
            "map": _cells(confidences, spreads.values, np.linspace(0.0, 1.0, MAP_COLUMNS + 1)),
        },
    }


def _gold_probs(source: StoreShards) -> FloatArray:
    """Return the probability that each run gives to the gold label, axes (runs, examples)."""
    gold = []
    for index in range(source.n_shards):
        shard = source.shard(index)
        labels, probs = np.asarray(shard.labels), np.asarray(shard.probs)
        gold.append(np.take_along_axis(probs, labels[None, :, None], axis=2)[..., 0])
    return np.concatenate(gold, axis=1).astype(np.float64)


def _stand_in(predictions: Predictions) -> dict[str, Any] | None:
    if predictions.traces is None:
        return None
    estimates = {"pearson": one_run(predictions), "reference": other_runs(predictions.final)}
    figures = {name: None if e is None else plain_figure(e) for name, e in estimates.items()}
    return figures | {"n_traced": predictions.n_traced, "n_steps": predictions.n_steps}


def _one_run_many(predictions: Predictions) -> dict[str, Any] | None:
    """Count examples × traced runs by the entropy within a run and over the others."""
    traces, over = predictions.traces, entropies_over(predictions.final).without
    if traces is None or over is None or not over.any():
        return None
    x, y = traces.entropies.ravel(), over[traces.traced].ravel().astype(np.float64)
    edges = _up_to(x)
    sums, counts = (np.histogram(x, bins=edges, weights=w)[0] for w in (y, None))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return _cells(x, y, edges) | {"means": plain_array(means), "n_runs": predictions.n_traced}


def _up_to(values: FloatArray) -> FloatArray:
    """Return edges of cells from 0 to the largest value."""
    return np.linspace(0.0, float(values.max()) or 1.0, N_CELLS + 1)


def _cells(x: FloatArray, y: FloatArray, x_edges: FloatArray) -> dict[str, Any]:
    """Count the examples per cell, axes (rows of y, columns of x); edges belong to the next."""
    y_edges = _up_to(y)
    counts, _, _ = np.histogram2d(y, x, bins=(y_edges, x_edges))
    cells = {"x": x_edges, "y": y_edges, "counts": counts.astype(np.int64)}
    return {name: plain_array(values) for name, values in cells.items()}
