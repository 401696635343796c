"""What one training did, as far as the doctor saw: plain data that travels between processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SeedCall:
    """A call that seeds a generator.

    Args:
        function: Such as "torch.manual_seed".
        value: The seed, as text.
        where: File and line of the user's code.
        is_late: Whether something had been drawn from that generator before.
        is_undone: Whether the generator was put back to where it was before the call.
    """

    function: str
    value: str
    where: str
    is_late: bool = False
    is_undone: bool = False


@dataclass
class SplitSeen:
    """What was logged for one split, in the order in which it came.

    Args:
        ids: Id of each example; its position if none was given.
        labels: Gold class of each example; empty if none was given.
        values: What was said of each example: its bits, or a digest of them.
        has_ids: Whether ids were given.
    """

    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    has_ids: bool = True

    def by_id(self, column: Sequence[Any]) -> dict[str, Any]:
        """One column by the ids of its examples."""
        # A training that is ended while it logs may have kept an id without its value.
        return dict(zip(self.ids, column, strict=False))


@dataclass
class Observed:
    """What one training did.

    Args:
        splits: What it logged.
        weights: Digest of the weights at some steps; 0 is before the first.
        starts: Digest of the weights that each optimizer began with.
        n_steps: Optimizer steps that it made.
        seed_calls: Calls that seeded a global generator.
        generators: Calls that made a generator from a number.
        unseeded: Where a generator was made without a seed.
        workers: Where threads or processes were started.
        sources: Sources that it asked the run for.
        thread_calls: Where it told torch how many threads to use.
        n_threads: Threads that torch used at the end; None without torch.
        files: Files beside the code, or in the current folder, that it left behind or changed.
        is_cut: Whether the budget ended it.
    """

    splits: dict[str, SplitSeen] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)
    starts: list[str] = field(default_factory=list)
    n_steps: int = 0
    seed_calls: list[SeedCall] = field(default_factory=list)
    generators: list[SeedCall] = field(default_factory=list)
    unseeded: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    thread_calls: list[str] = field(default_factory=list)
    n_threads: int | None = None
    files: list[str] = field(default_factory=list)
    is_cut: bool = False

    def predictions(self) -> dict[str, dict[str, bytes]]:
        """What was said of each example, by split and id."""
        return {split: seen.by_id(seen.values) for split, seen in self.splits.items()}
