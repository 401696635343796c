"""Where work is done. An engine knows neither runs nor metrics: it maps a task over items."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What became of one item.

    Args:
        index: Its place among the items.
        result: What the task returned.
    """

    index: int
    result: Result


class Engine(Protocol):
    """Maps a task over items; outcomes may come in any order, each with its index."""

    def map(
        self, task: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item."""
