"""Figures of one arm by loops, scipy and scikit-learn: means, spreads, and counts."""

import math
from itertools import combinations
from typing import Any

import numpy as np

from truth.inputs import Case
from truth.oracle_means import Array, Mean, interval, mean_of, spread
from truth.oracle_quantities import (
    of_probabilities,
    quantities_of,
    scores_by_run,
    unlike,
)

Figures = dict[str, dict[str, Any]]


# ----------------------------------------------------------------------------- parts


def answers_of(case: Case, arm: str, n_runs: int | None = None) -> Array:
    """Return the answers of one arm: (runs, examples, …), over trials and judges of a run."""
    values, shape = case.values[arm], case.shapes[arm]
    if case.kind == "texts":
        return values[:n_runs]
    if shape.judges > 1:  # trials that all judges have graded
        values = values.reshape(shape.trials, shape.judges, -1).mean(axis=1)
    elif shape.runs > 1 and shape.trials > 1:
        values = values.reshape(shape.runs, shape.trials, *values.shape[1:]).mean(axis=1)
    return values[:n_runs]


def is_whole(name: str, data: Array) -> bool:
    """Return whether a metric needs all runs, so that none can be left out."""
    return name in {f"pass^{len(data)}", f"pass@{len(data)}"}


def means_of(case: Case, arm: str, n_runs: int | None = None) -> dict[str, Mean]:
    """Return the metrics of an arm that are means over examples."""
    data, shape = answers_of(case, arm, n_runs), case.shapes[arm]
    n = shape.examples
    options: dict[str, Any] = {
        "clusters": case.clusters[:n] if "cluster" in case.roles else None,
        "weights": case.weights[:n] if "weight" in case.roles else None,
        # Trials of lists and sets count as runs: ARCHITECTURE.md has numbers and texts alone.
        "are_trials": shape.runs == 1 and case.kind not in {"rankings", "sets"},
    }
    quantities = quantities_of(case)
    if (shape.trials > 1 and shape.runs > 1) or shape.judges > 1:
        # Errors are of single answers, and what differs between answers is of each run.
        quantities = {name: q for name, q in quantities.items() if name in {"mean", "bias"}}
    if shape.judges > 1:
        by_judge = case.values[arm].reshape(shape.trials, shape.judges, -1)
        options["judges"] = [
            np.delete(by_judge, judge, axis=1).mean(axis=1) for judge in range(shape.judges)
        ]
    figures = {}
    for name, quantity in quantities.items():
        classes = data.argmax(axis=2) if case.kind == "probs" else data
        figures[name] = mean_of(
            quantity,
            classes,
            **{**options, **({"are_trials": True} if is_whole(name, data) else {})},
        )
    if case.kind == "probs":
        for name, quantity in of_probabilities(case).items():
            figures[name] = mean_of(quantity, data, **options)
    return figures


def _estimate(value: float, ends: tuple[float, float, str] | None) -> dict[str, Any]:
    if ends is None:
        return {"value": value}
    return {"value": value, "low": ends[0], "high": ends[1], "over": ends[2]}


# --------------------------------------------------------------------------- measure


def measured(case: Case, arm: str = "old") -> Figures:
    """Measure one arm: means over examples, spreads over runs, and counts."""
    if case.kind == "texts" and len(case.levels) > 1:
        return {}
    figures = {
        name: _estimate(mean.value, interval(mean)) for name, mean in means_of(case, arm).items()
    }
    if case.kind == "passes" and case.shapes[arm].runs > 1:
        # Its upper end allows for runs that differ as a whole, by a fitted power.
        figures.get("flip_rate", {}).pop("high", None)
    figures |= _spreads(case, arm)
    figures |= _counts(case, arm)
    return {f"metrics.{name}": fields for name, fields in figures.items()}


def _spreads(case: Case, arm: str) -> Figures:
    shape = case.shapes[arm]
    if shape.runs == 1 or case.roles:
        return {}
    data = answers_of(case, arm)
    if shape.trials > 1 and case.kind == "numbers":
        return {}
    figures: Figures = {}
    for name, values in scores_by_run(case, data).items():
        largest = (
            1.0 if case.kind not in {"numbers", "scores", "passes"} and name != "nll" else math.inf
        )
        sd, ends = spread(values, largest=largest)
        if case.kind != "texts" or name != "accuracy":
            figures[f"{name}_sd"] = _estimate(sd, None if ends is None else (*ends, "runs"))
        if (
            name not in {"mean", "mae", "bias", "accuracy", "rmse", "nll"}
            and "@" not in name
            and name != "mrr"
        ):
            figures[name] = {"value": float(values.mean())}
    return figures


def _counts(case: Case, arm: str) -> Figures:
    """Return figures of pairs of runs that have no interval."""
    if case.kind not in {"labels", "probs", "texts"} or len(case.levels) > 1:
        return {}
    data = answers_of(case, arm)
    classes = data.argmax(axis=2) if case.kind == "probs" else data
    n = classes.shape[1]
    pairs = [
        math.fsum(unlike(x, y) for x, y in zip(first, second, strict=True)) / n
        for first, second in combinations(classes, 2)
    ]
    alike = [len(set(column.tolist())) == 1 for column in classes.T]
    figures: Figures = {
        "ambiguity": {"value": 1 - sum(alike) / n},
        "discrepancy": {"value": max(pairs)},
    }
    if case.kind in {"labels", "probs"}:
        shares = [[(run == k).mean() for k in range(3)] for run in classes]
        gaps = [
            sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2
            for a, b in combinations(shares, 2)
        ]
        figures["net_flip_rate"] = {"value": sum(gaps) / len(gaps)}
    return figures
