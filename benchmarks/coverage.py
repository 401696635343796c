"""Coverage of the 95 % intervals in simulated studies, printed as Markdown.

    PYTHONPATH=tests python benchmarks/coverage.py --studies 500 > coverage.md

Takes about 20 minutes on one core. The docs page on intervals shows its output.
"""

import argparse
from itertools import product

import numpy as np

from support.simulation import FIGURES, Simulation, coverage

# Standard deviation of the logits for an accuracy of about 80 %, by number of classes.
LOGIT_SD = {2: 3.0, 10: 8.0}


def print_table(
    title: str, simulations: list[Simulation], n_studies: int, rng: np.random.Generator
) -> None:
    """Print one table.

    Args:
        title: Heading of the table.
        simulations: Simulations, one per row.
        n_studies: Number of simulated studies per row.
        rng: Random generator.
    """
    print(f"\n### {title}\n", flush=True)
    print(f"| runs | examples | classes | {' | '.join(f'`{name}`' for name in FIGURES)} |")
    print("|---" * (3 + len(FIGURES)) + "|", flush=True)
    for simulation in simulations:
        rates = coverage(simulation, n_studies=n_studies, rng=rng)
        size = f"{simulation.n_runs} | {simulation.n_examples:,} | {simulation.n_classes}"
        cells = " | ".join(f"{100 * rates[name]:.1f} %" for name in FIGURES)
        print(f"| {size} | {cells} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="print tables whose title has this text")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    def show(
        title: str, simulations: list[Simulation], n_studies: int, rng: np.random.Generator
    ) -> None:
        if options.only in title:
            print_table(title, simulations, n_studies, rng)

    def grid(**settings: object) -> list[Simulation]:
        return [
            Simulation(n_runs, n, k, logit_sd=LOGIT_SD[k], **settings)  # type: ignore[arg-type]
            for n_runs, n, k in product((5, 10, 50), (500, 5000), (2, 10))
        ]

    show("Normal run effects: some runs are better than others", grid(), options.studies, rng)
    small = [(n_runs, 2000, k) for n_runs in (5, 10, 50) for k in (2, 10)]
    for title, settings in (
        (
            "Normal run effects on the threshold, which make accuracies skewed",
            {"effect": "threshold"},
        ),
        ("No run effects: examples flip independently", {"run_sd": 0.0}),
        ("One run in ten is bad", {"bad_share": 0.1}),
        ("One run in ten gives the same answer to every example", {"stuck_share": 0.1}),
    ):
        simulations = [Simulation(*size, logit_sd=LOGIT_SD[size[2]], **settings) for size in small]
        show(title, simulations, options.studies, rng)
    clustered = [
        Simulation(n_runs, 2000, k, logit_sd=LOGIT_SD[k], run_sd=0.1, cluster_size=20, shared=0.9)
        for n_runs, _, k in small
    ]
    show(
        "Examples in clusters of 20 that share 90 % of their variance, small run effects",
        clustered,
        options.studies,
        rng,
    )
    unsure = [Simulation(n_runs, 2000, 10, logit_sd=2.0) for n_runs in (5, 10, 50)]
    show("A model with low confidence and an accuracy of about 40 %", unsure, options.studies, rng)


if __name__ == "__main__":
    main()
