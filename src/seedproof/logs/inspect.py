"""Logs of Inspect: `.eval` files, which are zip archives, and `.json` files."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seedproof.errors import UnreadableError
from seedproof.logs.archives import Archive
from seedproof.logs.samples import (
    Log,
    LogFile,
    Sample,
    arm_names,
    error_line,
    plain_facts,
    samples_missing,
    score_of,
    unknown_format,
)
from seedproof.messages import Message
from seedproof.records.decoding import LOG_BYTES, DecodingError, decode, parse_log, parse_log_object

TOOL = "inspect"
SUFFIX = ".eval"
# Formats of a log, as its header numbers them.
FORMATS = (1, 2)
FINISHED = "success"
# Members of an archive, and those of an evaluation that ended before it wrote them.
HEADER, SUMMARIES = "header.json", "summaries.json"
START, PARTIAL_SUMMARIES = "_journal/start.json", "_journal/summaries/"
# Inspect's own numbers for grades: correct, partially correct, incorrect, no answer.
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True)
class _Dataset:
    sample_ids: Sequence[str | int] | None = None


@dataclass(frozen=True)
class _Config:
    epochs: int | None = None


@dataclass(frozen=True)
class _Evaluation:
    created: str
    model: str
    task: str
    task_id: str | None = None
    model_args: Mapping[str, Any] | None = None
    task_args: Mapping[str, Any] | None = None
    model_generate_config: Mapping[str, Any] | None = None
    dataset: _Dataset | None = None
    config: _Config | None = None

    @property
    def settings(self) -> dict[str, object]:
        """Everything that makes another arm, but not the seed."""
        config = {**(self.model_generate_config or {})}
        config.pop("seed", None)
        return {**(self.model_args or {}), **(self.task_args or {}), **config}


@dataclass(frozen=True)
class _Results:
    total_samples: int | None = None


@dataclass(frozen=True)
class _Header:
    eval: _Evaluation
    version: int | None = None
    status: str = "started"
    invalidated: bool | None = None
    results: _Results | None = None

    @property
    def n_planned(self) -> int:
        """Number of samples of all epochs; 0 if the log does not say it."""
        dataset, config = self.eval.dataset, self.eval.config
        n_ids = len((dataset and dataset.sample_ids) or ())
        n_epochs = (config and config.epochs) or 1
        return max(n_ids * n_epochs, (self.results and self.results.total_samples) or 0)


@dataclass(frozen=True)
class _Score:
    value: Any = None


@dataclass(frozen=True)
class _Row:
    id: str | int
    epoch: int
    scores: Mapping[str, _Score] | None = None
    metadata: Mapping[str, Any] | None = None
    error: Any = None
    retries: int | None = None
    error_retries: Sequence[Any] | None = None


@dataclass(frozen=True)
class _Rows:
    samples: Sequence[_Row]


@dataclass(frozen=True)
class _Evaluated:
    """One log of an evaluation."""

    path: Path
    header: _Header
    rows: Sequence[_Row]
    created: datetime

    @property
    def problems(self) -> tuple[Message, ...]:
        """Reasons why the log may not have all samples that were planned, or mean them."""
        problems = []
        if self.header.version not in FORMATS:
            problems.append(unknown_format(self.header.version, f"{FORMATS[-1]}"))
        if self.header.status != FINISHED:
            problems.append(
                Message("not-finished", "its status is {status!r}", status=self.header.status)
            )
        if self.header.invalidated:
            problems.append(Message("invalidated", "it is marked as invalid"))
        return (*problems, *samples_missing(len(self.rows), self.header.n_planned))

    @property
    def merit(self) -> tuple[bool, int, datetime]:
        """Rank among the logs of one task: complete ones first, then by samples, then by time."""
        is_complete = not self.problems
        return is_complete, 0 if is_complete else len(self.rows), self.created


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file is a log of Inspect, given its first bytes."""
    if path.suffix == SUFFIX:
        return start.startswith(b"PK")
    return path.suffix == ".json" and b'"eval_id"' in start and b'"task_id"' in start


def resembles(path: Path) -> bool:
    """Return whether a file next to logs is a log by its name, whatever is in it."""
    return path.suffix == SUFFIX


