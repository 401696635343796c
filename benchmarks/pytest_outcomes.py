"""Outcomes of the pytest plugin on 20 flaky tests with known pass rates, printed as Markdown.

    python benchmarks/pytest_outcomes.py --test-runs 200 > outcomes.md

Real test runs in this process: each runs all tests with 8 trials, whose outcomes add up. Next to
them, the exact probabilities of the same rule: to be ever wrong, and to be undecided at the end.
200 test runs take about five minutes on one core.
"""

import argparse
import io
import time
from bisect import bisect_left
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from seedproof.stats.pass_rates import judge

LEAST, N_TRIALS = 0.8, 8
RATES = (
    *(0.0, 0.3, 0.5, 0.6, 0.65, 0.7, 0.74, 0.76, 0.78, 0.79),
    *(0.8, 0.81, 0.82, 0.84, 0.86, 0.9, 0.93, 0.96, 0.99, 1.0),
)
SUITE = f"""
import pytest

@pytest.mark.trials({N_TRIALS}, min_pass_rate={LEAST})
@pytest.mark.parametrize("rate", {RATES})
def test_flaky(rate, draw, trial):
    value = draw()
    trial.score(value)  # shows that no test run is a copy of another one
    assert value < rate
"""
COLUMNS = (
    "pass rate",
    "passed",
    "failed",
    "undecided",
    "wrong",
    "first decided in test run",
    "ever wrong, exact",
    "undecided at the end, exact",
)
CORRECT = {True: "passed", False: "failed"}


@dataclass
class Outcomes:
    """A plugin that draws the outcomes of trials, and collects those of tests."""

    rng: np.random.Generator
    by_rate: dict[float, list[str]] = field(default_factory=dict)

    @pytest.fixture
    def draw(self):  # noqa: ANN201 - a fixture
        """Return a function that draws a number from 0 to 1."""
        return self.rng.random

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the outcome of a test, which is not one of its trials."""
        if report.when == "call" and "trial" not in report.nodeid:
            rate = float(report.nodeid.partition("[")[2].rstrip("]"))
            outcome = dict(report.user_properties)["outcome"]
            self.by_rate.setdefault(rate, []).append(outcome)


def run_suite(n_test_runs: int, seed: int) -> dict[float, list[str]]:
    """Run the suite again and again with the same code; return the outcomes of each test."""
    outcomes = Outcomes(np.random.default_rng(seed))
    # By default pytest refuses a second module of the same name in this process.
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    options += ["--seedproof-key", "simulated"]
    with TemporaryDirectory() as name:
        suite = Path(name, "test_flaky.py")
        suite.write_text(SUITE, encoding="utf-8")
        for _ in range(n_test_runs):
            with redirect_stdout(io.StringIO()):
                code = pytest.main([str(suite), "--rootdir", name, *options], plugins=[outcomes])
            if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
                raise RuntimeError(f"pytest ended with {code!r}")
    return outcomes.by_rate


def exact_probabilities(rate: float, n_test_runs: int) -> tuple[float, float]:
    """Return the probability of ever being decided wrongly, and that of being undecided at the end.

    Both are sums over all numbers of trials that pass.
    """
    step = np.array([1.0])
    for _ in range(N_TRIALS):
        step = np.convolve(step, [1 - rate, rate])
    never_wrong, everywhere = np.array([1.0]), np.array([1.0])
    for n in range(N_TRIALS, N_TRIALS * n_test_runs + 1, N_TRIALS):
        never_wrong, everywhere = np.convolve(never_wrong, step), np.convolve(everywhere, step)
        first_open, first_passed = boundaries(n)
        if rate >= LEAST:
            never_wrong[:first_open] = 0.0
        else:
            never_wrong[first_passed:] = 0.0
    return 1 - float(never_wrong.sum()), float(everywhere[first_open:first_passed].sum())


@cache
def boundaries(n: int) -> tuple[int, int]:
    """Return the fewest passes of `n` trials that are not judged as failed, and as passed."""
    numbers = range(n + 1)
    return (
        bisect_left(numbers, x=True, key=lambda k: judge(k, n, LEAST) != "failed"),
        bisect_left(numbers, x=True, key=lambda k: judge(k, n, LEAST) == "passed"),
    )


def table(by_rate: dict[float, list[str]]) -> str:
    """Return the outcomes as a Markdown table, with the exact probabilities."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for rate, outcomes in sorted(by_rate.items()):
        correct = CORRECT[rate >= LEAST]
        counts = [outcomes.count(name) for name in ("passed", "failed", "undecided")]
        wrong = len(outcomes) - outcomes.count(correct) - counts[2]
        decided = [idx for idx, name in enumerate(outcomes, start=1) if name != "undecided"]
        ever_wrong, still_open = exact_probabilities(rate, len(outcomes))
        cells = [
            f"{rate:g}",
            *counts,
            wrong,
            decided[0] if decided else "–",
            f"{100 * ever_wrong:.2f} %",
            f"{100 * still_open:.1f} %",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def wrong_share(by_rate: dict[float, list[str]]) -> tuple[int, int]:
    """Return the number of wrong decisions, and the number of decisions."""
    pairs = [(rate, name) for rate, names in by_rate.items() for name in names]
    decided = [(rate, name) for rate, name in pairs if name != "undecided"]
    return sum(name != CORRECT[rate >= LEAST] for rate, name in decided), len(decided)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--test-runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    by_rate = run_suite(options.test_runs, options.seed)
    seconds = time.perf_counter() - began
    print(table(by_rate))
    wrong, decided = wrong_share(by_rate)
    n = sum(map(len, by_rate.values()))
    print(
        f"\n{n:,} outcomes in {options.test_runs} test runs ({seconds:.0f} s): {decided:,} "
        f"decided, {wrong:,} of them wrong; {n - decided:,} undecided. At least {100 * LEAST:g} % "
        f"required, {N_TRIALS} trials per test run."
    )


if __name__ == "__main__":
    main()
