"""Bias and coverage of entropy figures in simulated studies, printed as Markdown.

    PYTHONPATH=tests python benchmarks/entropy.py --studies 400 > entropy.md
    PYTHONPATH=tests python benchmarks/entropy.py --only high-entropy

Takes about 30 minutes on one core. The docs pages on intervals and on comparing show its output.
"""

import argparse
from itertools import product

import numpy as np

from support.entropy import DESIGNS, TWO_ARMS, corrected_entropy, reductions

CORRECTED = "Corrected entropy"
REDUCTION = "Reduction on high-entropy examples"


def print_header(title: str, columns: list[str]) -> None:
    """Print the title and the header of a table."""
    print(f"\n### {title}\n\n| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|", flush=True)


def percent(share: float) -> str:
    """Return a share with its sign, as in the docs."""
    return f"{100 * share:+.1f} %".replace("-", "−")


def print_corrected(n_studies: int, sizes: list[tuple[int, int]], rng: np.random.Generator) -> None:
    """Print bias and coverage of the corrected entropy by design, classes, runs and examples."""
    print_header(
        CORRECTED, ["design", "classes", "runs", "examples", "jackknife", "value", "coverage"]
    )
    for name, n_classes in product(DESIGNS, (2, 10, 150)):
        design = DESIGNS[name]
        if n_classes < design.least_classes:
            continue
        for n_runs, n_examples in sizes:
            result = corrected_entropy(
                design,
                n_classes=n_classes,
                n_runs=n_runs,
                n_examples=n_examples,
                n_studies=n_studies,
                rng=rng,
            )
            print(
                f"| {name} | {n_classes} | {n_runs} | {n_examples:,} | "
                f"{percent(result.jackknife)} | {percent(result.bias)} | "
                f"{100 * result.coverage:.1f} % |",
                flush=True,
            )


def print_reductions(
    n_studies: int, sizes: list[tuple[int, int]], rng: np.random.Generator
) -> None:
    """Print truth and coverage of both reductions by design, runs and examples."""
    print_header(
        REDUCTION,
        [
            *("arms", "runs", "examples", "true, by baseline", "coverage"),
            *("true, by arm", "coverage"),
        ],
    )
    for name, design in TWO_ARMS.items():
        for n_runs, n_examples in sizes:
            result = reductions(
                design, n_runs=n_runs, n_examples=n_examples, n_studies=n_studies, rng=rng
            )
            cells = [
                f"{percent(truth)} | {100 * covered:.1f} %"
                for truth, covered in zip(result.truth, result.coverage, strict=True)
            ]
            print(f"| {name} | {n_runs} | {n_examples:,} | {' | '.join(cells)} |", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--examples", type=int, nargs="*", help="in place of the usual sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="print tables whose title has this text")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    if options.only in CORRECTED:
        print_corrected(
            options.studies, list(product((5, 10), options.examples or (500, 2000))), rng
        )
    if options.only in REDUCTION:
        sizes = list(product((10, 20), options.examples or (400, 2000)))
        print_reductions(options.studies, sizes, rng)


if __name__ == "__main__":
    main()
