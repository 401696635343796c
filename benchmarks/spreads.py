"""Error rates of compared spreads of paired runs in simulated studies, printed as Markdown.

    python benchmarks/spreads.py --studies 2000 > spreads.md

Takes about five minutes on one core. The docs page on comparing shows its output.
"""

import argparse
from collections.abc import Callable

import numpy as np

from seedproof.stats.spread_ratio import spread_ratio
from seedproof.typing import FloatArray

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


def with_bad_runs(rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    """Return normal values, one in ten of them far too low."""
    values = rng.standard_normal(size) - 6.7 * (rng.random(size) < 0.1)
    return np.asarray((values + 0.67) / np.sqrt(1 + 6.7**2 * 0.09))


# All with mean 0 and standard deviation 1.
KINDS: dict[str, Draw] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "heavy tails (t with 5 df)": lambda rng, size: rng.standard_t(5, size) * np.sqrt(0.6),
    "skewed (exponential)": lambda rng, size: rng.exponential(size=size) - 1,
    "one bad run in ten": with_bad_runs,
}
RATIO = 2.0


def paired(
    draw: Draw, correlation: float, n_runs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return two arms with equal spreads whose runs share a part."""
    shared = np.sqrt(correlation) * draw(rng, (n_runs,))
    base, arm = shared + np.sqrt(1 - correlation) * draw(rng, (2, n_runs))
    return base, arm


def rates(
    draw: Draw, correlation: float, n_runs: int, n_studies: int, rng: np.random.Generator
) -> list[float]:
    """Return coverage and power of the paired and of the unpaired form, for a ratio of 2."""
    counts = np.zeros((2, 2), dtype=int)
    for _ in range(n_studies):
        base, arm = paired(draw, correlation, n_runs, rng)
        for form, is_paired in enumerate((True, False)):
            low, high = spread_ratio(base, RATIO * arm, is_paired=is_paired) or (0.0, np.inf)
            counts[form] += (low <= RATIO <= high, low > 1.0)
    return [float(count / n_studies) for count in counts.ravel()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("| runs | runs are | correlation | covers | covers, unpaired | shown | shown, unpaired |")
    print("|---|---|---|---|---|---|---|")
    for n_runs in (10, 20):
        for kind, draw in KINDS.items():
            for correlation in (0.0, 0.5, 0.8):
                covers, shown, *alone = rates(draw, correlation, n_runs, options.studies, rng)
                cells = [f"{100 * share:.1f} %" for share in (covers, alone[0], shown, alone[1])]
                print(f"| {n_runs} | {kind} | {correlation} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
