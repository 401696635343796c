"""Examples on the map of their data set: confidence and variability over the steps of a run."""

import numpy as np

from seedproof.measurement.dynamics import N_CELLS, DynamicsMeasurement
from seedproof.messages import Message
from seedproof.report.figures.base import Figure


def cartography(dynamics: DynamicsMeasurement) -> tuple[Figure, ...]:
    """Return the map as counts in cells; nothing without gold labels or probabilities."""
    counts = dynamics.cartography
    if counts is None:
        return ()
    width, height, n_examples = 1 / N_CELLS, 0.5 / N_CELLS, int(counts.sum())
    top = max(float(counts.max()), 2.0)
    by_confidence = counts.sum(axis=1)
    return (
        Figure(
            name="cartography",
            section="Dynamics",
            title="Confidence and variability over the steps, by count",
            takeaway=Message(
                "low-confidence",
                "On {n_low:,} of {n_examples:,} examples the gold label gets less than half of "
                "the probability, on average over the steps.",
                n_low=int(by_confidence[: N_CELLS // 2].sum()),
                n_examples=n_examples,
            ),
            reading=[
                Message(
                    "counts-by-color",
                    "Stronger color: more examples, on a logarithmic scale. Left: hard to learn; "
                    "right: easy; high up: ambiguous.",
                )
            ],
            rows=[
                {
                    "x": row * width,
                    "x2": (row + 1) * width,
                    "y": column * height,
                    "y2": (column + 1) * height,
                    "count": int(counts[row, column]),
                    # Six shades, by the logarithm of the count.
                    "step": round(5 * float(np.log(counts[row, column]) / np.log(top))),
                }
                for row, column in np.argwhere(counts > 0)
            ],
            facts={
                "x": "mean probability of the gold label, over the steps",
                "y": "its standard deviation",
            },
            legend=[("band", "r3", "examples")],
            header=("confidence", "examples"),
            numbers=[
                (f"{row * width:.2f}–{(row + 1) * width:.2f}", f"{count:,}")
                for row, count in enumerate(by_confidence)
                if count
            ],
        ),
    )
