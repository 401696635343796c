"""The ledger of a research loop: which candidates began, at what level, and how they ended.

A file of JSON lines that only grows. The first line has the settings of the loop; a candidate has a
line when it begins and another when it is decided.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.comparison.decide.level import next_level
from seedproof.errors import OptionError, StoreError
from seedproof.messages import problem_of
from seedproof.predictions.predictions import Predictions
from seedproof.records.decoding import DecodingError, decode, parse_json
from seedproof.records.durability import sync
from seedproof.records.locks import lock

FORMAT = 1
FILE_NAME = "decisions.jsonl"

Decided: TypeAlias = Literal["keep", "discard"]


@dataclass(frozen=True)
class Settings:
    """Settings that all candidates of a loop share."""

    metric: str
    max_runs: int
    false_keeps: float
    min_gain: float
    lower_is_better: bool = False  # of a metric whose card names no direction


@dataclass(frozen=True)
class _LoopLine(Settings):
    """First line of a ledger."""

    format: int = FORMAT
    event: Literal["loop"] = "loop"


@dataclass(frozen=True)
class _BeginLine:
    """Line of a candidate that begins."""

    event: Literal["begin"]
    candidate: str
    name: str
    level: float


@dataclass(frozen=True)
class _DecisionLine:
    """Line of a candidate that is decided."""

    event: Decided
    candidate: str
    n_runs: int
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One candidate of a loop."""

    candidate: str  # digest of its first runs
    name: str
    level: float
    position: int  # 1 for the first of the loop
    answer: Decided | None = None  # None while it is open
    n_runs: int = 0  # that the decision is based on
    facts: Mapping[str, Any] = field(default_factory=dict)  # of the decision


@dataclass
class Loop:
    """Everything that a ledger says."""

    entries: dict[str, Entry] = field(default_factory=dict)
    keeps: list[int] = field(default_factory=list)  # candidates that had begun at each keep

    def add(self, line: _BeginLine | _DecisionLine) -> None:
        """Add the line of a candidate."""
        if isinstance(line, _BeginLine):
            entry = Entry(line.candidate, line.name, line.level, len(self.entries) + 1)
            self.entries.setdefault(line.candidate, entry)
            return
        if line.candidate not in self.entries:
            raise DecodingError("it has not begun", "candidate")
        entry = self.entries[line.candidate]
        if entry.answer is None:
            self.entries[line.candidate] = replace(
                entry, answer=line.event, n_runs=line.n_runs, facts=line.facts
            )
            self.keeps += [len(self.entries)] if line.event == "keep" else []


class Ledger:
    """A ledger in a local file; writers take turns."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path, self.settings = path, settings

    def read(self) -> Loop:
        """Return the content of the ledger; empty before its first line."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return Loop()
        return self._parsed(content)

    def begin(self, candidate: str, name: str) -> Entry:
        """Return the entry of a candidate, which gets its level the first time."""
        with self._open() as (file, loop):
            if candidate not in loop.entries:
                level = next_level(len(loop.entries), loop.keeps, self.settings.false_keeps)
                line = _BeginLine("begin", candidate, name, level)
                _append(file, asdict(line))
                loop.add(line)
            return loop.entries[candidate]

    def decide(
        self, candidate: str, answer: Decided, n_runs: int, facts: Mapping[str, Any]
    ) -> Entry:
        """Write a decision and return it; if there is a decision already, return that one."""
        with self._open() as (file, loop):
            if loop.entries[candidate].answer is None:
                line = _DecisionLine(answer, candidate, n_runs, facts)
                _append(file, asdict(line))
                loop.add(line)
            return loop.entries[candidate]

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, Loop]]:
        """Hold the ledger alone, with its first line written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                while not lock(file):
                    time.sleep(0.02)
                file.seek(0)
                content = file.read()
                # A line without an end was being written when its process crashed.
                file.truncate(content.rfind(b"\n") + 1)
                loop = self._parsed(content)
                if b"\n" not in content:
                    _append(file, {"event": "loop", "format": FORMAT, **asdict(self.settings)})
                    sync(self.path.parent)  # so that a new file keeps its name
                yield file, loop
        except OSError as error:
            raise StoreError(
                "The ledger {path} cannot be written: {reason}. Pass another with --ledger, or "
                "ledger= in Python.",
                path=str(self.path),
                reason=problem_of(error),
            ) from error

    def _parsed(self, content: bytes) -> Loop:
        loop = Loop()
        for number, text in enumerate(content.split(b"\n")[:-1], start=1):
            try:
                line = parse_json(text)
                if number == 1:
                    self._check(decode(_LoopLine, line, allow_unknown=True))
                elif isinstance(line, dict) and line.get("event") == "begin":
                    loop.add(decode(_BeginLine, line, allow_unknown=True))
                else:
                    loop.add(decode(_DecisionLine, line, allow_unknown=True))
            except DecodingError as error:
                raise self.damaged(error, line=number) from error
        return loop

    def damaged(self, error: DecodingError, *, line: int | None = None) -> StoreError:
        """Return the error for a line, or for what a decision says."""
        return StoreError(
            "{place} the ledger {path} is damaged: {problem}. Restore the file from a backup, or "
            "begin another loop with --ledger, or ledger= in Python.",
            place="A decision in" if line is None else f"Line {line} of",
            line=line,
            path=str(self.path),
            problem=str(error),
            field=error.field,
        )

    def _check(self, line: _LoopLine) -> None:
        """Refuse other settings than those that the loop began with."""
        if line.format > FORMAT:
            raise DecodingError(f"{line.format} is newer than {FORMAT}", "format")
        for name, value in asdict(self.settings).items():
            before = getattr(line, name)
            if before != value:
                raise OptionError(
                    "The loop in {path} began with {option} {before!r}, not {value!r}. Its error "
                    "rate holds for constant settings: pass {before!r}, or another ledger.",
                    path=str(self.path),
                    option=name,
                    before=before,
                    value=value,
                )


def _append(file: BinaryIO, line: Mapping[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def digest_of(arrays: Iterable[npt.NDArray[Any] | None]) -> str:
    """Return a digest of the first runs of a candidate, to which others may be added."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def answers_of(predictions: Predictions) -> Iterator[npt.NDArray[Any] | None]:
    """Yield everything that runs say about their examples."""
    source = predictions.source
    for index in range(source.n_shards):
        shard = source.shard(index)
        yield from (shard.probs, shard.predictions, shard.numbers, shard.items, shard.answers)
        yield from () if shard.top is None else (shard.top.classes, shard.top.probs)
