"""Write results to MLflow: a study as a parent run with a nested run per run, with its page."""

import os
import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import pyarrow as pa

from seedproof.api.measure import measure, measure_arms
from seedproof.logs.mlflow import ARM, FINISHED, PARENT, WRITTEN, calls
from seedproof.metrics.statistic import SpreadOverRuns
from seedproof.records.drafts import temporary_folder
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.report.files import write_file
from seedproof.report.report import Report
from seedproof.report.result import Result
from seedproof.scalars.runs import SPREAD
from seedproof.training.study import Study

# Folder of the page and the summary among the artifacts.
FOLDER = "seedproof"
BOUNDS = ("low", "high")
# MLflow allows nothing else in the name of a metric.
NOT_ALLOWED = re.compile(r"[^\w.\- :/]")
# The most that MLflow takes in one call.
MAX_METRICS, MAX_PARAMS = 1_000, 100


def log_report(result: Result, *, experiment: str | None = None) -> str:
    """Log the figures and the page of a result to the active run of MLflow, or to a new run.

    Each figure is a metric, with the bounds of its interval as `_low` and `_high`; figures of
    several arms have the name of the arm in front. The page and the summary are artifacts in the
    folder `seedproof`.

    Args:
        result: A report, a comparison or any other result.
        experiment: Name of the experiment for a new run, which is created if needed. If omitted,
            the active run; without one, a new run of the active experiment.

    Returns:
        The id of the run.

    Raises:
        UnreadableError: MLflow cannot be reached.

    Examples:
        >>> import seedproof as sp
        >>> from seedproof.integrations.mlflow import log_report
        >>> report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]])
        >>> run_id = log_report(report)  # doctest: +SKIP
    """
    with calls() as client:
        import mlflow

        active = mlflow.active_run() if experiment is None else None
        if active is not None:
            _log_result(client, active.info.run_id, result)
            return str(active.info.run_id)
        with mlflow.start_run(experiment_id=_experiment_id(client, experiment), nested=True) as run:
            client.set_tag(run.info.run_id, WRITTEN, "report")
            _log_result(client, run.info.run_id, result)
            return str(run.info.run_id)


def log_study(
    study: Study | str | os.PathLike[str] | Store,
    *,
    experiment: str | None = None,
    split: str | None = None,
) -> str:
    """Log a study to MLflow: a parent run with its figures and page, and a nested run per run.

    Nested runs have the seed and the arm as parameters, all scalars that the run logged, and the
    metrics that every run has, such as its accuracy. `seedproof measure mlflow:ID`, with the id of
    the parent, reads them again.

    Args:
        study: A study, or its store.
        experiment: Name of the experiment, which is created if needed; the active one if omitted.
        split: Split of the store; may be omitted if there is only one.

    Returns:
        The id of the parent run.

    Raises:
        TooFewRunsError: The study has too few finished runs.
        UnreadableError: MLflow cannot be reached.

    Examples:
        >>> import seedproof as sp
        >>> from seedproof.integrations.mlflow import log_study
        >>> parent = log_study("runs", experiment="stability")  # doctest: +SKIP
    """
    place = study.store if isinstance(study, Study) else study
    store = place if isinstance(place, Store) else Store(Location.of(place))
    name = StudyManifest.load(store.location).name
    result: Result
    if len(store.arms()) > 1:
        result = arms = measure_arms(store, split=split)
        reports = dict(arms.items())
    else:
        result = report = measure(store, split=split)
        reports = dict.fromkeys(store.arms(), report)
    own = {arm: _by_run(report) for arm, report in reports.items()}
    with calls() as client:
        import mlflow

        experiment_id = _experiment_id(client, experiment)
        with mlflow.start_run(run_name=name, experiment_id=experiment_id, nested=True) as parent:
            parent_id = str(parent.info.run_id)
            client.set_tag(parent_id, WRITTEN, name)
            _log_result(client, parent_id, result)
            has_names = _are_seeds(store.runs)
            for run in store.runs:
                tags = {PARENT: parent_id, ARM: run.arm}
                child = client.create_run(
                    parent.info.experiment_id, tags=tags, run_name=f"{run.arm} {run.name}"
                )
                seeds = {f"seed_{source}": seed for source, seed in run.seeds.items()}
                params = {ARM: run.arm, **({"seed": run.name} if has_names else {}), **seeds}
                figures = own.get(run.arm, {}).get(run.name, {})
                _log(client, child.info.run_id, {**figures, **run.scalars}, params)
                client.set_terminated(child.info.run_id, FINISHED)
            return parent_id


