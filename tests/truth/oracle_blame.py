"""Parts of the variance of numbers: the analysis of variance in every textbook, by loops."""

import math
from typing import Any

import numpy as np

from truth.inputs import Case

Figures = dict[str, dict[str, Any]]


def blamed(case: Case) -> Figures:
    """Return the parts of one level of repetition: repeats, examples, and the rest.

    Of runs × examples, expected mean squares are n·run + rest and R·example + rest. No trial is
    better than another on all examples, so that trials have no part of their own.
    """
    if case.kind not in {"numbers", "scores", "passes"} or case.roles or len(case.levels) > 1:
        return {}
    data, are_trials = case.values["old"], case.levels == ("trial",)
    n_repeats, n = data.shape
    mean = data.mean()
    of_runs = math.fsum((x - mean) ** 2 for x in data.mean(axis=1)) * n / (n_repeats - 1)
    of_examples = math.fsum((x - mean) ** 2 for x in data.mean(axis=0)) * n_repeats / (n - 1)
    total = math.fsum((x - mean) ** 2 for x in data.ravel())
    squares = total - of_examples * (n - 1) - of_runs * (n_repeats - 1)
    rest = squares / ((n - 1) * (n_repeats - 1))
    parts = {
        "variance_example": max((of_examples - rest) / n_repeats, 0.0),
        "variance_residual": rest,
    }
    counts = {"variance_example": n, "variance_residual": n * n_repeats}
    if not are_trials:
        parts["variance_run"] = max((of_runs - rest) / n, 0.0)
        counts["variance_run"] = n_repeats
    unit = case.levels[0]
    errors = {name: part / counts[name] for name, part in parts.items()}
    squared = math.fsum(errors.values())
    figures: Figures = {"all": {"standard_error": math.sqrt(squared)}}
    for name, part in parts.items():
        figures[f"parts.{name}"] = {"sd": math.sqrt(part), "of_mean": errors[name] / squared}
        figures[f"parts.{name}.share"] = {"value": part / math.fsum(parts.values())}
    for more, halved in (
        ("example", ("variance_example", "variance_residual")),
        (unit, ("variance_run", "variance_residual")),
    ):
        less = math.fsum(x / 2 if name in halved else x for name, x in errors.items())
        figures[f"more.{more}"] = {"narrower": 1 - math.sqrt(less / squared)}
    return {name: x for name, x in figures.items() if np.isfinite(list(x.values())).all()}