def read(paths: Sequence[Path]) -> Log:
    """Read the samples of logs; of an evaluation and its retries, only the best log counts."""
    attempts: dict[tuple[str, str, str], list[_Evaluated]] = defaultdict(list)
    for path in paths:
        log = _evaluated(path)
        details = log.header.eval
        task_id = path.name if details.task_id is None else details.task_id
        attempts[task_id, details.task, details.model].append(log)
    notes = {}
    for logs in attempts.values():
        logs.sort(key=lambda log: log.merit, reverse=True)
        notes[logs[0].path] = _unread(logs) if len(logs) > 1 else ()
    best = sorted((logs[0] for logs in attempts.values()), key=lambda log: log.created)
    models, tasks = ([getattr(log.header.eval, x) for log in best] for x in ("model", "task"))
    arms = arm_names(models, tasks, [log.header.eval.settings for log in best])
    keys = list(zip(arms, tasks, strict=True))
    n_logs, counts = Counter(keys), Counter[tuple[str, str]]()
    samples: list[Sample] = []
    for key, log in zip(keys, best, strict=True):
        counts[key] += 1
        # Epochs of a single log keep their numbers.
        prefix = f"{counts[key]}." if n_logs[key] > 1 else ""
        samples += _samples(log, *key, prefix)
    files = [
        LogFile(log.path.name, *key, log.problems, notes[log.path])
        for key, log in zip(keys, best, strict=True)
    ]
    return Log(TOOL, samples, files)


def _unread(logs: Sequence[_Evaluated]) -> tuple[Message, ...]:
    """Return the note on the logs of a task that do not count."""
    rule = "the last complete log counts"
    if logs[0].problems:
        rule = "none is complete, and it has the most samples"
    return (
        Message(
            "log-chosen",
            "Of {n_logs} logs of the same task, {file} is read, and not {others}: {rule}.",
            n_logs=len(logs),
            file=logs[0].path.name,
            others=tuple(f"{log.path.name} ({log.header.status})" for log in logs[1:]),
            rule=rule,
        ),
    )


def _samples(log: _Evaluated, arm: str, task: str, prefix: str) -> Iterator[Sample]:
    for row in log.rows:
        error = row.error
        if isinstance(error, Mapping):
            error = error.get("message", "error")
        scores: dict[str, float] = {}
        try:
            for scorer, score in (row.scores or {}).items():
                scores |= dict(_numbers(scorer, score.value))
        except DecodingError as problem:
            where = f"sample {row.id} of epoch {row.epoch}"
            raise _unreadable(log.path, f"{where}: {problem}") from problem
        n_retries = len(row.error_retries or ()) if row.retries is None else row.retries
        yield Sample(
            arm,
            task,
            str(row.id),
            f"{prefix}{row.epoch}",
            {} if error is not None else scores,
            plain_facts(row.metadata or {}),
            None if error is None else error_line(str(error)),
            n_retries,
            file=log.path.name,
        )


def _numbers(scorer: str, value: object) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a score, which may have several parts."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _numbers(f"{scorer}.{name}", part)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _numbers(f"{scorer}.{index}", part)
    elif isinstance(value, str):
        number = GRADES.get(value, WORDS.get(value.lower()))
        if number is not None:
            yield scorer, number
    elif (number := score_of(value)) is not None:
        yield scorer, number


def _evaluated(path: Path) -> _Evaluated:
    """Read a log."""
    try:
        head, rows = _archived(path) if path.suffix == SUFFIX else _whole(path)
        header = decode(_Header, head, allow_unknown=True)
        created = datetime.fromisoformat(header.eval.created)
        return _Evaluated(
            path,
            header,
            decode(_Rows, {"samples": rows}, allow_unknown=True).samples,
            created.replace(tzinfo=UTC) if created.tzinfo is None else created,
        )
    except DecodingError as error:
        raise _unreadable(path, str(error)) from error
    except ValueError as error:
        raise _unreadable(path, f"eval.created is not a time: {error}") from error


def _whole(path: Path) -> tuple[Any, Any]:
    """Return header and samples of a `.json` file."""
    with path.open("rb") as file:
        content = parse_log_object(file.read(LOG_BYTES + 1))
    # Inspect writes no samples if there are none.
    return content, content.get("samples") or []


def _archived(path: Path) -> tuple[Any, Any]:
    """Return header and samples of an archive, or what an unfinished evaluation left of them."""
    with Archive(path) as archive:
        if HEADER in archive:
            return parse_log(archive.read(HEADER)), parse_log(archive.read(SUMMARIES))
        head = parse_log_object(archive.read(START))
        parts = [parse_log(archive.read(x)) for x in archive.below(PARTIAL_SUMMARIES)]
    if not all(isinstance(part, list) for part in parts):
        raise DecodingError("its journal is damaged")
    return {**head, "status": "started"}, [row for part in parts for row in part]


def _unreadable(path: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        "{file} cannot be read as a log of Inspect: {reason}.", file=path.name, reason=reason
    )
