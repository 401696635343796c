"""Figures, effects and arrays as plain data of few digits."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate

# As many digits as anybody reads; the records have all of them.
DIGITS = 6


def plain_effects(effects: Mapping[str, Effect]) -> dict[str, dict[str, Any]]:
    """What `Effect` takes beside the metric's name, for each metric."""
    return {name: plain_effect(one) for name, one in effects.items()}


def plain_effect(effect: Effect) -> dict[str, Any]:
    """What `Effect` takes beside the metric's name and the note."""
    return {
        "scale": effect.scale,
        "value": short(effect.value),
        "low": short(effect.low),
        "high": short(effect.high),
        "over": effect.over,
        "detectable": short(effect.detectable),
        "verdict": effect.verdict,
    }


def plain_figures(estimates: Mapping[str, Estimate]) -> dict[str, list[float | None]]:
    """Value, low and high of each; a figure without an interval has its value alone."""
    return {name: plain_figure(one) for name, one in estimates.items()}


def plain_figure(estimate: Estimate) -> list[float | None]:
    """Value, low and high; without an interval the value alone."""
    if estimate.low is None:
        return [short(estimate.value)]
    return [short(value) for value in (estimate.value, estimate.low, estimate.high)]


def plain_array(values: npt.NDArray[Any]) -> Any:  # noqa: ANN401 - nested lists
    """Lists of short numbers; None is not a number."""
    if values.ndim > 1:
        return [plain_array(row) for row in values]
    if values.dtype.kind == "i":
        return values.tolist()
    return [None if np.isnan(value) else short(float(value)) for value in values]


def short(value: float | None) -> float | None:
    """A number with few digits; None for what no number says."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")
