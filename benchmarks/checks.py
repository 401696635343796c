"""Error rates of the checks of the input: false errors in healthy studies, and bad runs missed.

    python benchmarks/checks.py [--studies 1000] [--seed 0] [--only DESIGN]

Each healthy design is simulated many times, and an error-level check is a false one. Then one run
of each study is spoiled, and the check should name it. All designs have a margin per example, a
shift per run and noise per run and example; see `Design`.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import seedproof as sp

Answers = npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class Design:
    """A study: logits of a sharp common opinion, shifted by run, with noise.

    Args:
        n_runs: Number of runs.
        n_examples: Number of examples.
        n_classes: Number of classes.
        sharpness: Standard deviation of the common logits.
        shift: Standard deviation of the shift of a class by a run, on all examples.
        noise: Standard deviation of the noise per run and example.
        rare: Added to the logits of the first class, to make the others rare.
        probabilities: Whether probabilities are given, or answers only.
    """

    n_runs: int = 10
    n_examples: int = 1000
    n_classes: int = 2
    sharpness: float = 3.0
    shift: float = 0.3
    noise: float = 0.7
    rare: float = 0.0
    probabilities: bool = False

    def draw(self, rng: np.random.Generator) -> Answers:
        """Return the answers (runs, examples), or probabilities (runs, examples, classes)."""
        shape = self.n_runs, self.n_examples, self.n_classes
        logits = self.sharpness * rng.standard_normal(shape[1:]) + self.noise * rng.standard_normal(
            shape
        )
        logits += self.shift * rng.standard_normal((self.n_runs, 1, self.n_classes))
        logits[..., 0] += self.rare
        if not self.probabilities:
            return np.asarray(logits.argmax(axis=-1))
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


HEALTHY = {
    "typical, 10 runs": Design(),
    "typical, three runs": Design(n_runs=3),
    "typical, probabilities": Design(n_classes=3, probabilities=True),
    "noisy, five runs": Design(n_runs=5, sharpness=1.0, noise=1.0),
    "flip rate 0.01 %, answers": Design(n_runs=5, n_examples=50_000, shift=0.0, noise=0.0008),
    "flip rate 0.01 %, probabilities": Design(shift=0.0, noise=0.0008, probabilities=True),
    "rare class, 0.5 %": Design(n_runs=10, rare=11.0),
    "rare class, 2 %, five runs": Design(n_runs=5, rare=9.0),
    "150 classes, five runs": Design(n_runs=5, n_examples=500, n_classes=150),
    "shift alone, 10 runs": Design(noise=0.0),
    "shift alone, three runs": Design(n_runs=3, noise=0.0),
    "100 examples": Design(n_examples=100),
    "at chance, five runs": Design(n_runs=5, sharpness=0.0),
}


def stuck(answers: Answers, rng: np.random.Generator) -> None:
    """Let the first run give one answer to everything."""
    del rng
    answers[0] = answers[0, :1]


def shuffled(answers: Answers, rng: np.random.Generator) -> None:
    """Put the rows of the first run into another order."""
    answers[0] = rng.permutation(answers[0])


def copied(answers: Answers, rng: np.random.Generator) -> None:
    """Let the first run be a copy of the second."""
    del rng
    answers[0] = answers[1]


SPOILED: dict[str, tuple[Callable[[Answers, np.random.Generator], None], str]] = {
    "stuck": (stuck, "constant-run"),
    "shuffled": (shuffled, "outlier-run"),
    "copied": (copied, "duplicate-runs"),
}
SPOILED_DESIGNS = (
    "typical, 10 runs",
    "typical, three runs",
    "typical, probabilities",
    "noisy, five runs",
    "rare class, 2 %, five runs",
    "150 classes, five runs",
)


def errors(answers: Answers) -> Counter[str]:
    """Count the names of the error-level checks, once per study."""
    checks = sp.Predictions.from_arrays(answers).checks
    return Counter({check.name: 1 for check in checks if check.severity == "error"})


def false_errors(design: Design, n_studies: int, seed: int) -> tuple[int, Counter[str], float]:
    """Return the number of studies with a false error, by name, and the mean flip rate."""
    n_false, names, flips = 0, Counter[str](), []
    for study in range(n_studies):
        answers = design.draw(np.random.default_rng([seed, study]))
        named = errors(answers)
        n_false += bool(named)
        names += named
        if study < 20:
            flips.append(sp.measure(answers, metrics=["flip_rate"])["flip_rate"].value)
    return n_false, names, float(np.mean(flips))


def main() -> None:
    """Print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=HEALTHY)
    options = parser.parse_args()
    chosen = [options.only] if options.only else list(HEALTHY)
    print("| healthy design | flip rate | studies | with a false error |\n|---|---|---|---|")
    for name in chosen:
        n_false, names, flips = false_errors(HEALTHY[name], options.studies, options.seed)
        listed = "".join(f", {check} {count}" for check, count in sorted(names.items()))
        print(f"| {name} | {100 * flips:.2g} % | {options.studies:,} | {n_false}{listed} |")
    n_studies = max(options.studies // 5, 1)
    print(f"\n| design | {' | '.join(SPOILED)} |\n|---|---|---|---|")
    for name in SPOILED_DESIGNS if options.only is None else ():
        cells = []
        for spoil, check in SPOILED.values():
            hits = 0
            for study in range(n_studies):
                rng = np.random.default_rng([options.seed + 1, study])
                answers = HEALTHY[name].draw(rng)
                spoil(answers, rng)
                hits += check in errors(answers)
            cells.append(f"{100 * hits / n_studies:.1f} %")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
