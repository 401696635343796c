"""Distances between the explanations of two runs, by loops and scipy."""

import math
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from truth.inputs import Case
from truth.oracle_means import Array, Quantity, interval, mean_of
from truth.oracle_quantities import over_pairs


def _shares(scores: Array) -> Array:
    """Return the share of each token, away from 0."""
    raised = np.abs(scores) / np.abs(scores).sum() + 1e-10
    return raised / raised.sum()


def _kl(a: Array, b: Array) -> float:
    p, q = _shares(a), _shares(b)
    return float(stats.entropy(p, q) + stats.entropy(q, p)) / 2


def _js(data: Array) -> Array:
    """Return the entropy of the mean of all runs less their mean entropy, times R / (R − 1)."""
    n_runs = len(data)
    values = []
    for i in range(data.shape[1]):
        rows = [_shares(run[i]) for run in data]
        gap = stats.entropy(np.mean(rows, axis=0)) - np.mean([stats.entropy(x) for x in rows])
        values.append(float(gap) * n_runs / (n_runs - 1))
    return np.array(values)


def _tau(a: Array, b: Array) -> float:
    return float(stats.kendalltau(np.abs(a), np.abs(b)).statistic)


def measured(case: Case) -> dict[str, dict[str, Any]]:
    """Measure the explanations of the old arm."""
    data = case.values["old"]
    top = math.ceil(0.2 * data.shape[2])
    firsts = np.argsort(-np.abs(data), axis=2, kind="stable")[..., :top]
    pairs = list(combinations(range(len(data)), 2))
    shared = [
        len({*firsts[a, i]} & {*firsts[b, i]}) / top for a, b in pairs for i in range(data.shape[1])
    ]
    figures: dict[str, dict[str, Any]] = {
        "explanation_overlap": {"value": float(np.mean(shared))},
        "explanation_tau": {"value": float(over_pairs(_tau)(data).mean())},
    }
    for name, of in (("explanation_kl", over_pairs(_kl)), ("explanation_js", _js)):
        mean = mean_of(Quantity(of), data)
        low, high, over = interval(mean) or (None, None, None)
        figures[name] = {"value": mean.value, "low": low, "high": high, "over": over}
    return {f"attention.{name}": fields for name, fields in figures.items()}
