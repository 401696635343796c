"""The ledger of a research loop: which candidates began, at what level, and how they ended.

A file of JSON lines that only grows. The first line has the settings of the loop; a candidate has a
line when it begins and another when it is decided.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np

from seedproof.comparison.decide.level import next_level
from seedproof.errors import OptionError, StoreError
from seedproof.messages import problem_of
from seedproof.predictions.predictions import Predictions
from seedproof.records.locks import lock

FORMAT = 1
FILE_NAME = "decisions.jsonl"
# Runs that identify a candidate; further ones may be added later.
N_IDENTIFYING = 2

Decided: TypeAlias = Literal["keep", "discard"]


@dataclass(frozen=True)
class Settings:
    """Settings that all candidates of a loop share."""

    metric: str
    max_runs: int
    false_keeps: float
    min_gain: float


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

    def add(self, line: Mapping[str, Any]) -> None:
        """Add the line of a candidate."""
        candidate, event = str(line["candidate"]), line["event"]
        if event == "begin":
            position = len(self.entries) + 1
            entry = Entry(candidate, str(line["name"]), float(line["level"]), position)
            self.entries.setdefault(candidate, entry)
            return
        if event not in {"keep", "discard"}:
            raise ValueError(event)
        entry = self.entries[candidate]
        if entry.answer is None:
            self.entries[candidate] = replace(
                entry, answer=event, n_runs=int(line["n_runs"]), facts=dict(line["facts"])
            )
            self.keeps += [len(self.entries)] if event == "keep" else []


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
                line = {"event": "begin", "candidate": candidate, "name": name, "level": level}
                _append(file, line)
                loop.add(line)
            return loop.entries[candidate]

    def decide(self, candidate: str, answer: str, n_runs: int, facts: Mapping[str, Any]) -> Entry:
        """Write a decision and return it; if there is a decision already, return that one."""
        with self._open() as (file, loop):
            if loop.entries[candidate].answer is None:
                line = {"event": answer, "candidate": candidate, "n_runs": n_runs, "facts": facts}
                _append(file, line)
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
                line = json.loads(text)
                if number == 1:
                    self._check(line)
                else:
                    loop.add(line)
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                if isinstance(error, OptionError):
                    raise
                raise StoreError(
                    "Line {line} of the ledger {path} is damaged. Restore the file from a backup, "
                    "or begin another loop with --ledger, or ledger= in Python.",
                    line=number,
                    path=str(self.path),
                ) from error
        return loop

    def _check(self, line: Mapping[str, Any]) -> None:
        """Refuse other settings than those that the loop began with."""
        if line["event"] != "loop" or line["format"] > FORMAT:
            raise ValueError(line["event"])
        for name, value in asdict(self.settings).items():
            if line[name] != value:
                raise OptionError(
                    "The loop in {path} began with {option} {before!r}, not {value!r}. Its error "
                    "rate holds for constant settings: pass {before!r}, or another ledger.",
                    path=str(self.path),
                    option=name,
                    before=line[name],
                    value=value,
                )


def _append(file: BinaryIO, line: Mapping[str, Any]) -> None:
    file.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def digest_of(predictions: Predictions) -> str:
    """Return a digest of the first runs, which stays the same when runs are added."""
    source, digest = predictions.source.some_runs(range(N_IDENTIFYING)), blake2b(digest_size=16)
    for index in range(source.n_shards):
        shard = source.shard(index)
        arrays = [shard.probs, shard.predictions]
        arrays += [] if shard.top is None else [shard.top.classes, shard.top.probs]
        for array in arrays:
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
