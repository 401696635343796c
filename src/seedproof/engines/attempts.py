"""Attempts at each item of a map, with retries after a crash."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seedproof.engines.base import Item, Outcome, Result, Task


@dataclass(frozen=True)
class Request:
    """Pickled work for a fresh process, with the paths and arguments of the coordinator."""

    task: bytes
    item: bytes
    path: tuple[str, ...]  # an empty entry is the current folder
    argv: tuple[str, ...]
    folder: str  # entered if it exists there


@dataclass(frozen=True)
class Attempt:
    """One attempt at an item; the first has the number 1."""

    index: int
    request: Request
    number: int = 1


class Attempts:
    """Queue of attempts; items are read as needed, and repeated after a crash of their process."""

    def __init__(self, task: Task[Item, Result], items: Iterable[Item], retries: int) -> None:
        import cloudpickle

        path, argv, folder = tuple(sys.path), tuple(sys.argv), str(Path.cwd())
        packed = cloudpickle.dumps(task)
        self._fresh = (
            Attempt(index, Request(packed, cloudpickle.dumps(item), path, argv, folder))
            for index, item in enumerate(items)
        )
        self._again: list[Attempt] = []
        self._retries = retries
        self._n_handed_out = 0
        self._open: set[int] = set()

    def following(self, ahead: int | None = None) -> Attempt | None:
        """Return the next attempt; None while there is nothing to do."""
        if self._again:
            return self._again.pop()
        first = min(self._open, default=self._n_handed_out)
        if ahead is not None and self._n_handed_out >= first + ahead:
            return None
        attempt = next(self._fresh, None)
        if attempt is not None:
            self._n_handed_out += 1
            self._open.add(attempt.index)
        return attempt

    def settled(self, attempt: Attempt, outcome: Outcome[Any]) -> Iterator[Outcome[Any]]:
        """Yield the outcome of an attempt, unless the item is retried."""
        has_crashed = outcome.failure is not None and outcome.failure.status == "killed"
        if has_crashed and attempt.number <= self._retries:
            self._again.append(replace(attempt, number=attempt.number + 1))
        else:
            self._open.discard(attempt.index)
            yield outcome
