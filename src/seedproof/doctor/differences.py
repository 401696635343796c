"""Comparison of two trainings: what differs, and what could be compared at all."""

from collections.abc import Iterator

from seedproof.doctor.finding import Phrases
from seedproof.doctor.observation import Observed
from seedproof.messages import Message


def differences(one: Observed, two: Observed) -> Phrases:
    """Return what differs between two trainings; empty if nothing does."""
    return Phrases((*_of_weights(one, two), *_of_predictions(one, two)))


def _of_weights(one: Observed, two: Observed) -> Iterator[Message]:
    """The first step at which weights differ: later ones follow from it."""
    for step in sorted(one.weights.keys() & two.weights.keys()):
        if one.weights[step] != two.weights[step]:
            template = "the weights after step {step}" if step else "the weights at the start"
            yield Message("weights", template, step=step)
            return


def _of_predictions(one: Observed, two: Observed) -> Iterator[Message]:
    mine, theirs = one.predictions(), two.predictions()
    for split in sorted(mine.keys() & theirs.keys()):
        ids = mine[split].keys() & theirs[split].keys()
        changed = [example for example in ids if mine[split][example] != theirs[split][example]]
        if changed:
            yield Message(
                "predictions",
                "{n_changed} of {n_examples} predictions on {split!r}",
                n_changed=len(changed),
                n_examples=len(ids),
                split=split,
            )
        if mine[split].keys() != theirs[split].keys() and not (one.is_cut or two.is_cut):
            yield Message("ids", "the ids of the examples in {split!r}", split=split)
    if mine.keys() != theirs.keys() and not (one.is_cut or two.is_cut):
        yield Message("splits", "the names of the splits")


def compared(one: Observed, two: Observed) -> Phrases:
    """Return what two trainings have in common, and could be compared; empty if nothing."""
    parts = []
    if one.weights and two.weights:
        n_steps = min(one.n_steps, two.n_steps)
        template = "the weights over {n_steps} " + plural("step", n_steps)
        parts.append(Message("weights", template, n_steps=n_steps))
    mine, theirs = one.predictions(), two.predictions()
    counts = {
        split: len(mine[split].keys() & theirs[split].keys()) for split in mine.keys() & theirs
    }
    for split in sorted(counts, key=lambda split: (str(counts[split]), split), reverse=True):
        template = "{n_examples} " + plural("prediction", counts[split]) + " on {split!r}"
        parts.append(Message("predictions", template, n_examples=counts[split], split=split))
    return Phrases(tuple(parts))


def plural(noun: str, number: int) -> str:
    """Return a noun as it follows a number."""
    return noun if number == 1 else f"{noun}s"
