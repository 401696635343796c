"""One item after the other, in this process: breakpoints work."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from seedproof.engines.base import Failure, Item, OnStart, Outcome, Result
from seedproof.errors import SeedproofError
from seedproof.messages import Message


class SerialEngine:
    """Does the work here and now, in order.

    A task that raises is an outcome like any other; one that ends the process ends all.
    """

    def map(
        self,
        task: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_start: OnStart | None = None,
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item, in order."""
        for index, item in enumerate(items):
            if on_start is not None:
                on_start(index)
            yield attempt(task, item, index)


def attempt(task: Callable[[Item], Result], item: Item, index: int = 0) -> Outcome[Result]:
    """The outcome of doing a task here and now."""
    try:
        return Outcome(index, task(item))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the task raises
        return Outcome(index, failure=as_failure(error))


def for_travel(outcome: Outcome[Result]) -> Outcome[Result]:
    """An outcome as it goes to another process.

    An exception of the user's may not survive the way; its text does. Ours are made of it.
    """
    failure = outcome.failure
    if failure is None or isinstance(failure.error, SeedproofError):
        return outcome
    return replace(outcome, failure=replace(failure, error=None))


def as_failure(error: BaseException) -> Failure:
    """An exception as it is recorded: its last line, and where it came from."""
    try:
        reason = str(error).strip().split("\n", maxsplit=1)[0]
    except Exception:  # noqa: BLE001 - an error that cannot even say what is wrong
        reason = ""
    template = "{error_type}: {reason}" if reason else "{error_type}"
    message = Message("raised", template, error_type=type(error).__name__, reason=reason)
    return Failure("failed", message, "".join(traceback.format_exception(error)), error)
