"""Results of promptfoo, as JSON or JSONL."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.errors import UnreadableError
from seedproof.logs.lines import read_lines
from seedproof.logs.samples import Log, Sample, plain_facts
from seedproof.records.decoding import DecodingError, parse_json

TOOL = "promptfoo"
# `failureReason` of a row that has no score; 1 is a failed assertion, which has one.
ERROR = 2


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file has results of promptfoo, given its first bytes."""
    if path.suffix == ".jsonl":
        return b'"promptIdx"' in start and b'"testIdx"' in start
    return path.suffix == ".json" and b'"evalId"' in start and b'"results"' in start


def read(paths: Sequence[Path]) -> Log:
    """Read the rows of files, each once; repeats of a test are trials in the order of their calls.

    A call counts repeats in its `testIdx`, so trials are numbered by it, file by file.
    """
    rows: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for index, path in enumerate(paths):
        for number, row in enumerate(_rows(path)):
            rows.setdefault(str(row.get("id", f"{index}-{number}")), (index, row))
    arms = _arms(row for _, row in rows.values())
    repeats: dict[tuple[str, str], list[tuple[int, int, Mapping[str, Any]]]] = defaultdict(list)
    for index, row in rows.values():
        repeats[arms[_column(row)], _example(row)].append((index, row["testIdx"], row))
    samples = []
    for (arm, example), calls in repeats.items():
        calls.sort(key=lambda call: call[:2])
        samples += [
            _sample(row, arm, example, str(trial)) for trial, (*_, row) in enumerate(calls, 1)
        ]
    return Log(TOOL, samples)


def _rows(path: Path) -> Iterable[Mapping[str, Any]]:
    if path.suffix == ".jsonl":
        return read_lines(path)
    try:
        rows = parse_json(path.read_bytes(), allow_nan=True)["results"]["results"]
    except (DecodingError, KeyError, TypeError) as error:
        raise UnreadableError(
            "{file} cannot be read as results of promptfoo: {reason}.",
            file=path.name,
            reason=str(error),
        ) from error
    return [row for row in rows if isinstance(row, Mapping)]


def _column(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return provider and prompt of a row."""
    provider, prompt = row.get("provider") or {}, row.get("prompt") or {}
    return (
        str(provider.get("label") or provider.get("id")),
        str(row.get("promptId") or prompt.get("label")),
    )


def _arms(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return a name for each combination of provider and prompt."""
    labels: dict[tuple[str, str], str] = {}
    for row in rows:
        labels.setdefault(_column(row), str((row.get("prompt") or {}).get("label")))
    has_prompts = len({prompt for _, prompt in labels}) > 1
    return {
        column: f"{column[0]} · {label}" if has_prompts else column[0]
        for column, label in labels.items()
    }


def _example(row: Mapping[str, Any]) -> str:
    """Return the name of a test: its id, its description, or a hash of its content."""
    test = row.get("testCase") or {}
    name = (test.get("metadata") or {}).get("id") or test.get("description")
    if name is not None:
        return str(name)
    content = [row.get("vars") or test.get("vars"), test.get("assert")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _sample(row: Mapping[str, Any], arm: str, example: str, trial: str) -> Sample:
    error = str(row.get("error")) if row.get("failureReason") == ERROR else None
    named = {"score": row.get("score"), "success": row.get("success")}
    named |= row.get("namedScores") or {}
    numbers = {
        name: float(value) for name, value in named.items() if isinstance(value, bool | int | float)
    }
    test = row.get("testCase") or {}
    return Sample(
        arm,
        TOOL,
        example,
        trial,
        {} if error else numbers,
        plain_facts(row.get("vars") or {}, test.get("metadata") or {}),
        None if error is None else error.splitlines()[0],
        is_cached=bool((row.get("response") or {}).get("cached")),
    )
