"""Runs of MLflow: all runs of an experiment, or the children of a parent run.

The client alone is needed (mlflow-skinny), and the server is the one of `MLFLOW_TRACKING_URI`.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from seedproof._optional import require
from seedproof.errors import (
    EmptyInputError,
    NotFoundError,
    OptionError,
    UnreadableError,
    first_line,
)
from seedproof.logs.split_tables import column_of, read_cells
from seedproof.logs.tracked import RawRun, Tracked, distinct_names, tracked_runs
from seedproof.messages import Message
from seedproof.records.columns import Columns
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.drafts import TemporaryFolder
from seedproof.records.number_tables import column_names

TOOL = "mlflow"
PREFIX = "mlflow:"
# After `#`: read metrics, although there are tables.
METRICS = "metrics"
# Tag of the parent runs that seedproof writes. Their children repeat runs of a study.
WRITTEN = "seedproof.study"
ARM = "arm"
PARENT = "mlflow.parentRunId"
TABLES = "mlflow.loggedArtifacts"
# Metrics of the machine.
SYSTEM = "system/"
RUN_ID = re.compile(r"[0-9a-f]{32}")
FINISHED = "FINISHED"
# The first of several formats of a table is read. Tables of log_table may be JSON, too.
SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson", ".npz")
JSON = ".json"
PAGE_SIZE = 1_000
MAX_DEPTH = 3
MAX_LISTED = 10
N_DOWNLOADS = 8
# For our calls only, where the user did not set them: no telemetry, no bars, no minutes of retries.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def is_tracked(target: object) -> bool:
    """Return whether a target names runs of MLflow."""
    return isinstance(target, str) and target.startswith(PREFIX)


def read_tracked(target: str) -> Tracked:
    """Read the runs of an experiment or of a parent run.

    Args:
        target: `mlflow:` with the name or id of an experiment, or the id of a parent run, and an
            optional `#` with the path of the table in each run, or `#metrics`.

    Returns:
        The runs; their tables are downloaded into a temporary folder.

    Raises:
        NotFoundError: MLflow has no such experiment, run or table.
        OptionError: Several tables could be meant.
    """
    name, sign, chosen = target.removeprefix(PREFIX).rpartition("#")
    name, chosen = (name, chosen) if sign else (chosen, "")
    with calls() as client:
        title, runs = _runs(client, name)
        raw = [run.raw for run in runs]
        finished = [run for run in runs if run.raw.is_finished]
        table, notes = "", [*_system_metrics(runs)]
        if chosen != METRICS:
            table, further = _chosen_table(client, target, finished, chosen)
            notes += further
        if not table:
            return tracked_runs(target, raw, {}, title=title, table="", notes=notes)
        copies = _downloads().path  # before the threads, each of which would make its own
        with ThreadPoolExecutor(N_DOWNLOADS) as pool:
            places = pool.map(lambda run: _downloaded(client, run, table, copies), finished)
            folders = {
                run.raw.run_id: place.parent
                for run, place in zip(finished, places, strict=True)
                if place is not None
            }
    file = _local_name(table)
    if not folders:
        raise NotFoundError(
            "No run of {target} has the artifact {path!r}.", target=target, path=table
        )
    return tracked_runs(target, raw, folders, title=title, table=file, notes=notes)


@contextmanager
def calls() -> Iterator[Any]:
    """Yield a client of MLflow; report its errors as ours.

    Yields:
        The client.

    Raises:
        UnreadableError: MLflow cannot be reached, or refuses a call.
    """
    require("mlflow", extra="mlflow", feature="MLflow")
    added = {name: value for name, value in SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        from mlflow import MlflowClient, get_tracking_uri
        from mlflow.exceptions import MlflowException

        try:
            yield MlflowClient()
        except (MlflowException, ImportError) as error:
            raise UnreadableError(
                "MLflow at {uri!r} cannot be used: {reason}. Start its server, and set its "
                "address: export MLFLOW_TRACKING_URI=http://127.0.0.1:5000",
                uri=get_tracking_uri(),
                reason=first_line(error),
            ) from error
    finally:
        for name in added:
            os.environ.pop(name, None)


class _Run:
    """A run, and what is needed to find its artifacts."""

    def __init__(self, run: Any, group: str) -> None:  # noqa: ANN401 - mlflow need not be installed
        info, data = run.info, run.data
        self.tables = _logged_tables(data.tags.get(TABLES))
        self.system_metrics = {name for name in data.metrics if name.startswith(SYSTEM)}
        # A run that is opened again ends again.
        self.state = f"{info.artifact_uri} {info.run_id} {info.end_time}"
        self.start = info.start_time or 0
        self.raw = RawRun(
            info.run_id,
            info.run_name or info.run_id,
            info.status == FINISHED,
            str(info.status).lower(),
            dict(data.params),
            {name: data.metrics[name] for name in data.metrics.keys() - self.system_metrics},
            data.tags.get(ARM),
            group,
        )


def _runs(client: Any, name: str) -> tuple[str, list[_Run]]:  # noqa: ANN401 - see above
    """Return the name of an experiment or parent run, and its runs in the order of their start."""
    parent = _parent(client, name)
    if parent is not None:
        rows = _search(client, parent.info.experiment_id, f"tags.`{PARENT}` = '{name}'")
        rows = [row for row in rows if WRITTEN not in row.data.tags]
        title, groups = parent.info.run_name or name, dict.fromkeys([name], "")
    else:
        experiment = _experiment(client, name)
        rows = _search(client, experiment.experiment_id, "")
        title = experiment.name
        parents = {row.data.tags[PARENT] for row in rows if PARENT in row.data.tags}
        written = {row.info.run_id for row in rows if WRITTEN in row.data.tags}
        names = {row.info.run_id: row.info.run_name or row.info.run_id for row in rows}
        groups = distinct_names({key: names.get(key, key) for key in parents}, parents)
        rows = [
            row
            for row in rows
            if row.info.run_id not in parents | written and row.data.tags.get(PARENT) not in written
        ]
    if not rows:
        raise EmptyInputError(
            "{name!r} of MLflow has no runs to read. Pass an experiment, or a run that has child "
            "runs.",
            name=name,
        )
    runs = [_Run(row, groups.get(row.data.tags.get(PARENT, ""), "")) for row in rows]
    return title, sorted(runs, key=lambda run: (run.start, run.raw.run_id))


def _search(client: Any, experiment: str, query: str) -> list[Any]:  # noqa: ANN401 - see above
    rows: list[Any] = []
    token = None
    while True:
        page = client.search_runs([experiment], query, max_results=PAGE_SIZE, page_token=token)
        rows += page
        token = page.token
        if not token:
            return rows


def _parent(client: Any, name: str) -> Any:  # noqa: ANN401 - see above
    """Return the run of an id; None if there is none."""
    from mlflow.exceptions import MlflowException

    if RUN_ID.fullmatch(name) is None:
        return None
    try:
        return client.get_run(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None


def _experiment(client: Any, name: str) -> Any:  # noqa: ANN401 - see above
    experiment = client.get_experiment_by_name(name) if name else None
    known = [] if experiment else list(client.search_experiments(max_results=PAGE_SIZE))
    experiment = experiment or next((x for x in known if x.experiment_id == name), None)
    if experiment is None:
        names = [other.name for other in known]
        raise NotFoundError(
            "MLflow has no experiment and no run {name!r}. Its experiments: {listed}.",
            name=name,
            listed=", ".join(names[:MAX_LISTED]) + ", …" * (len(names) > MAX_LISTED) or "none",
            known=tuple(names),
        )
    return experiment


def _system_metrics(runs: Sequence[_Run]) -> Iterator[Message]:
    """Yield a note on metrics of the machine."""
    names = {name for run in runs for name in run.system_metrics}
    if names:
        yield Message(
            "system-metrics", "{n_names} metrics of the machine are left out.", n_names=len(names)
        )


def _chosen_table(
    client: Any,  # noqa: ANN401 - see above
    target: str,
    runs: Sequence[_Run],
    chosen: str,
) -> tuple[str, list[Message]]:
    """Return the path of the table to read in each run, empty for none, and notes."""
    if chosen:
        return chosen, []
    candidates = _best_formats({path for run in runs for path in run.tables})
    if not candidates:
        # Files are listed for few runs: each of them takes a call.
        sample = {index: runs[index] for index in (0, len(runs) // 2, -1) if runs}
        candidates = _best_formats({x for run in sample.values() for x in _listed(client, run)})
    known = [path for path in candidates if _has_answers(client, runs, path)]
    if len(known) > 1:
        raise OptionError(
            "The runs of {target} have {n_tables} tables with predictions: {listed}. Choose one: "
            "'{target}#{first}'. Or choose the metrics: '{target}#{metrics}'.",
            target=target,
            n_tables=len(known),
            listed=", ".join(known),
            first=known[0],
            metrics=METRICS,
            known=tuple(known),
        )
    names = sorted({name for run in runs for name in run.raw.metrics})
    if known and names:
        note = Message(
            "table-chosen",
            "Read from the table {path!r} of each run. For the metrics, such as {metric}, pass "
            "'{target}#{metrics}'.",
            path=known[0],
            metric=names[0],
            target=target,
            metrics=METRICS,
        )
        return known[0], [note]
    if candidates and not known:
        note = Message(
            "tables-unread",
            "The metrics are read, and no table, because no column of {listed} is named "
            "prediction, value or answer. To read one, pass '{target}#{path}' and its columns.",
            listed=tuple(candidates),
            target=target,
            path=candidates[0],
        )
        return "", [note]
    return (known[0] if known else ""), []


def _best_formats(paths: Collection[str]) -> list[str]:
    """Return one path per table, in the format that is read best."""
    order = (*SUFFIXES, JSON)
    best: dict[str, str] = {}
    by_name = sorted(paths)
    for path in sorted(by_name, key=lambda x: order.index(PurePosixPath(x).suffix.lower())):
        best.setdefault(str(PurePosixPath(path).with_suffix("")), path)
    return list(best.values())


def _logged_tables(tag: str | None) -> list[str]:
    """Return the paths of tables that were logged with mlflow.log_table."""
    try:
        entries = parse_json((tag or "[]").encode())
    except DecodingError:
        return []
    paths = [str(x.get("path")) for x in entries if isinstance(x, Mapping) and x.get("path")]
    return [path for path in paths if _is_plain(path, (*SUFFIXES, JSON))]


def _is_plain(path: str, suffixes: Sequence[str]) -> bool:
    place = PurePosixPath(path)
    is_inside = not place.is_absolute() and ".." not in place.parts
    return is_inside and place.suffix.lower() in suffixes


def _listed(client: Any, run: _Run, folder: str = "", depth: int = 1) -> Iterator[str]:  # noqa: ANN401 - see above
    """Yield the paths of files that may be tables; the folders of models have none."""
    entries = client.list_artifacts(run.raw.run_id, folder or None)
    if any(PurePosixPath(entry.path).name == "MLmodel" for entry in entries):
        return
    for entry in entries:
        if entry.is_dir and depth < MAX_DEPTH:
            yield from _listed(client, run, entry.path, depth + 1)
        elif not entry.is_dir and _is_plain(entry.path, SUFFIXES):
            yield entry.path


def _has_answers(client: Any, runs: Sequence[_Run], path: str) -> bool:  # noqa: ANN401 - see above
    """Return whether a table has a column of answers; the first run that has the table shows it."""
    places = (_downloaded(client, run, path, _downloads().path) for run in runs)
    place = next((place for place in places if place is not None), None)
    if place is None or place.suffix == ".npz":
        return place is not None
    usual = Columns()
    roles = {usual.prediction, usual.value, usual.answer, usual.item, usual.set, usual.tags}
    names = column_names(place)
    return bool(roles & set(names)) or sum(name.startswith(usual.probs) for name in names) > 0


@cache
def _downloads() -> TemporaryFolder:
    """Return a folder for artifacts, which is removed at the end of the process."""
    return TemporaryFolder()


def _local_name(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    return "table.parquet" if suffix == JSON else f"table{suffix}"


def _downloaded(client: Any, run: _Run, path: str, copies: Path) -> Path | None:  # noqa: ANN401 - see above
    """Return the local copy of an artifact; None if the run has no such artifact.

    Every command reads its input more than once, so a copy is kept until the run changes.
    """
    key = sha256(f"{client.tracking_uri} {run.state} {path}".encode()).hexdigest()[:16]
    place = copies / key / _local_name(path)
    absent = place.with_name("absent")
    if place.is_file() or absent.exists():
        return place if place.is_file() else None
    folder = str(PurePosixPath(path).parent)
    entries = client.list_artifacts(run.raw.run_id, None if folder == "." else folder)
    target = place.with_name("download")
    target.mkdir(parents=True, exist_ok=True)
    if path not in {entry.path for entry in entries if not entry.is_dir}:
        absent.touch()
        return None
    file = Path(client.download_artifacts(run.raw.run_id, path, str(target)))
    if file.suffix.lower() == JSON:
        import pyarrow.parquet as pq

        converted = target / "converted"
        pq.write_table(_split_table(file, path), converted)
        file = converted
    return file.replace(place)


def _split_table(file: Path, path: str) -> pa.Table:
    """Return the table in a JSON file of mlflow.log_table."""
    try:
        columns = read_cells(file)
    except DecodingError as error:
        raise UnreadableError(
            "{path!r} is not a table of mlflow.log_table: {reason}.", path=path, reason=str(error)
        ) from error
    return pa.table({name: column_of(cells) for name, cells in columns.items()})
