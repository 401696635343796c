"""Verdicts on repeated tests, as text for the terminal and as properties for JUnit files."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from seedproof.integrations.trial_records import Evidence, Pooled
from seedproof.stats.pass_rates import (
    TAIL,
    RateInterval,
    Verdict,
    judge,
    rate_interval,
    trials_until_decided,
)


@dataclass(frozen=True)
class TestVerdict:
    """The verdict on a test, with the trials that it rests on."""

    __test__ = False  # pytest collects classes of this name

    least: float  # pass rate that is required
    pooled: Pooled

    @property
    def rate(self) -> float:
        """Share of all trials that passed."""
        return self.pooled.evidence.passed / self.pooled.evidence.n

    @cached_property
    def interval(self) -> RateInterval:
        """95 % interval of the pass rate, valid for any number of test runs."""
        return _interval(self.pooled.evidence)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict; the latest test runs may fail a test that passed before, and not pass it.

        It is undecided if they show the opposite less clearly, or if repeated outcomes would pass.
        """
        if self._has_fallen:
            return "failed"
        is_copied = self.pooled.is_repeated and self._of_all == "passed"
        return "undecided" if self.has_changed or is_copied else self._of_all

    @cached_property
    def _of_all(self) -> Verdict:
        return judge(self.pooled.evidence.passed, self.pooled.evidence.n, self.least)

    @property
    def has_changed(self) -> bool:
        """True if the latest test runs alone show the opposite of all test runs together."""
        return self.latest is not None

    @cached_property
    def latest(self) -> tuple[int, int] | None:
        """Passes and trials of the fewest latest test runs that show the opposite of all.

        If all together are undecided, that is a rate below the required one.
        """
        opposite = "passed" if self._of_all == "failed" else "failed"
        for _, passed, n in self._ends():
            if judge(passed, n, self.least) == opposite:
                return passed, n
        return None

    @cached_property
    def _has_fallen(self) -> bool:
        """True if the latest test runs alone are shown to be below the required rate.

        Each test run may be the first after a change. The tails of all of them sum to `TAIL`,
        so that a rate that never falls is ever failed by this with a probability of at most that.
        """
        return any(
            judge(passed, n, self.least, tail=TAIL / (first * (first + 1))) == "failed"
            for first, passed, n in self._ends()
            if first > 0
        )

    def _ends(self) -> Iterator[tuple[int, int, int]]:
        """Yield the place of the first of the latest test runs, and their passes and trials."""
        evidence = self.pooled.evidence
        passed = n = 0
        for back, (run_passed, run_n) in enumerate(reversed(evidence.recent), start=1):
            passed, n = passed + run_passed, n + run_n
            yield evidence.test_runs - back, passed, n

    @cached_property
    def change(self) -> Literal["better", "worse"] | None:
        """The change since the accepted trials, if the intervals do not overlap."""
        accepted = self.pooled.accepted
        if accepted is None or accepted.n == 0:
            return None
        before = _interval(accepted)
        if self.interval.high < before.low:
            return "worse"
        return "better" if self.interval.low > before.high else None

    def sentences(self) -> Iterator[str]:
        """Yield the figures, and what they mean for this test."""
        yield f"{_rate_text(self.pooled.evidence)}; required: {100 * self.least:g} %."
        if self.pooled.is_repeated:
            yield (
                "This test run has the outcomes of the one before, trial by trial, and is not "
                "counted. Draw from trial.seed, or turn off the cache that answers."
            )
        elif self.latest is not None:
            passed, n = self.latest
            yield (
                f"But of the latest {n:,} trials {passed:,} passed: something changed that is not "
                "part of the code, such as a model behind an interface. Name its version with "
                "--seedproof-key."
            )
        elif self.verdict == "undecided":
            yield self._forecast()
        if self.pooled.has_other_code:
            yield "Trials of other code are not counted."
        for name, score in self.pooled.evidence.scores.items():
            low, high = rate_interval(score.total, score.n)
            ends = f"[{score.scaled(low):.3g}, {score.scaled(high):.3g}]"
            yield f"{name} {score.scaled(score.total / score.n):.3g} {ends}."
        if self.pooled.accepted is not None and self.pooled.accepted.n:
            shown = f"{self.change.capitalize()} than" if self.change else "No change shown since"
            yield f"{shown} accepted: {_rate_text(self.pooled.accepted)}."

    def _forecast(self) -> str:
        more = trials_until_decided(self.rate, self.pooled.evidence.n, self.least)
        if more is None:
            return "The rate is too close to the required one to decide with 10,000 trials."
        about = "" if self.rate in {0.0, 1.0} else "about "
        return (
            f"If the rate stays, {about}{more:,} more trial{'s' if more > 1 else ''} will decide."
        )

    def properties(self) -> list[tuple[str, object]]:
        """Return the figures for a JUnit file."""
        evidence = self.pooled.evidence
        rows: list[tuple[str, object]] = [
            ("outcome", self.verdict),
            ("pass_rate", _rounded(self.rate)),
            ("pass_rate_low", _rounded(self.interval.low)),
            ("pass_rate_high", _rounded(self.interval.high)),
            ("min_pass_rate", self.least),
            ("trials", evidence.n),
            ("trials_passed", evidence.passed),
            ("test_runs", evidence.test_runs),
        ]
        for name, score in evidence.scores.items():
            low, high = rate_interval(score.total, score.n)
            rows += [
                (name, _rounded(score.scaled(score.total / score.n))),
                (f"{name}_low", _rounded(score.scaled(low))),
                (f"{name}_high", _rounded(score.scaled(high))),
            ]
        if self.pooled.accepted is not None and self.pooled.accepted.n:
            accepted = self.pooled.accepted
            rows.append(("accepted_pass_rate", _rounded(accepted.passed / accepted.n)))
            rows.append(("change", self.change or "none"))
        return rows


def _interval(evidence: Evidence) -> RateInterval:
    return rate_interval(evidence.passed, evidence.n)


def _rate_text(evidence: Evidence) -> str:
    low, high = _interval(evidence)
    rate = 100 * evidence.passed / evidence.n
    runs = f" in {evidence.test_runs} test runs" if evidence.test_runs > 1 else ""
    ends = f"[{100 * low:.1f}, {100 * high:.1f}]"
    return f"{rate:.1f} % {ends} of {evidence.n:,} trial{'s' * (evidence.n > 1)}{runs} passed"


def _rounded(value: float) -> float:
    return round(value, 6)
