"""Observations of one training as plain data, and how two of them differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from seedproof.doctor.finding import Phrases
from seedproof.messages import Message


@dataclass(frozen=True)
class SeedCall:
    """A call that seeds a generator, with its value as text and the user's line."""

    function: str
    value: str
    where: str
    is_late: bool = False  # the generator had been used before
    is_undone: bool = False  # the generator was restored to its state before the call


@dataclass
class SplitSeen:
    """Predictions that were logged for one split, in their order."""

    ids: list[str] = field(default_factory=list)  # or positions
    labels: list[str] = field(default_factory=list)  # or empty texts
    values: list[bytes] = field(default_factory=list)  # or their digests
    answers: list[str] = field(default_factory=list)  # predicted classes; none for other kinds
    has_probs: bool = False
    has_ids: bool = True

    def by_id(self, column: Sequence[Any]) -> dict[str, Any]:
        """Return a column by the ids of its examples."""
        # A training that is stopped while it logs may have an id without its value.
        return dict(zip(self.ids, column, strict=False))


@dataclass
class Observed:
    """Observations of one training; places are lines of the user's code."""

    splits: dict[str, SplitSeen] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)  # digests by step; 0 is the start
    starts: list[str] = field(default_factory=list)  # digest of each optimizer's initial weights
    n_steps: int = 0
    seed_calls: list[SeedCall] = field(default_factory=list)  # of global generators
    generators: list[SeedCall] = field(default_factory=list)  # created from a number
    unseeded: list[str] = field(default_factory=list)  # places that create them without a seed
    workers: list[str] = field(default_factory=list)  # places that start threads or processes
    sources: set[str] = field(default_factory=set)  # requested from the run
    thread_calls: list[str] = field(default_factory=list)  # places that set torch's threads
    n_threads: int | None = None  # of torch at the end
    files: list[str] = field(default_factory=list)  # written near the code or in this folder
    is_cut: bool = False  # by the budget

    def predictions(self) -> dict[str, dict[str, bytes]]:
        """Return the prediction for each example, by split and id."""
        return {split: log.by_id(log.values) for split, log in self.splits.items()}


def differences(first: Observed, second: Observed) -> Phrases:
    """Return what differs between two training runs; empty if nothing does."""
    return Phrases(
        (*_differences_of_weights(first, second), *_differences_of_predictions(first, second))
    )


def _differences_of_weights(first: Observed, second: Observed) -> Iterator[Message]:
    for step in sorted(first.weights.keys() & second.weights.keys()):
        if first.weights[step] != second.weights[step]:
            template = "the weights after step {step}" if step else "the weights at the start"
            yield Message("weights", template, step=step)
            return  # later differences follow from the first


def _differences_of_predictions(first: Observed, second: Observed) -> Iterator[Message]:
    ours, others = first.predictions(), second.predictions()
    is_cut = first.is_cut or second.is_cut
    for split in sorted(ours.keys() & others.keys()):
        ids = ours[split].keys() & others[split].keys()
        n_changed = sum(ours[split][example] != others[split][example] for example in ids)
        if n_changed:
            yield Message(
                "predictions",
                "{n_changed} of {n_examples} predictions on {split!r}",
                n_changed=n_changed,
                n_examples=len(ids),
                split=split,
            )
        if ours[split].keys() != others[split].keys() and not is_cut:
            yield Message("ids", "the ids of the examples in {split!r}", split=split)
    if ours.keys() != others.keys() and not is_cut:
        yield Message("splits", "the names of the splits")


def compared(first: Observed, second: Observed) -> Phrases:
    """Return what could be compared between two training runs; empty if nothing."""
    parts = []
    if first.weights and second.weights:
        n_steps = min(first.n_steps, second.n_steps)
        template = "the weights over {n_steps} " + plural("step", n_steps)
        parts.append(Message("weights", template, n_steps=n_steps))
    ours, others = first.predictions(), second.predictions()
    counts = {
        split: len(ours[split].keys() & others[split].keys()) for split in ours.keys() & others
    }
    for split in sorted(counts, key=lambda split: (str(counts[split]), split), reverse=True):
        template = "{n_examples} " + plural("prediction", counts[split]) + " on {split!r}"
        parts.append(Message("predictions", template, n_examples=counts[split], split=split))
    return Phrases(tuple(parts))


def plural(noun: str, number: int) -> str:
    """Return a noun as it follows a number."""
    return noun if number == 1 else f"{noun}s"
