"""`sp.calibrate`: probabilities at their best temperature, before and after."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from seedproof.api.scratch import scratch_folder
from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.comparison.calibration.temperature import CalibratedShards, fit_temperatures
from seedproof.engines import Engine
from seedproof.errors import OptionError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.selection import check_allowed, check_decides, known_metrics
from seedproof.predictions.options import LoadOptions
from seedproof.predictions.predictions import Loadable, Predictions, load
from seedproof.predictions.targets import is_store
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.reader import Store
from seedproof.report.calibration import CalibrationReport, notes_on_temperatures

# A temperature changes probabilities, and no answer.
METRICS = ("ece_corrected", "nll", "brier", "probability_sd", "predictive_js")


def calibrate(
    target: Loadable,
    *,
    on: str | os.PathLike[str] | Loadable,
    metrics: Sequence[str] | None = None,
    engine: str | Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    **options: Unpack[LoadOptions],
) -> CalibrationReport:
    """Scale the probabilities of each run by a temperature, and compare before and after.

    The temperature of a run divides its logits. It is the one that makes the gold classes of a
    held-out split most likely, and it depends on how frequent the classes are there.

    Args:
        target: Probabilities of at least two runs with labels, as `sp.measure` takes them.
        on: The held-out examples: a split of the same store, or predictions of the same runs.
        metrics: Names of the metrics to compare. If omitted, calibration errors, losses, and
            how far the probabilities of two runs are apart.
        engine: Where the work is done: `serial`, `processes`, or `ray`. Figures are the same.
        workers: Number of shards at a time, with processes or ray.
        address: An existing Ray cluster, such as "auto".
        **options: How both are read: `labels`, `ids`, `classes` and others, see `sp.LoadOptions`.

    Returns:
        A comparison of the calibrated runs with the raw ones, paired, and the temperatures.

    Raises:
        InputError: The predictions cannot be calibrated; the message says why and what to do.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> rng = np.random.default_rng(0)
        >>> logits = rng.normal(size=(5, 400, 2)) / 4 + rng.normal(size=(400, 2))
        >>> labels = (
        ...     rng.random(400) < 1 / (1 + np.exp(logits[0, :, 0] - logits[0, :, 1]))
        ... ) * 1
        >>> sharp = np.exp(3 * logits) / np.exp(3 * logits).sum(axis=2, keepdims=True)
        >>> dev = sp.Predictions.load(sharp[:, :200], labels=labels[:200])
        >>> test = sp.Predictions.load(sharp[:, 200:], labels=labels[200:])
        >>> report = sp.calibrate(test, on=dev)
        >>> all(temperature > 2 for temperature in report.temperatures.values())
        True
        >>> report.effect("calibrated", "nll").verdict
        'better'
    """
    parse_memory(options.get("memory", "2GB"))
    requested = known_metrics(metrics)
    check_decides((requested or ())[:1])  # the first one is the primary metric
    pool = measuring_engine(engine, workers=workers, address=address)
    predictions = load(target, options, least_runs=2)
    fitted = _held_out(target, predictions, on, options)
    check_allowed(requested, predictions.source)
    temperatures = fit_temperatures(fitted.source)
    place = {name: index for index, name in enumerate(fitted.runs)}
    ordered = temperatures.values[[place[run] for run in predictions.runs]]
    raw = ArmData(
        "raw",
        predictions.source,
        predictions.runs,
        notes=predictions.notes,
        checks=predictions.read_checks,
        clusters=predictions.clusters,
    )
    calibrated = replace(
        raw, name="calibrated", source=CalibratedShards(predictions.source, ordered)
    )
    with scratch_folder() as scratch:
        result = compare_arms(
            [raw, calibrated],
            Location.of(scratch),
            metrics=requested or METRICS,
            primary=requested[0] if requested else METRICS[0],
            skip_damaged=options.get("skip_damaged", False),
            engine=pool,
            progress=options.get("progress"),
        )
    notes = notes_on_temperatures(
        temperatures, fitted.source.classes, _prior(predictions), on=_name(on)
    )
    by_run = dict(zip(predictions.runs, ordered.tolist(), strict=True))
    return CalibrationReport(replace(result, notes=(*notes, *result.notes)), by_run, scratch)


def _held_out(
    target: Loadable,
    predictions: Predictions,
    on: str | os.PathLike[str] | Loadable,
    options: LoadOptions,
) -> Predictions:
    """Return the predictions that temperatures are fitted on."""
    has_splits = isinstance(target, Store) or (
        isinstance(target, str | os.PathLike) and is_store(target)
    )
    if has_splits and isinstance(on, str) and not Path(on).exists():
        if on == predictions.source.split:
            raise OptionError(
                "Temperatures are fitted on {split!r} and measured on {split!r} too. Fit them on "
                "another split.",
                split=on,
            )
        of_split: LoadOptions = {**options, "split": on}
        fitted = load(target, of_split, least_runs=2)
    else:
        fitted = load(on, options, least_runs=2)
    if set(fitted.runs) != set(predictions.runs):
        others = sorted({*fitted.runs} ^ {*predictions.runs})
        raise OptionError(
            "Temperatures belong to runs, and run {run!r} is in only one of the two inputs. Pass "
            "the same runs.",
            run=others[0],
        )
    if fitted.source.classes != predictions.source.classes:
        raise OptionError(
            "The classes differ: {fitted} where temperatures are fitted, {measured} where they "
            "are measured. Name all of them with `{option}`.",
            option="classes",
            fitted=fitted.source.classes,
            measured=predictions.source.classes,
        )
    return fitted


def _prior(predictions: Predictions) -> np.ndarray:
    """Return the share of each class among the labeled examples."""
    source = predictions.source
    counts = np.zeros(len(source.classes), dtype=np.int64)
    for index in range(source.n_shards):
        gold = source.shard(index).gold
        counts += np.bincount(gold[gold >= 0], minlength=len(counts))
    return counts / max(int(counts.sum()), 1)


def _name(on: Any) -> str | None:  # noqa: ANN401 - any input
    """Return the name of the held-out examples, if they have any."""
    return os.fspath(on) if isinstance(on, str | os.PathLike) else None
