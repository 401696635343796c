"""Error rates of comparisons in simulated studies, printed as Markdown.

    PYTHONPATH=tests python benchmarks/calibration.py --studies 2000 > calibration.md
    PYTHONPATH=tests python benchmarks/calibration.py --only clusters

Takes about 20 minutes on one core. The docs page on comparing shows its output.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from support.comparisons import by_another_mechanism, effect_coverage, false_alarms
from support.simulation import FIGURES, Simulation

LOGIT_SD = {2: 3.0, 10: 8.0}
# Changes to a simulation with normal run effects.
KINDS: dict[str, Callable[[Simulation], Simulation]] = {
    "normal runs": lambda normal: normal,
    "skewed (a moving threshold)": lambda normal: replace(normal, effect="threshold"),
    "one bad run in ten": lambda normal: replace(normal, bad_share=0.1),
    "one run in ten stuck on a class": lambda normal: replace(normal, stuck_share=0.1),
    # Each arm is right in other clusters, so that a difference of single examples misleads.
    "normal, examples in clusters of 20": lambda normal: replace(
        normal, n_examples=1000, run_sd=0.1, cluster_size=20, shared=0.6, own=0.3
    ),
}


def print_row(labels: list[str], rates: dict[str, float]) -> None:
    """Print a table row with one rate per figure."""
    cells = [f"{100 * rates[name]:.1f} %" if name in rates else "" for name in FIGURES]
    print(f"| {' | '.join([*labels, *cells])} |", flush=True)


def print_header(title: str, labels: list[str]) -> None:
    """Print the title and the header of a table."""
    print(f"\n### {title}\n")
    print(f"| {' | '.join([*labels, *(f'`{name}`' for name in FIGURES)])} |")
    print("|---" * (len(labels) + len(FIGURES)) + "|", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default="", help="print false alarms of kinds of runs that have this text"
    )
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 10, 50])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 10], choices=LOGIT_SD)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    n_studies = options.studies

    print_header(
        "Identical arms that are called different", ["runs", "classes", "runs are", "treated"]
    )
    for n_runs in options.runs:
        for n_classes in options.classes:
            normal = Simulation(n_runs, 500, n_classes, logit_sd=LOGIT_SD[n_classes])
            for kind, change in KINDS.items():
                if options.only not in kind:
                    continue
                simulation = change(normal)
                for is_paired in (True, False):
                    rates = false_alarms(
                        simulation,
                        n_studies=n_studies if n_runs < 50 else n_studies // 4,
                        rng=rng,
                        is_paired=is_paired,
                    )
                    treated = "paired" if is_paired else "unpaired"
                    print_row([str(n_runs), str(n_classes), kind, treated], rates)

    if options.only:
        return
    print_header("Intervals that cover the truth", ["runs", "classes", "the arm has"])
    for n_runs in options.runs:
        for n_classes in options.classes:
            base = Simulation(n_runs, 500, n_classes, logit_sd=LOGIT_SD[n_classes])
            for kind, arm, figures in (
                ("runs that differ less", replace(base, run_sd=0.2), FIGURES),
                ("the same flips by another mechanism", by_another_mechanism(base), FIGURES[:2]),
            ):
                rates = effect_coverage(
                    base, arm, n_studies=n_studies // 4, rng=rng, is_paired=True, figures=figures
                )
                print_row([str(n_runs), str(n_classes), kind], rates)


if __name__ == "__main__":
    main()
