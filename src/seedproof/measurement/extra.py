"""Metrics of the user's own: one number per run, from its predicted classes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.batch import batch_of
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.statistic import MeanOverRuns, SpreadOverRuns, Statistic
from seedproof.records.levels import refuse_unequal
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource, is_integer
from seedproof.stats.intervals import estimate
from seedproof.typing import FloatArray, IntArray

# Labels first, as in scikit-learn; None if no example has one.
MetricFunction: TypeAlias = Callable[[Any, npt.NDArray[Any]], float]
TAKEN = frozenset({*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES})


def checked_functions(
    extra: Mapping[str, MetricFunction] | None,
) -> Mapping[str, MetricFunction]:
    """Return the functions by name; refuse names that cannot be used before anything is read."""
    extra = extra or {}
    for name, function in extra.items():
        if not str(name).isidentifier():
            raise OptionError(
                "extra has the name {name!r}. Use letters, digits and underscores, such as "
                "'kappa'.",
                name=name,
            )
        spread = f"{name}_sd"
        taken = next((x for x in (name, spread) if x in TAKEN), None)
        taken = spread if taken is None and spread in extra else taken
        if taken is not None:
            raise OptionError(
                "extra has the name {name!r}, but there is already a metric {taken!r}. "
                "Choose another name.",
                name=name,
                taken=taken,
            )
        if not callable(function):
            raise OptionError(
                "extra[{name!r}] is not a function. Pass a function of labels and predictions, "
                "such as sklearn.metrics.cohen_kappa_score.",
                name=name,
            )
    return extra


def with_extra(
    measurement: Measurement, source: ShardSource, extra: Mapping[str, MetricFunction]
) -> Measurement:
    """Add metrics of the user's own to a measurement of the same runs.

    Holds the predicted class of every run and example in memory.
    """
    if not extra:
        return measurement
    refuse_unequal(source.settings, "Metrics of your own are")
    has_numbers = source.kind is Kind.NUMBERS
    labels, predictions = (_numbers if has_numbers else _answers)(source, measurement.left_out)
    statistics: dict[str, Statistic] = {}
    detail = {}
    names = _values_of(measurement.classes)
    gold = labels if labels is None or has_numbers else names[labels]
    for name, function in extra.items():
        by_run = np.array(
            [
                _value(name, function, gold, of_run if has_numbers else names[of_run], run)
                for run, of_run in zip(measurement.runs, predictions, strict=True)
            ]
        )
        statistics[name] = MeanOverRuns(by_run, least=-np.inf)
        statistics[f"{name}_sd"] = SpreadOverRuns(by_run)
        detail[f"{name}_by_run"] = by_run
    return replace(
        measurement,
        metrics={**measurement.metrics, **{name: estimate(x) for name, x in statistics.items()}},
        detail={**measurement.detail, **detail},
        statistics={**measurement.statistics, **statistics},
        notes=(
            *measurement.notes,
            *_notes(tuple(extra), is_weighted=measurement.weights is not None),
        ),
    )


def _notes(names: tuple[str, ...], *, is_weighted: bool) -> Iterator[Message]:
    yield Message(
        "extra-metrics",
        "The intervals of {names} are over runs alone: they do not include that other examples "
        "would give other values.",
        names=names,
    )
    if is_weighted:
        yield Message(
            "extra-metrics-without-weights",
            "Your own metrics get no weights: {names} count every example equally.",
            names=names,
        )


def _answers(source: ShardSource, left_out: Sequence[int]) -> tuple[IntArray | None, IntArray]:
    """Return gold and predicted class indices, of the labeled examples if there are any."""
    source = source.predictions_alone()
    n_classes, is_labeled = len(source.classes), source.n_labeled > 0
    kind = np.min_scalar_type(n_classes)
    labels: list[IntArray] = []
    predictions: list[IntArray] = []
    for index in range(source.n_shards):
        if index in left_out:
            continue
        shard = source.shard(index)
        chosen = shard.gold != UNLABELED if is_labeled else slice(None)
        labels.append(shard.gold[chosen])
        predictions.append(batch_of(shard, n_classes).predictions[:, chosen].astype(kind))
    together = np.concatenate(predictions, axis=1)
    return np.concatenate(labels) if is_labeled else None, together


def _numbers(source: ShardSource, left_out: Sequence[int]) -> tuple[FloatArray | None, FloatArray]:
    """Return targets and numbers, of the examples with a target if there are any."""
    shards = [source.shard(index) for index in range(source.n_shards) if index not in left_out]
    numbers = np.concatenate([np.asarray(shard.numbers) for shard in shards], axis=1)
    if not source.n_labeled:
        return None, numbers
    targets = np.concatenate([np.asarray(shard.targets) for shard in shards])
    is_known = ~np.isnan(targets)
    return targets[is_known], numbers[:, is_known]


def _values_of(classes: Sequence[str]) -> npt.NDArray[Any]:
    """Return class names as a function gets them: integers if all are whole numbers."""
    if all(map(is_integer, classes)):
        return np.array(list(map(int, classes)))
    return np.array(classes)


def _value(
    name: str,
    function: MetricFunction,
    labels: npt.NDArray[Any] | None,
    predictions: npt.NDArray[Any],
    run: str,
) -> float:
    try:
        value = function(labels, predictions)
    except Exception as error:
        hint = " No example has a gold label: labels are None." if labels is None else ""
        raise OptionError(
            "extra[{name!r}] failed on run {run!r} with {type_name}: {error}.{hint}",
            name=name,
            run=run,
            type_name=type(error).__name__,
            error=str(error).rstrip("."),
            hint=hint,
        ) from error
    number = _number(value)
    if number is None:
        raise OptionError(
            "extra[{name!r}] returned {value} on run {run!r}. It must return a finite number.",
            name=name,
            value=repr(value)[:80],
            run=run,
        )
    return number


def _number(value: object) -> float | None:
    """Return a finite number as a float; None for everything else."""
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "iufb" or not math.isfinite(array):
        return None
    return float(array)
