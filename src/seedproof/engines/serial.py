"""Serial engine: one item after the other in this process, so that breakpoints work."""

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import replace

from seedproof.engines.base import Failure, Item, OnStart, Outcome, Result, Task
from seedproof.errors import SeedproofError
from seedproof.messages import Message


class SerialEngine:
    """Engine that runs the items one after the other, in this process."""

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], *, on_start: OnStart | None = None
    ) -> Iterator[Outcome[Result]]:
        """Call the task with every item, in order."""
        for index, item in enumerate(items):
            if on_start is not None:
                on_start(index)
            yield attempt(task, item, index)


def attempt(task: Task[Item, Result], item: Item, index: int = 0) -> Outcome[Result]:
    """Call the task in this process, and return its result or its failure."""
    try:
        return Outcome(index, task(item))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a task may raise anything
        return Outcome(index, failure=as_failure(error))


def as_picklable(outcome: Outcome[Result]) -> Outcome[Result]:
    """Return an outcome that can be sent to another process.

    The user's exceptions may fail to unpickle, so only their text is sent; those of this package
    are kept.
    """
    failure = outcome.failure
    if failure is None or isinstance(failure.error, SeedproofError):
        return outcome
    return replace(outcome, failure=replace(failure, error=None))


def as_failure(error: BaseException) -> Failure:
    """Convert an exception to a failure with its first line and its traceback."""
    try:
        reason = str(error).strip().split("\n", maxsplit=1)[0]
    except Exception:  # noqa: BLE001 - the exception's `__str__` may be broken
        reason = ""
    template = "{error_type}: {reason}" if reason else "{error_type}"
    message = Message("raised", template, error_type=type(error).__name__, reason=reason)
    return Failure("failed", message, "".join(traceback.format_exception(error)), error)
