"""How often do the 95 % intervals of dynamics hold the truth? Simulated studies, as Markdown.

    python benchmarks/dynamics_coverage.py --runs 5 10 50 --studies 500 > dynamics_coverage.md

Five and ten runs take about a minute on one core with 200 studies, fifty runs much longer. The page
on dynamics has its figures. `--between 0 0.25 0.5 0.75 1` sweeps where the noise of single examples
is taken to be between its two bounds (`HALFWAY` in measurement/dynamics/stand_in.py); it moves the
intervals of the correlation alone.
"""

import argparse

import numpy as np

from seedproof.measurement.dynamics.association import Pearson, Precision
from seedproof.measurement.dynamics.reference import told_by_other_runs
from seedproof.measurement.dynamics.stand_in import HALFWAY, stand_in
from seedproof.testing.dynamics_simulation import DynamicsSimulation

N_EXAMPLES = 400
SETTINGS: dict[str, dict[str, float]] = {
    "half of the examples are easy": {},
    "runs differ strongly in quality": {"run_sd": 1.5},
    "few examples ever change": {"easy_share": 0.93},
    "three runs are traced": {"n_traced": 3},
    "all runs but one are traced": {"n_traced": -1},
}
FIGURES = ("single_run_pearson", "single_run_precision", "other_runs_pearson")


def coverage(
    simulation: DynamicsSimulation, *, between: float, n_studies: int, rng: np.random.Generator
) -> dict[str, float]:
    """Share of simulated studies whose interval holds the true value, for each figure.

    Args:
        simulation: How studies are made.
        between: Where the noise of single examples is taken to be.
        n_studies: How many studies.
        rng: Where chance comes from.

    Returns:
        Shares by name; a figure that these studies do not have is left out.
    """
    associations = {"single_run_pearson": Pearson(), "single_run_precision": Precision()}
    truth = {name: simulation.truth(one, rng) for name, one in associations.items()}
    truth["other_runs_pearson"] = simulation.true_reference(rng)
    hits: dict[str, list[bool]] = {name: [] for name in FIGURES}
    for _ in range(n_studies):
        study = simulation.draw(rng)
        found = [
            (name, stand_in(study, one, between=between).mean) for name, one in associations.items()
        ]
        for name, value in [*found, ("other_runs_pearson", told_by_other_runs(study))]:
            if value is not None and value.low is not None and value.high is not None:
                hits[name].append(value.low <= truth[name] <= value.high)
    return {name: float(np.mean(held)) for name, held in hits.items() if held}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 10, 50])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--between", type=float, nargs="+", default=[HALFWAY])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"| simulated studies | between | runs | {' | '.join(f'`{name}`' for name in FIGURES)} |")
    print("|---" * (3 + len(FIGURES)) + "|", flush=True)
    for title, settings in SETTINGS.items():
        for n_runs in options.runs:
            chosen = dict(settings)
            if chosen.get("n_traced") == -1:
                chosen["n_traced"] = n_runs - 1
            # Numbers of two types, each for the argument of its name.
            simulation = DynamicsSimulation(
                n_runs,
                N_EXAMPLES,
                **chosen,  # type: ignore[arg-type] # two types, by name
            )
            for between in options.between:
                # The same studies for each, so that a sweep compares nothing else.
                rng = np.random.default_rng([options.seed, n_runs])
                found = coverage(simulation, between=between, n_studies=options.studies, rng=rng)
                shares = " | ".join(
                    f"{100 * found[name]:.1f} %" if name in found else "–" for name in FIGURES
                )
                print(f"| {title} | {between:g} | {n_runs} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
