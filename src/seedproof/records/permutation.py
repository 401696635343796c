"""Changes in the output of a model if its attention weights are shuffled, per example."""

from dataclasses import dataclass

from seedproof.errors import ShapeError
from seedproof.typing import FloatArray

# Arrays with one number per example.
CHANGES = ("probability_change", "probability_floor", "logit_change", "logit_floor")


@dataclass(frozen=True, eq=False, kw_only=True)
class PermutedAttention:
    """Outputs of a model, and how far they move if its attention weights are shuffled.

    Changes are means over shuffles of absolute differences, for the class that the model predicts.
    They are unbiased for any number of shuffles, and 0 if the output does not depend on weights.
    Floors are the same between two shuffles: on average, weights that are assigned to positions at
    random change as much.

    Args:
        probs: Probabilities with the weights as they are, axes (examples, classes).
        probability_change: Change of the probability of the predicted class: (examples).
        probability_floor: Its difference between two shuffles: (examples).
        logit_change: Change of the log odds of that class, which do not saturate: (examples).
        logit_floor: Their difference between two shuffles: (examples).
        n_shuffles: Number of shuffles per example.

    Raises:
        ShapeError: The axes do not fit each other.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> permuted = sp.PermutedAttention(
        ...     probs=np.array([[0.9, 0.1], [0.4, 0.6]]),
        ...     probability_change=np.array([0.02, 0.1]),
        ...     probability_floor=np.array([0.02, 0.05]),
        ...     logit_change=np.array([0.2, 0.4]),
        ...     logit_floor=np.array([0.2, 0.2]),
        ...     n_shuffles=100,
        ... )
        >>> len(permuted)
        2
    """

    probs: FloatArray
    probability_change: FloatArray
    probability_floor: FloatArray
    logit_change: FloatArray
    logit_floor: FloatArray
    n_shuffles: int

    def __post_init__(self) -> None:
        if self.probs.ndim != 2:
            raise ShapeError(
                "Probabilities have the shape {shape!s}. Pass the axes (examples, classes).",
                shape=self.probs.shape,
            )
        for name in CHANGES:
            shape = getattr(self, name).shape
            if shape != self.probs.shape[:1]:
                raise ShapeError(
                    "`{argument}` has the shape {shape!s}, and there are {n_examples} examples. "
                    "Pass one number per example.",
                    argument=name,
                    shape=shape,
                    n_examples=len(self.probs),
                )

    def __len__(self) -> int:
        return len(self.probs)
