"""Where work is done. An engine knows neither runs nor metrics: it maps a task over items."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, cast

from seedproof.errors import OptionError, TaskError
from seedproof.messages import Message
from seedproof.typing import is_count

Item = TypeVar("Item")
Result = TypeVar("Result")

OnStart = Callable[[int], None]

# What libraries look at when they are loaded, to see how many threads they may start.
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
        status: `failed` if the task raised, `killed` if its process died, `timeout` if it was
            stopped because it took too long.
        message: One line, with what is known as fields.
        traceback: Where it raised, as text.
        error: The exception itself, if it was raised in this process.
    """

    status: Literal["failed", "killed", "timeout"]
    message: Message
    traceback: str = ""
    error: BaseException | None = None


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What became of one item.

    Args:
        index: Its place among the items.
        result: What the task returned.
        failure: Why it did not return.
        attempts: How often it was tried.
    """

    index: int
    result: Result | None = None
    failure: Failure | None = None
    attempts: int = 1

    def value(self) -> Result:
        """What the task returned.

        Returns:
            The result.

        Raises:
            TaskError: There is none.
        """
        if self.failure is None:
            return cast("Result", self.result)
        if self.failure.error is not None:
            raise self.failure.error
        raise TaskError("Item {index}: {message}", index=self.index, message=self.failure.message)


class Engine(Protocol):
    """Maps a task over items; outcomes may come in any order, each with its index."""

    def map(
        self,
        task: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_start: OnStart | None = None,
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item.

        Whoever stops asking for outcomes and closes the iterator stops the work.

        Args:
            task: A callable that can travel by cloudpickle.
            items: What to call it with, each alone.
            on_start: Told the index of each item whose work begins.

        Returns:
            One outcome an item, as they come.
        """


def check_settings(
    *, workers: int | None = None, retries: int = 0, timeout: float | None = None, threads: int = 1
) -> None:
    """Refuse settings that no engine can keep to.

    Args:
        workers: How many items at a time.
        retries: How often an item is tried again after its process died.
        timeout: Seconds that an item may take.
        threads: How many threads a task may use.

    Raises:
        OptionError: One of them is out of range.
    """
    for name, value, least in (
        ("workers", workers, 1),
        ("retries", retries, 0),
        ("threads", threads, 1),
    ):
        if value is not None and not is_count(value, least):
            raise OptionError(
                "{option} is {number!r}. Give a whole number, {least} or more.",
                option=name,
                number=value,
                least=least,
            )
    if timeout is not None and not timeout > 0:
        raise OptionError(
            "A timeout of {timeout!r} is not possible. Give seconds above 0.", timeout=timeout
        )


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(outcomes: Iterator[Outcome[Result]]) -> Iterator[Result]:
    """Results by index, whatever the order in which they come; early ones wait."""
    waiting: dict[int, Result] = {}
    following = 0
    for outcome in outcomes:
        waiting[outcome.index] = outcome.value()
        while following in waiting:
            yield waiting.pop(following)
            following += 1
