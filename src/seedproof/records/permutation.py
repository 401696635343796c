"""What shuffled attention weights change in the output of a model, per example."""

from dataclasses import dataclass

from seedproof.typing import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class PermutedAttention:
    """Outputs of a model, and how far they move if its attention weights are shuffled.

    Changes are means over shuffles of absolute differences, for the class that the model predicts.
    They are unbiased for any number of shuffles. Floors are the same between two shuffles: if the
    weights were assigned to positions at random, the change would equal the floor on average.

    Args:
        probs: Probabilities with the weights as they are, axes (examples, classes).
        probability_change: Change of the probability of the predicted class: (examples).
        probability_floor: Its difference between two shuffles: (examples).
        logit_change: Change of the log odds of that class, which do not saturate: (examples).
        logit_floor: Their difference between two shuffles: (examples).
        n_shuffles: Number of shuffles per example.
    """

    probs: FloatArray
    probability_change: FloatArray
    probability_floor: FloatArray
    logit_change: FloatArray
    logit_floor: FloatArray
    n_shuffles: int

    def __len__(self) -> int:
        return len(self.probs)
