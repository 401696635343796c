"""Protocol of engines, which map a task over items and know neither runs nor metrics."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, cast

from seedproof.errors import OptionError, TaskError
from seedproof.messages import Message
from seedproof.typing import is_count

Item = TypeVar("Item")
Result = TypeVar("Result")

Task: TypeAlias = Callable[[Item], Result]
OnStart: TypeAlias = Callable[[int], None]

# Libraries read these when they are loaded.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Failure:
    """Why an item has no result.

    Args:
        status: `failed` if the task raised, `killed` if its process crashed, `timeout` if it took
            too long.
        message: One line, with details as fields.
        traceback: Traceback as text.
        error: The exception, if it was raised in this process.
    """

    status: Literal["failed", "killed", "timeout"]
    message: Message
    traceback: str = ""
    error: BaseException | None = None


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """Outcome of one item.

    Args:
        index: Position of the item.
        result: Result of the task.
        failure: Why there is no result.
        attempts: Number of attempts.
    """

    index: int
    result: Result | None = None
    failure: Failure | None = None
    attempts: int = 1

    def value(self) -> Result:
        """Return the result, or raise the failure.

        Returns:
            Result of the task.

        Raises:
            TaskError: There is no result.
        """
        if self.failure is None:
            return cast("Result", self.result)
        if self.failure.error is not None:
            raise self.failure.error
        raise TaskError("Item {index}: {message}", index=self.index, message=self.failure.message)


class Engine(Protocol):
    """Maps a task over items; outcomes come in any order, each with its index."""

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], *, on_start: OnStart | None = None
    ) -> Iterator[Outcome[Result]]:
        """Call the task with every item; closing the iterator stops the work.

        Args:
            task: A callable that cloudpickle can serialize.
            items: Arguments of the task, one per call.
            on_start: Called with the index of each item when its work begins.

        Returns:
            One outcome per item, in the order in which they finish.
        """


def check_settings(
    *, workers: int | None = None, retries: int = 0, timeout: float | None = None, threads: int = 1
) -> None:
    """Refuse settings that are out of range."""
    for name, value, least in (
        ("workers", workers, 1),
        ("retries", retries, 0),
        ("threads", threads, 1),
    ):
        if value is not None and not is_count(value, least):
            raise OptionError(
                "{option} is {number!r}. Pass a whole number, {least} or more.",
                option=name,
                number=value,
                least=least,
            )
    if timeout is not None and not timeout > 0:
        raise OptionError(
            "A timeout of {timeout!r} is not allowed. Pass seconds above 0.", timeout=timeout
        )


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(outcomes: Iterator[Outcome[Result]]) -> Iterator[Result]:
    """Yield results in the order of their index; early ones wait."""
    waiting: dict[int, Result] = {}
    following = 0
    for outcome in outcomes:
        waiting[outcome.index] = outcome.value()
        while following in waiting:
            yield waiting.pop(following)
            following += 1