def _experiment_id(client: Any, name: str | None) -> str | None:  # noqa: ANN401 - mlflow need not be installed
    """Return the id of an experiment, which is created if needed; None for the active one."""
    if name is None:
        return None
    experiment = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if experiment is None else experiment.experiment_id)


def _are_seeds(runs: tuple[RunManifest, ...]) -> bool:
    """Return whether runs of the same name have the same seeds, and others do not."""
    seeds = {run.name: repr(sorted(run.seeds.items())) for run in runs}
    are_equal = all(seeds[run.name] == repr(sorted(run.seeds.items())) for run in runs)
    return are_equal and len(set(seeds.values())) == len(seeds)


def _by_run(report: Report) -> dict[str, dict[str, float]]:
    """Return the metrics that every run has, by the name of the run."""
    measured = report.measurement
    figures: dict[str, dict[str, float]] = {run: {} for run in measured.runs}
    for name, statistic in measured.statistics.items():
        if isinstance(statistic, SpreadOverRuns) and name.endswith(SPREAD):
            for run, value in zip(measured.runs, statistic.values, strict=True):
                figures[run][name.removesuffix(SPREAD)] = float(value)
    return figures


def _log_result(client: Any, run_id: str, result: Result) -> None:  # noqa: ANN401 - see above
    _log(client, run_id, dict(_figures(result)), {})
    with temporary_folder() as folder:
        page, summary = result.file_names
        result.to_html(folder / page)
        write_file(folder / summary, result.to_json().encode())
        client.log_artifacts(run_id, str(folder), FOLDER)


def _figures(result: Result) -> Iterator[tuple[str, float]]:
    """Yield all figures by name, with the bounds of their intervals."""
    frame = result.to_frame()
    rows = frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dict("records")
    for row in rows:
        parts = [row.get(name) for name in (ARM, "method", "metric")]
        name = "/".join(str(part) for part in parts if isinstance(part, str) and part)
        figure = "value" if "value" in row else "effect"
        suffix = "" if figure == "value" else "_effect"
        for key, ending in ((figure, ""), *((bound, f"_{bound}") for bound in BOUNDS)):
            if isinstance(row.get(key), int | float):
                yield f"{name}{suffix}{ending}", float(row[key])


def _log(
    client: Any,  # noqa: ANN401 - see above
    run_id: str,
    figures: Mapping[str, float],
    params: Mapping[str, object],
) -> None:
    """Log metrics and parameters in as few calls as MLflow allows; NaN is left out."""
    from mlflow.entities import Metric, Param

    now = client.get_run(run_id).info.start_time
    values: dict[str, float] = {}
    for name, value in figures.items():
        allowed = metric_name(name)
        same = [allowed, *(f"{allowed}_{number}" for number in range(2, len(figures) + 1))]
        values[next(key for key in same if key not in values)] = value
    metrics = [Metric(name, value, now, 0) for name, value in values.items() if isfinite(value)]
    texts = [Param(name, str(value)) for name, value in params.items()]
    for start in range(0, max(len(metrics), 1), MAX_METRICS):
        client.log_batch(
            run_id,
            metrics=metrics[start : start + MAX_METRICS],
            params=texts[:MAX_PARAMS] if start == 0 else [],
        )


def metric_name(name: str) -> str:
    """Return a name that MLflow allows: `ndcg@10` becomes `ndcg_at_10`, as in MLflow.

    Args:
        name: Name of a metric.

    Returns:
        The same name, with an underscore for every other character that is not allowed.
    """
    return NOT_ALLOWED.sub("_", name.replace("@", "_at_"))
