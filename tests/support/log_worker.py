"""A process that reads logs on request, so that a crash of it is an outcome and not the end.

Each line of its input is a request: `{"target": PATH, "columns": {…}, "options": {…}}`.
Each line of its output is the answer: what was read, or the code of the error, or a traceback.
"""

import json
import os
import resource
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import seedproof as sp
from seedproof.logs import log_files, mlflow, runs_in
from seedproof.logs.samples import Log
from seedproof.predictions.readers import TABLE_SUFFIXES
from seedproof.predictions.shared_examples import example_ids
from seedproof.records.shards import ShardSource

# More than any input of the tests needs; a bomb must not fill the machine.
MOST_BYTES = 8 * 2**30


class ExportedRuns:
    """A client of MLflow whose server is a folder: `runs.json`, and a folder of files per run."""

    tracking_uri = "exported"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_experiment_by_name(self, name: str) -> SimpleNamespace:
        """Return the only experiment."""
        return SimpleNamespace(experiment_id="1", name=name)

    def search_runs(self, *_: object, **__: object) -> list[SimpleNamespace]:
        """Return all runs, on one page."""
        listed = json.loads((self._folder / "runs.json").read_text())
        runs = [
            SimpleNamespace(info=SimpleNamespace(**x["info"]), data=SimpleNamespace(**x["data"]))
            for x in listed
        ]

        class Page(list[SimpleNamespace]):
            token = None

        return Page(runs)

    def list_artifacts(self, run: str, folder: str | None = None) -> list[SimpleNamespace]:
        """Return the files and folders in a folder of a run."""
        top = self._folder / run
        place = top / (folder or "")
        return [
            SimpleNamespace(path=x.relative_to(top).as_posix(), is_dir=x.is_dir())
            for x in sorted(place.iterdir() if place.is_dir() else ())
        ]

    def download_artifacts(self, run: str, path: str, target: str) -> str:
        """Copy a file of a run."""
        copy = Path(target) / Path(path).name
        copy.write_bytes((self._folder / run / path).read_bytes())
        return str(copy)


@contextmanager
def exported(target: str) -> Iterator[str]:
    """Read runs of MLflow from a folder in place of a server, if the target is one of them."""
    folder = Path(target.removeprefix(mlflow.PREFIX))
    if not mlflow.is_tracked(target):
        yield target
        return

    @contextmanager
    def calls() -> Iterator[ExportedRuns]:
        yield ExportedRuns(folder)

    usual, mlflow.calls = mlflow.calls, calls
    mlflow._downloads.cache_clear()
    try:
        yield f"{mlflow.PREFIX}experiment"
    finally:
        mlflow.calls = usual


def parts(target: str) -> Iterator[Any]:
    """Yield what is measured on its own: each arm and task of a log, or the whole target."""
    if mlflow.is_tracked(target):
        runs = mlflow.read_tracked(target)
        yield from runs.groups().values() if runs.has_tables else [target]
        return
    files = log_files([target])
    if files is not None:
        yield from files.read().groups().values()
        return
    sweep = runs_in(Path(target), TABLE_SUFFIXES) if Path(target).is_dir() else None
    yield from sweep.groups().values() if sweep is not None else [target]


def log_in(target: str) -> Log | None:
    """Return the samples of a log; None if it is not a log."""
    files = None if mlflow.is_tracked(target) else log_files([target])
    return None if files is None else files.read()


def n_cells(source: ShardSource) -> int:
    """Return the number of answers: of a run to an example, of a trial that is there."""
    shards = [source.shard(index) for index in range(source.n_shards)]
    if source.kind.value == "numbers":
        return sum(int(np.isfinite(np.asarray(shard.numbers)).sum()) for shard in shards)
    return len(source.runs) * sum(map(len, shards))


def read_part(part: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Measure a part, and return what of it is in figures, and what is named."""
    facts: dict[str, Any] = {"code": None, "messages": [], "notes": [], "checks": []}
    if isinstance(part, Log):
        facts["n_samples"] = len(part.samples)
    try:
        sp.measure(part, **options).to_json()
    except sp.SeedproofError as error:
        facts["messages"].append(str(error))
    try:
        read = sp.Predictions.load(part, **options)
    except sp.SeedproofError as error:
        facts["messages"].append(str(error))
        return facts | {"code": error.code}
    if isinstance(part, Log):
        facts["n_left_out"] = part.sheet(failed_as=options.get("failed_as")).n_left_out
    return facts | {
        "checks": [check.name for check in read.checks],
        "notes": [[note.code, plain(note.fields)] for note in read.notes],
        "kind": read.source.kind.value,
        "n_cells": n_cells(read.source),
        "n_examples": read.n_examples,
        "n_runs": len(read.runs),
        "ids": list(map(str, example_ids(read.source).to_pylist())),
    }


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a message as JSON has them."""
    return {
        name: value if isinstance(value, int) else list(map(str, value)) if isinstance(value, tuple)
        else str(value)
        for name, value in fields.items()
    }  # fmt: skip


def outcome(request: dict[str, Any]) -> dict[str, Any]:
    """Read a target, and compute its checks and its figures."""
    options = dict(request["options"])
    if request["columns"]:
        options["columns"] = sp.Columns(**request["columns"])
    with exported(request["target"]) as target:
        log = log_in(target)
        read = [read_part(part, options) for part in parts(target)]
    # A file that several arms share has its notes with each of them.
    files = {} if log is None else {file.name: file.notes for file in log.files}
    notes = [note for of_file in files.values() for note in of_file]
    return {
        "codes": [part["code"] for part in read if part["code"]],
        "messages": [text for part in read for text in part["messages"]],
        "checks": [name for part in read for name in part["checks"]],
        "log_notes": [[note.code, plain(note.fields)] for note in notes],
        "n_samples": None if log is None else len(log.samples),
        "parts": read,
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome, the error of the whole target, or a traceback."""
    try:
        return outcome(request)
    except sp.SeedproofError as error:
        return {"codes": [error.code], "messages": [str(error)], "n_samples": None, "parts": []}
    except Exception:  # noqa: BLE001 - it is what the tests look for
        return {"traceback": traceback.format_exc()}


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write between answers
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
