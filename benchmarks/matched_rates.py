"""False positive rates of comparisons at matched rates, printed as Markdown.

    python benchmarks/matched_rates.py --studies 500 > matched_rates.md

Takes about 10 minutes on one core. The docs page on comparing shows its output.

Both arms rank the examples alike, so every difference at matched rates is a false positive.
"""

import argparse
from tempfile import TemporaryDirectory

import numpy as np

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location

N_RUNS, N_EXAMPLES = 10, 500
FIGURES = ("flip_rate", "label_entropy_corrected", "accuracy_sd")
# Standard deviations of the logits: over examples, of single predictions, of whole runs.
EXAMPLE_SD, PREDICTION_SD, DRIFT = 2.0, 1.0, 1.0
SEEDS = tuple(str(run) for run in range(N_RUNS))


def draw(
    rng: np.random.Generator, drifts: tuple[float, float], *, is_paired: bool
) -> list[ArmData]:
    """Draw the two arms of a study; `drifts` has the standard deviations of their thresholds."""
    logits = EXAMPLE_SD * rng.standard_normal(N_EXAMPLES)
    labels = (rng.random(N_EXAMPLES) < 1 / (1 + np.exp(-logits))).astype(int)
    arms = []
    for name, drift in zip(("base", "arm"), drifts, strict=True):
        runs = logits + PREDICTION_SD * rng.standard_normal((N_RUNS, N_EXAMPLES))
        positive = 1 / (1 + np.exp(-runs - drift * rng.standard_normal((N_RUNS, 1))))
        source = ArrayShards(np.stack([1 - positive, positive], axis=2), labels=labels)
        arms.append(ArmData(name, source, SEEDS if is_paired else None))
    return arms


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    names = " | ".join(f"`{name}`" for name in FIGURES)
    print(f"| thresholds drift in | treated | rates | {names} |")
    print("|---" * (3 + len(FIGURES)) + "|", flush=True)
    for drifting, drifts in (("both arms", (DRIFT, DRIFT)), ("the baseline alone", (DRIFT, 0.0))):
        for is_paired in (True, False):
            shown = np.zeros((2, len(FIGURES)), dtype=int)
            for _ in range(options.studies):
                arms = draw(rng, drifts, is_paired=is_paired)
                with TemporaryDirectory(prefix="seedproof-") as folder:
                    for match_rates in (False, True):
                        result = compare_arms(arms, Location.of(folder), match_rates=match_rates)
                        effects = result.arms[0].effects
                        shown[int(match_rates)] += [effects[name].is_shown for name in FIGURES]
            for rates, counts in zip(("as they are", "matched"), shown, strict=True):
                shares = [f"{100 * count / options.studies:.1f} %" for count in counts]
                treated = "paired" if is_paired else "unpaired"
                print(f"| {' | '.join([drifting, treated, rates, *shares])} |", flush=True)


if __name__ == "__main__":
    main()
