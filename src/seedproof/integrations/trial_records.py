"""Records of repeated tests: what earlier test runs of the same code showed, and what was accepted.

`trials.json` has the trials of each test per state of the code, and `accepted.json` those that were
accepted last. Both are small; the first is for one machine or a cache of CI, the second may be
committed.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from seedproof.errors import LockError
from seedproof.records.location import Location, writing
from seedproof.records.locks import PLAN_SECONDS, claim
from seedproof.records.manifest import loaded, sealed
from seedproof.typing import check_count

TRIALS, ACCEPTED = "trials.json", "accepted.json"
# States of the code per test: the present one, and those of other branches.
MOST_STATES = 10
# Test runs that are kept one by one, to notice a change that is not part of the code.
MOST_RECENT = 20
# Below this probability, equal outcomes of several test runs are not a coincidence.
COINCIDENCE = 1e-4


@dataclass(frozen=True)
class ScoreSum:
    """Sum of the scores of trials, each from 0 to 1 on its scale."""

    n: int
    total: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_count("n", self.n, least=1)
        if not 0.0 <= self.total <= self.n or not self.low < self.high:
            raise ValueError(f"{self.total} of {self.n} on a scale of {self.low} to {self.high}")

    def __add__(self, other: "ScoreSum") -> "ScoreSum":
        total = min(self.total + other.total, float(self.n + other.n))
        return replace(self, n=self.n + other.n, total=total)

    def scaled(self, share: float) -> float:
        """Return the score at a share of the scale."""
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class Evidence:
    """Trials of a test with the same code."""

    n: int
    passed: int
    test_runs: int = 1
    scores: Mapping[str, ScoreSum] = field(default_factory=dict)
    # Digest of the last outcomes, and the number of test runs before that had the same ones.
    outcomes: str = ""
    repeats: int = 0
    # Passes and trials of the latest test runs, the last one last.
    recent: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        check_count("n", self.n, least=0)
        check_count("passed", self.passed, least=0)
        check_count("test_runs", self.test_runs, least=0)
        check_count("repeats", self.repeats, least=0)
        if self.passed > self.n or any(not 0 <= passed <= n for passed, n in self.recent):
            raise ValueError(f"{self.passed} of {self.n} passed")

    def plus(self, other: "Evidence", *, repeats: int) -> "Evidence":
        """Return these trials with those of another test run."""
        scores = dict(self.scores)
        for name, score in other.scores.items():
            scores[name] = scores[name] + score if name in scores else score
        return Evidence(
            self.n + other.n,
            self.passed + other.passed,
            self.test_runs + other.test_runs,
            scores,
            other.outcomes,
            repeats,
            (*self.recent, *other.recent)[-MOST_RECENT:],
        )


@dataclass(frozen=True)
class TrialOutcome:
    """Outcome of a trial: whether the test passed, and the scores it logged."""

    has_passed: bool
    scores: Mapping[str, ScoreSum] = field(default_factory=dict)


@dataclass(frozen=True)
class NewTrials:
    """Trials of a test in this test run, by their number."""

    outcomes: Mapping[int, TrialOutcome]

    @property
    def evidence(self) -> Evidence:
        """The trials as a record."""
        scores: dict[str, ScoreSum] = {}
        for outcome in self._in_order():
            for name, score in outcome.scores.items():
                scores[name] = scores[name] + score if name in scores else score
        passed, n = sum(x.has_passed for x in self.outcomes.values()), len(self.outcomes)
        return Evidence(n, passed, 1, scores, self._digest(), recent=((passed, n),))

    def coincidence(self) -> float:
        """Return the probability that other trials have the same outcomes, trial by trial."""
        counts = Counter(repr(outcome) for outcome in self.outcomes.values())
        n = len(self.outcomes)
        return sum((count / n) ** 2 for count in counts.values()) ** n

    def _digest(self) -> str:
        text = repr([(trial, self.outcomes[trial]) for trial in sorted(self.outcomes)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _in_order(self) -> Sequence[TrialOutcome]:
        return [self.outcomes[trial] for trial in sorted(self.outcomes)]


@dataclass(frozen=True)
class _States:
    """Evidence per state of the code, the latest last."""

    states: Mapping[str, Evidence]


@dataclass(frozen=True)
class _Records:
    tests: Mapping[str, _States] = field(default_factory=dict)


@dataclass(frozen=True)
class _Accepted:
    tests: Mapping[str, Evidence] = field(default_factory=dict)


_T = TypeVar("_T", _Records, _Accepted)


@dataclass(frozen=True)
class Pooled:
    """Trials of this and of earlier test runs of the same code."""

    evidence: Evidence
    accepted: Evidence | None  # before this test run
    is_repeated: bool  # this test run repeats earlier ones, trial by trial, and does not count
    has_other_code: bool  # there are records, and all are of other code


class TrialStore:
    """The folder with the records of repeated tests.

    Args:
        folder: The folder, which is created if needed.
        code: Digest or name of the present code. If omitted, nothing is pooled between test runs.
    """

    def __init__(self, folder: Path, code: str | None) -> None:
        self._folder = Location.of(folder)
        self._code = code

    def update(self, new: Mapping[str, NewTrials], *, accept: bool = False) -> dict[str, Pooled]:
        """Add the trials of a test run, and return all of each test.

        Args:
            new: Trials of this test run, by test.
            accept: Whether the trials of these tests are now the accepted ones.

        Returns:
            The pooled trials, by test.

        Raises:
            LockError: Another process does not release the folder.
            DamagedStoreError: A file of the folder was changed by hand or is damaged.
            StoreError: The folder cannot be written.
        """
        with writing(self._folder):
            self._prepare()
            lock = claim(self._folder, seconds=PLAN_SECONDS)
            if lock is None:
                raise LockError(
                    "Another process has locked {path} for {seconds:g} s. Wait until it ends, or "
                    "pass another folder with --seedproof-folder.",
                    path=str(self._folder),
                    seconds=PLAN_SECONDS,
                )
            with lock:
                return self._update(new, accept=accept)

    def _update(self, new: Mapping[str, NewTrials], *, accept: bool) -> dict[str, Pooled]:
        records, accepted = self._loaded(TRIALS, _Records), self._loaded(ACCEPTED, _Accepted)
        tests = {name: dict(test.states) for name, test in records.tests.items()}
        pooled: dict[str, Pooled] = {}
        for name, trials in new.items():
            states = tests.setdefault(name, {})
            before = states.pop(self._code, None) if self._code is not None else None
            evidence, is_repeated = _added(before, trials)
            pooled[name] = Pooled(
                evidence,
                accepted.tests.get(name),
                is_repeated,
                has_other_code=self._code is not None and before is None and bool(states),
            )
            if self._code is not None:
                states[self._code] = evidence
                tests[name] = dict(list(states.items())[-MOST_STATES:])
        kept = _Records({name: _States(states) for name, states in tests.items() if states})
        self._commit(TRIALS, kept)
        if accept:
            latest = {name: trials.evidence for name, trials in pooled.items()}
            self._commit(ACCEPTED, _Accepted({**accepted.tests, **latest}))
        return pooled

    def _prepare(self) -> None:
        """Make the folder, of which Git ignores all but the accepted records."""
        self._folder.make_folder()
        ignored = self._folder / ".gitignore"
        if not ignored.is_file():
            ignored.replace(f"# Written by seedproof.\n*\n!{ACCEPTED}\n".encode())

    def _loaded(self, name: str, kind: type[_T]) -> _T:
        place = self._folder / name
        return loaded(kind, place) if place.is_file() else kind()

    def _commit(self, name: str, content: _Records | _Accepted) -> None:
        (self._folder / name).commit(sealed(asdict(content)), replaces=True)


def _added(before: Evidence | None, trials: NewTrials) -> tuple[Evidence, bool]:
    """Return the evidence with new trials, and whether they only repeat earlier ones."""
    new = trials.evidence
    if before is None:
        return new, False
    repeats = before.repeats + 1 if new.outcomes == before.outcomes else 0
    if repeats and trials.coincidence() ** repeats < COINCIDENCE:
        return replace(before, repeats=repeats), True
    return before.plus(new, repeats=repeats), False
