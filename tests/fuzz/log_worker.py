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
from pathlib import Path
from typing import Any

import seedproof as sp
from seedproof.logs import log_files, runs_in
from seedproof.predictions.readers import TABLE_SUFFIXES

# More than any input of the tests needs; a bomb must not fill the machine.
MOST_BYTES = 8 * 2**30


def parts(target: str) -> Iterator[Any]:
    """Yield what is measured on its own: each arm and task of a log, or the whole target."""
    files = log_files([target])
    if files is not None:
        yield from files.read().groups().values()
        return
    runs = runs_in(Path(target), TABLE_SUFFIXES) if Path(target).is_dir() else None
    yield from runs.groups().values() if runs is not None else [target]


def samples_in(target: str) -> int | None:
    """Return the number of samples that a log gives; None if it is not a log."""
    files = log_files([target])
    return None if files is None else len(files.read().samples)


def outcome(request: dict[str, Any]) -> dict[str, Any]:
    """Read a target, and compute its checks and its figures."""
    options = dict(request["options"])
    if request["columns"]:
        options["columns"] = sp.Columns(**request["columns"])
    codes, messages, notes, checks = [], [], [], []
    n_examples = n_runs = 0
    n_samples = samples_in(request["target"])
    for part in parts(request["target"]):
        try:
            sp.measure(part, **options).to_json()
        except sp.SeedproofError as error:
            messages.append(str(error))
        try:
            read = sp.Predictions.load(part, **options)
            checks += [check.name for check in read.checks]
        except sp.SeedproofError as error:
            codes.append(error.code)
            messages.append(str(error))
            continue
        notes += [[note.code, {k: repr(v) for k, v in note.fields.items()}] for note in read.notes]
        n_examples, n_runs = n_examples + read.n_examples, len(read.runs)
    return {
        "codes": codes,
        "messages": messages,
        "notes": notes,
        "checks": checks,
        "n_samples": n_samples,
        "n_examples": n_examples,
        "n_runs": n_runs,
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome, the error of the whole target, or a traceback."""
    try:
        return outcome(request)
    except sp.SeedproofError as error:
        return {"codes": [error.code], "messages": [str(error)], "n_samples": None}
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
