"""Logs of Inspect: `.eval` files, which are zip archives, and `.json` files."""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seedproof.errors import UnreadableError
from seedproof.logs.samples import Log, Sample, arm_names, plain_facts
from seedproof.records.decoding import MAX_BYTES, DecodingError, parse_json

TOOL = "inspect"
SUFFIX = ".eval"
# Compression method of a zip member; `zipfile` opens it from Python 3.14 on.
ZSTD = 93
# Inspect's own numbers for grades: correct, partially correct, incorrect, no answer.
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file is a log of Inspect, given its first bytes."""
    if path.suffix == SUFFIX:
        return start.startswith(b"PK")
    return path.suffix == ".json" and b'"eval_id"' in start and b'"task_id"' in start


def read(paths: Sequence[Path]) -> Log:
    """Read the samples of logs; of an evaluation and its retries, only the last log counts."""
    newest: dict[str, tuple[Mapping[str, Any], Path]] = {}
    for path in paths:
        header = _header(path)["eval"]
        task_id = str(header.get("task_id", path.name))
        if task_id not in newest or str(header["created"]) >= str(newest[task_id][0]["created"]):
            newest[task_id] = header, path
    logs = sorted(newest.values(), key=lambda log: str(log[0]["created"]))
    models, tasks = ([str(log[name]) for log, _ in logs] for name in ("model", "task"))
    arms = arm_names(models, tasks, [_settings(log) for log, _ in logs])
    keys = list(zip(arms, tasks, strict=True))
    samples = []
    for index, (key, (_, path)) in enumerate(zip(keys, logs, strict=True)):
        # Epochs of a single log keep their numbers.
        prefix = f"{keys[:index].count(key) + 1}." if keys.count(key) > 1 else ""
        samples += [_sample(row, *key, prefix) for row in _rows(path)]
    return Log(TOOL, samples)


def _settings(evaluation: Mapping[str, Any]) -> dict[str, object]:
    """Return everything that makes another arm, but not the seed."""
    config = {**evaluation.get("model_generate_config", {})}
    config.pop("seed", None)
    return {**evaluation.get("model_args", {}), **evaluation.get("task_args", {}), **config}


def _sample(row: Mapping[str, Any], arm: str, task: str, prefix: str) -> Sample:
    error = row.get("error")
    if isinstance(error, Mapping):
        error = error.get("message", "error")
    scores: dict[str, float] = {}
    for scorer, score in (row.get("scores") or {}).items():
        scores |= dict(_numbers(scorer, score.get("value")))
    n_retries = row.get("retries", len(row.get("error_retries") or ()))
    return Sample(
        arm,
        task,
        str(row["id"]),
        f"{prefix}{row['epoch']}",
        {} if error else scores,
        plain_facts(row.get("metadata") or {}),
        None if error is None else str(error).splitlines()[0],
        n_retries or 0,
    )


def _numbers(scorer: str, value: object) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a score, which may have several parts."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _numbers(f"{scorer}.{name}", part)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _numbers(f"{scorer}.{index}", part)
    elif isinstance(value, bool | int | float):
        yield scorer, float(value)
    elif isinstance(value, str):
        number = GRADES.get(value, WORDS.get(value.lower()))
        if number is not None:
            yield scorer, number


def _header(path: Path) -> Mapping[str, Any]:
    header = _member(path, "header.json") if path.suffix == SUFFIX else _whole(path)
    if not isinstance(header, Mapping) or not isinstance(header.get("eval"), Mapping):
        raise _unreadable(path, "it has no header")
    return header


def _rows(path: Path) -> list[Mapping[str, Any]]:
    rows = _member(path, "summaries.json") if path.suffix == SUFFIX else _whole(path)["samples"]
    return [row for row in rows if isinstance(row, Mapping)]


def _whole(path: Path) -> Any:  # noqa: ANN401 - plain data
    try:
        return parse_json(path.read_bytes(), allow_nan=True)
    except DecodingError as error:
        raise _unreadable(path, str(error)) from error


def _member(path: Path, name: str) -> Any:  # noqa: ANN401 - plain data
    try:
        with zipfile.ZipFile(path) as archive:
            return parse_json(_content(archive, name), allow_nan=True)
    except KeyError as error:
        raise _unreadable(path, f"it has no {name}: the evaluation did not finish") from error
    except (zipfile.BadZipFile, zlib.error, pa.ArrowException, OSError, DecodingError) as error:
        raise _unreadable(path, str(error)) from error


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    info = archive.getinfo(name)
    if info.file_size > MAX_BYTES:
        raise DecodingError(f"{name} has more than {MAX_BYTES:,} bytes")
    if info.compress_type != ZSTD:
        with archive.open(info) as file:
            return file.read(MAX_BYTES + 1)
    raw = archive.fp
    if raw is None:
        raise zipfile.BadZipFile("closed")
    raw.seek(info.header_offset)
    name_length, extra_length = struct.unpack("<26xHH", raw.read(30))
    raw.seek(info.header_offset + 30 + name_length + extra_length)
    packed = pa.BufferReader(raw.read(info.compress_size))
    with pa.input_stream(packed, compression="zstd") as stream:
        return bytes(stream.read(MAX_BYTES + 1))


def _unreadable(path: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        "{file} cannot be read as a log of Inspect: {reason}.", file=path.name, reason=reason
    )
