"""Print the figures of the page on traps.

Each example has two classes and a probability that a run predicts "1". The tables show what such a
model gives with few runs and with many.

Usage: python docs/scripts/traps.py
"""

from math import exp, lgamma, sqrt

import numpy as np

from seedproof.metrics.batch import Batch
from seedproof.metrics.entropy import HIGH_ENTROPY, label_entropy, label_entropy_corrected
from seedproof.metrics.flips import flip_rate

N_EXAMPLES = 200_000
RUNS = (5, 10, 20, 50)


def draw(n_runs: int, chance: np.ndarray, rng: np.random.Generator) -> Batch:
    """Return predictions of `n_runs` runs that draw their answers independently."""
    predictions = rng.random((n_runs, len(chance))) < chance
    return Batch(predictions.astype(np.int32), n_classes=2)


def entropies(n_runs: int, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the plug-in label entropy of each example, from new runs."""
    return label_entropy(draw(n_runs, chance, rng).agreement).values


def shrinkage(n_runs: int) -> float:
    """Return the expected sd of n normal values as a share of the true sd (known as c4)."""
    return sqrt(2 / (n_runs - 1)) * exp(lgamma(n_runs / 2) - lgamma((n_runs - 1) / 2))


def main() -> None:
    """Print one table per trap."""
    rng = np.random.default_rng(0)

    print("An example on which 75 % of all runs agree (true entropy 0.562)")
    print("runs  plug-in  corrected  flip rate")
    chance = np.full(N_EXAMPLES, 0.75)
    for n_runs in RUNS:
        agreement = draw(n_runs, chance, rng).agreement
        means = [f(agreement).values.mean() for f in (label_entropy, label_entropy_corrected)]
        flips = flip_rate(agreement).values.mean()
        print(f"{n_runs:4}  {means[0]:7.3f}  {means[1]:9.3f}  {flips:9.3f}")

    # Normal logits: most examples are clear, some are not.
    chance = 1 / (1 + np.exp(-rng.normal(0, 3, N_EXAMPLES)))

    print("\nThe same model, measured with more and more runs")
    print("runs  flip rate  entropy  ambiguity  high-entropy share  sd share")
    for n_runs in RUNS:
        batch = draw(n_runs, chance, rng)
        entropy = label_entropy(batch.agreement).values
        flips = flip_rate(batch.agreement).values.mean()
        ambiguity = (batch.agreement[0] < n_runs).mean()
        high = (entropy > HIGH_ENTROPY).mean()
        print(
            f"{n_runs:4}  {flips:9.3f}  {entropy.mean():7.3f}  {ambiguity:9.3f}"
            f"  {high:18.3f}  {shrinkage(n_runs):8.3f}"
        )

    print("\nApparent reduction on examples above 0.56, for arms without any difference")
    print("runs  selected on the same runs  selected on other runs")
    for n_runs in RUNS:
        baseline, other, selector = (entropies(n_runs, chance, rng) for _ in range(3))
        reductions = [
            1 - other[selected].mean() / baseline[selected].mean()
            for selected in (baseline > HIGH_ENTROPY, selector > HIGH_ENTROPY)
        ]
        print(f"{n_runs:4}  {reductions[0]:25.1%}  {reductions[1]:22.1%}")


if __name__ == "__main__":
    main()
