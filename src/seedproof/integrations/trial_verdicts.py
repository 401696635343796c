"""Verdicts on repeated tests, as text for the terminal and as properties for JUnit files."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from seedproof.integrations.trial_records import Counts, Evidence, Pooled, TestRun
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
        """95 % interval of the pass rate, valid for any number of test runs, copies or not."""
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
        return _judged(self.pooled.evidence, self.pooled.evidence.distinct, self.least)

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
        for _, counts, distinct in self._ends():
            if _judged(counts, distinct, self.least) == opposite:
                return counts.passed, counts.n
        return None

    @cached_property
    def _has_fallen(self) -> bool:
        """True if the latest test runs alone are shown to be below the required rate.

        Each test run may be the first after a change. The tails of all of them sum to `TAIL`,
        so that a rate that never falls is ever failed by this with a probability of at most that.
        """
        return any(
            _judged(counts, distinct, self.least, TAIL / (first * (first + 1))) == "failed"
            for first, counts, distinct in self._ends()
            if first > 0
        )

    def _ends(self) -> Iterator[tuple[int, Counts, Counts]]:
        """Yield the place of the first of the latest test runs, and their trials.

        These are all trials, and those that are not possible copies.
        """
        evidence = self.pooled.evidence
        counts = distinct = Counts()
        for back, run in enumerate(reversed(evidence.recent), start=1):
            counts = counts.plus(_counts(run))
            if not run.is_copy:
                distinct = distinct.plus(_counts(run))
            yield evidence.test_runs - back, counts, distinct

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
            yield self._copies_text() if self.pooled.evidence.copies.n else self._forecast()
        if self.pooled.has_other_code:
            yield "Trials of other code are not counted."
        for name, score in self.pooled.evidence.scores.items():
            low, high = self._score_interval(name)
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

    def _copies_text(self) -> str:
        copies = self.pooled.evidence.copies.n
        return (
            f"{copies:,} of these trials may be copies and do not decide: their test runs are "
            "incomplete, or have the outcomes of earlier ones, trial by trial. Draw from "
            "trial.seed, or make more trials per test run."
        )

    def _score_interval(self, name: str) -> RateInterval:
        evidence = self.pooled.evidence
        return _including(_score_ends(evidence, name), _score_ends(evidence.distinct, name))

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
            ("trials_possibly_copied", evidence.copies.n),
            ("test_runs", evidence.test_runs),
        ]
        for name, score in evidence.scores.items():
            low, high = self._score_interval(name)
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


class VerdictText:
    """The text of a verdict, in the form that pytest's reports have."""

    def __init__(self, text: str, headline: str, location: tuple[str, int | None, str]) -> None:
        self.text = text
        self.reprcrash = Place(location[0], (location[1] or 0) + 1, headline)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, out: Any) -> None:  # noqa: ANN401 - pytest's writer
        """Write the text."""
        out.line(self.text)


@dataclass(frozen=True)
class Place:
    """Where a test is, with a message."""

    path: str
    lineno: int
    message: str


def _interval(evidence: Evidence) -> RateInterval:
    distinct = evidence.distinct
    return _including(
        rate_interval(evidence.passed, evidence.n), rate_interval(distinct.passed, distinct.n)
    )


def _score_ends(counts: Counts, name: str) -> RateInterval:
    score = counts.scores.get(name)
    return RateInterval(0.0, 1.0) if score is None else rate_interval(score.total, score.n)


def _including(first: RateInterval, second: RateInterval) -> RateInterval:
    """Return the interval from the lower of two lower ends to the higher of two upper ends."""
    return RateInterval(min(first.low, second.low), max(first.high, second.high))


def _judged(counts: Counts, distinct: Counts, least: float, tail: float = TAIL) -> Verdict:
    """Return the verdict that holds with and without possible copies."""
    verdict = judge(counts.passed, counts.n, least, tail=tail)
    without = judge(distinct.passed, distinct.n, least, tail=tail)
    return verdict if verdict == without else "undecided"


def _counts(run: TestRun) -> Counts:
    return Counts(run.n, run.passed)


def _rate_text(evidence: Evidence) -> str:
    low, high = _interval(evidence)
    rate = 100 * evidence.passed / evidence.n
    runs = f" in {evidence.test_runs} test runs" if evidence.test_runs > 1 else ""
    ends = f"[{100 * low:.1f}, {100 * high:.1f}]"
    return f"{rate:.1f} % {ends} of {evidence.n:,} trial{'s' * (evidence.n > 1)}{runs} passed"


def _rounded(value: float) -> float:
    return round(value, 6)
