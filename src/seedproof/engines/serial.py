"""One item after the other, in this process: breakpoints work."""

from collections.abc import Callable, Iterable, Iterator

from seedproof.engines.base import Item, Outcome, Result


class SerialEngine:
    """Does the work here and now, in order."""

    def map(
        self, task: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item, in order."""
        for index, item in enumerate(items):
            yield Outcome(index, task(item))
