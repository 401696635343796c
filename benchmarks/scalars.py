"""Check intervals and verdicts of one number per run on simulated runs, whose truth is known.

Coverage: the share of studies whose 95 % interval of the mean, or of the standard deviation over
runs, covers the truth. False verdicts: the share of comparisons of identical arms in which the
primary metric, or any of the exploratory rows, shows a difference for some arm.

Usage: python benchmarks/scalars.py [--studies 1000] [--seed 0]
"""

import argparse
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from seedproof.comparison.arms.compared_runs import runs_to_compare
from seedproof.scalars.compare import compare
from seedproof.scalars.runs import ScalarArm, Scalars
from seedproof.typing import FloatArray

# Standard deviation of the logarithm of skewed numbers; their skewness is 1.75.
LOG_SD = 0.5
# Correlation, before any skew, of paired runs.
CORRELATION = 0.5


@dataclass(frozen=True)
class Design:
    """Runs of arms that do not differ, with two metrics."""

    kind: Literal["normal", "skewed"]
    n_runs: int
    n_arms: int = 1  # besides the baseline
    is_paired: bool = False

    def draw(self, rng: np.random.Generator) -> Scalars:
        """Draw the runs of all arms."""
        shared = np.sqrt(CORRELATION) * rng.standard_normal((2, self.n_runs))
        seeds = tuple(map(str, range(self.n_runs)))
        arms = {}
        for index in range(self.n_arms + 1):
            latent = rng.standard_normal((2, self.n_runs))
            if self.is_paired:
                latent = shared + np.sqrt(1 - CORRELATION) * latent
            first, second = self.numbers(latent)
            values = {"return": first, "loss": second}
            name = f"arm {index}"
            arms[name] = ScalarArm(name, seeds, values, seeds if self.is_paired else None)
        return Scalars(arms)

    def numbers(self, latent: FloatArray) -> FloatArray:
        """Return the numbers of runs."""
        return np.exp(LOG_SD * latent) if self.kind == "skewed" else latent

    @property
    def truth(self) -> dict[str, float]:
        """True mean and standard deviation."""
        if self.kind == "normal":
            return {"return": 0.0, "return_sd": 1.0}
        square = float(np.exp(LOG_SD**2))
        return {"return": np.sqrt(square), "return_sd": np.sqrt((square - 1) * square)}


def coverage(design: Design, n_studies: int, seed: int) -> dict[str, float | None]:
    """Return the share of intervals that cover the truth; None for figures without intervals."""
    rng = np.random.default_rng([seed, design.n_runs, 0])
    hits = dict.fromkeys(design.truth, 0)
    n_intervals = dict.fromkeys(design.truth, 0)
    for _ in range(n_studies):
        figures = next(iter(design.draw(rng).arms.values())).metrics
        for name, truth in design.truth.items():
            low, high = figures[name].low, figures[name].high
            if low is not None and high is not None:
                n_intervals[name] += 1
                hits[name] += low <= truth <= high
    return {name: hits[name] / n_intervals[name] if n_intervals[name] else None for name in hits}


def false_verdicts(design: Design, n_studies: int, seed: int) -> tuple[float, float]:
    """Return the share of studies with a false primary verdict, and with any other false one."""
    rng = np.random.default_rng([seed, design.n_runs, 1])
    n_primary = n_other = 0
    for _ in range(n_studies):
        scalars = design.draw(rng)
        runs = runs_to_compare([design.n_runs] * len(scalars.arms))
        effects = [
            effect
            for pair in compare(scalars, runs, primary="return").pairs
            for effect in pair.effects.values()
        ]
        n_primary += any(effect.is_shown for effect in effects if not effect.exploratory)
        n_other += any(effect.is_shown for effect in effects if effect.exploratory)
    return n_primary / n_studies, n_other / n_studies


def main() -> None:
    """Print the table of coverage, and that of false verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| numbers | runs | mean, % | sd, % |\n|---|---|---|---|")
    for kind, n_runs in product(("normal", "skewed"), (3, 5, 10)):
        rates = coverage(Design(kind, n_runs), options.studies, options.seed).values()
        cells = " | ".join("–" if rate is None else f"{100 * rate:.1f}" for rate in rates)
        print(f"| {kind} | {n_runs} | {cells} |", flush=True)
    print("\n| numbers | runs | arms | paired | primary, % | any other, % |")
    print("|---" * 6 + "|")
    for kind, n_runs, n_arms, is_paired in product(
        ("normal", "skewed"), (5, 10), (1, 3), (False, True)
    ):
        design = Design(kind, n_runs, n_arms, is_paired)
        primary, other = false_verdicts(design, options.studies, options.seed)
        about = f"{kind} | {n_runs} | {n_arms} | {'yes' if is_paired else 'no'}"
        print(f"| {about} | {100 * primary:.1f} | {100 * other:.1f} |", flush=True)


if __name__ == "__main__":
    main()
