"""Short requests and what they ask for: utterances with the intent or domain of each."""

from dataclasses import dataclass

import numpy as np

from seedproof.errors import ShapeError
from seedproof.typing import IntArray


@dataclass(frozen=True, eq=False)
class Utterances:
    """One split of a data set.

    Args:
        ids: Number of each utterance in its source: it does not change when some are left out.
        texts: The utterances as they were typed.
        labels: Gold class of each, as an index.
    """

    ids: IntArray
    texts: tuple[str, ...]
    labels: IntArray

    def __post_init__(self) -> None:
        sizes = {len(self.ids), len(self.texts), len(self.labels)}
        if len(sizes) != 1:
            raise ShapeError(
                f"Ids, texts and labels have different lengths: {sorted(sizes)}. "
                "Give one of each an example."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, chosen: IntArray) -> "Utterances":
        """The utterances at some positions, with the ids that they had."""
        return Utterances(
            self.ids[chosen], tuple(self.texts[i] for i in chosen), self.labels[chosen]
        )

    def smaller(self, n: int | None, *, seed: int) -> "Utterances":
        """A fixed random part of so many utterances, in their order; all of them without a number.

        Args:
            n: How many.
            seed: Which part.

        Returns:
            At most as many as there are.
        """
        if n is None or n >= len(self):
            return self
        chosen = np.random.default_rng(seed).permutation(len(self))[:n]
        return self.at(np.sort(chosen))


@dataclass(frozen=True, eq=False)
class IntentData:
    """A data set of utterances.

    Args:
        name: What it is called.
        classes: Names of the classes, in the order of their indices.
        train: What is trained on.
        dev: What settings are chosen by.
        test: What is measured.
    """

    name: str
    classes: tuple[str, ...]
    train: Utterances
    dev: Utterances
    test: Utterances

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)
