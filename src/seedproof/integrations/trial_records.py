"""Records of repeated tests: what earlier test runs of the same code showed, and what was accepted.

`trials.json` has the trials of each test per state of the code, and `accepted.json` those that were
accepted last. Both are small; the first is for one machine or a cache of CI, the second may be
committed.

Trials with fixed seeds repeat their outcomes in every test run, and so do answers from a cache. A
test run with the outcomes of an earlier one, trial by trial, is therefore a possible copy, unless
the test draws from `trial.seed`. Chance gives equal outcomes too, above all to tests that always
pass, so possible copies are counted apart, and verdicts must hold with and without them. If all are
copies, the distinct test runs are the sample; if none is, all test runs are. One of both intervals
is valid either way, and an interval that includes both is. To count distinct test runs alone would
not be: chance repeats likely outcomes more often than others, so that their rate is biased.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from seedproof.errors import LockError
from seedproof.records.drafts import draft_in
from seedproof.records.durability import sync
from seedproof.records.location import Location, writing
from seedproof.records.locks import LOCK_FILE, PLAN_SECONDS, claim
from seedproof.records.manifest import loaded, sealed
from seedproof.typing import check_count

TRIALS, ACCEPTED = "trials.json", "accepted.json"
FILES = (TRIALS, ACCEPTED, LOCK_FILE)
# States of the code per test: the present one, and those of other branches.
MOST_STATES = 10
# Test runs that are kept one by one, to notice a change that is not part of the code.
MOST_RECENT = 20
# Distinct outcomes that are remembered to recognize copies: fixed seeds have one, or a few that
# depend on the machine.
MOST_DISTINCT = 50
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

    def minus(self, part: "ScoreSum") -> "ScoreSum":
        """Return the sum without some of the trials, at least one of which remains."""
        n = self.n - part.n
        return replace(self, n=n, total=min(max(self.total - part.total, 0.0), float(n)))

    def scaled(self, share: float) -> float:
        """Return the score at a share of the scale."""
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class Counts:
    """Number of trials, those that passed, and the sums of their scores."""

    n: int = 0
    passed: int = 0
    scores: Mapping[str, ScoreSum] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("n", self.n, least=0)
        check_count("passed", self.passed, least=0)
        if self.passed > self.n:
            raise ValueError(f"{self.passed} of {self.n} passed")

    def plus(self, other: "Counts") -> "Counts":
        """Return these trials with others."""
        scores = dict(self.scores)
        for name, score in other.scores.items():
            scores[name] = scores[name] + score if name in scores else score
        return Counts(self.n + other.n, self.passed + other.passed, scores)

    def minus(self, part: "Counts") -> "Counts":
        """Return these trials without some of them."""
        scores = dict(self.scores)
        for name, score in part.scores.items():
            whole = scores.pop(name, None)
            if whole is None or whole.n < score.n:
                raise ValueError(f"{name} has fewer trials than a part of them")
            if whole.n > score.n:
                scores[name] = whole.minus(score)
        return Counts(self.n - part.n, self.passed - part.passed, scores)


@dataclass(frozen=True)
class TestRun:
    """Trials of a test in one of the latest test runs."""

    __test__ = False  # pytest collects classes of this name

    passed: int
    n: int
    is_copy: bool = False  # possibly; see the top of this module

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.n:
            raise ValueError(f"{self.passed} of {self.n} passed")


@dataclass(frozen=True)
class Evidence(Counts):
    """Trials of a test with the same code."""

    test_runs: int = 1
    copies: Counts = field(default_factory=Counts)  # those of `n` that are possible copies
    # Digest of the last outcomes, and the number of test runs before that had the same ones.
    outcomes: str = ""
    repeats: int = 0
    seen: tuple[str, ...] = ()  # digests of the latest distinct outcomes
    recent: tuple[TestRun, ...] = ()  # the last one last

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("test_runs", self.test_runs, least=0)
        check_count("repeats", self.repeats, least=0)
        _ = self.distinct  # refuses more copies than trials

    @property
    def distinct(self) -> Counts:
        """Trials without those that are possible copies."""
        return self.minus(self.copies)

    def with_test_run(self, other: "Evidence", *, repeats: int, is_copy: bool) -> "Evidence":
        """Return these trials with those of another test run, which may be a copy."""
        both = self.plus(other)
        recent = [*self.recent, *(replace(run, is_copy=is_copy) for run in other.recent)]
        seen = [name for name in self.seen if name != other.outcomes]
        return Evidence(
            both.n,
            both.passed,
            both.scores,
            test_runs=self.test_runs + other.test_runs,
            copies=self.copies.plus(other) if is_copy else self.copies,
            outcomes=other.outcomes,
            repeats=repeats,
            seen=(*seen, other.outcomes)[-MOST_DISTINCT:],
            recent=tuple(recent[-MOST_RECENT:]),
        )


@dataclass(frozen=True)
class TrialOutcome:
    """Outcome of a trial: whether the test passed, and the scores it logged."""

    has_passed: bool
    scores: Mapping[str, ScoreSum] = field(default_factory=dict)
    # Whether the test read `trial.seed`; not part of what is compared between test runs.
    is_seeded: bool = field(default=False, repr=False)


@dataclass(frozen=True)
class NewTrials:
    """Trials of a test in this test run, by their number."""

    outcomes: Mapping[int, TrialOutcome]
    # Digest of the file of the test, which is part of the code even if Git ignores it.
    file: str = ""
    n_planned: int = 0  # more than there are if a test run was interrupted, or a part was selected

    @classmethod
    def of(
        cls, trials: Mapping[int, Mapping[str, Any]], *, file: str, n_planned: int
    ) -> "NewTrials":
        """Return trials from the plain data of their reports."""
        outcomes = {}
        for number, trial in trials.items():
            scores = {
                name: ScoreSum(1, (value - low) / (high - low), low, high)
                for name, (value, low, high) in trial["scores"].items()
            }
            outcomes[number] = TrialOutcome(trial["has_passed"], scores, trial["is_seeded"])
        return cls(outcomes, file, n_planned)

    @property
    def evidence(self) -> Evidence:
        """The trials as a record."""
        scores: dict[str, ScoreSum] = {}
        for outcome in self._in_order():
            for name, score in outcome.scores.items():
                scores[name] = scores[name] + score if name in scores else score
        passed, n = sum(x.has_passed for x in self.outcomes.values()), len(self.outcomes)
        digest, recent = self._digest(), TestRun(passed, n)
        return Evidence(n, passed, scores, outcomes=digest, seen=(digest,), recent=(recent,))

    def may_be_copied(self, before: Evidence | None) -> bool:
        """Return whether these trials may be copies of those of an earlier test run.

        Seeds that a test reads are new, so that its trials are copies only if it ignores them, as
        a cache would. Then different outcomes stand at the same places as in the last test run.
        Otherwise a part of the planned trials may be copies of, and be copied by, any test run.
        """
        last, seen = (before.outcomes, before.seen) if before is not None else ("", ())
        if all(outcome.is_seeded for outcome in self.outcomes.values()):
            return self._digest() == last and self.coincidence() < 1
        return len(self.outcomes) < self.n_planned or self._digest() in seen

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
        for name in (TRIALS, ACCEPTED):
            (self._folder / name).remove_drafts()
        records, accepted = self._loaded(TRIALS, _Records), self._loaded(ACCEPTED, _Accepted)
        tests = {name: dict(test.states) for name, test in records.tests.items()}
        pooled: dict[str, Pooled] = {}
        for name, trials in new.items():
            states = tests.setdefault(name, {})
            code = f"{self._code} {trials.file}".rstrip() if self._code is not None else None
            before = states.pop(code, None) if code is not None else None
            evidence, is_repeated = trials.evidence, False
            if code is not None:
                evidence, is_repeated = _added(before, trials)
            pooled[name] = Pooled(
                evidence,
                accepted.tests.get(name),
                is_repeated,
                has_other_code=code is not None and before is None and bool(states),
            )
            if code is not None:
                states[code] = evidence
                tests[name] = dict(list(states.items())[-MOST_STATES:])
        kept = _Records({name: _States(states) for name, states in tests.items() if states})
        self._commit(TRIALS, kept)
        if accept:
            latest = {name: trials.evidence for name, trials in pooled.items()}
            self._commit(ACCEPTED, _Accepted({**accepted.tests, **latest}))
        return pooled

    def _prepare(self) -> None:
        """Make the folder if needed; then Git ignores all of it but the accepted records.

        A folder that exists may have other files, which Git must not ignore.
        """
        if self._folder.is_folder():
            return
        self._folder.parent.make_folder(durable=True)
        path = Path(self._folder.path)
        with draft_in(path.parent) as draft:  # so that no folder without the file is ever left
            (draft / "new").mkdir()
            ignored = draft / "new" / ".gitignore"
            ignored.write_text(f"# Written by seedproof.\n*\n!{ACCEPTED}\n", encoding="utf-8")
            sync(ignored)
            with suppress(FileExistsError, NotADirectoryError):  # reported by what follows
                (draft / "new").replace(path)
            sync(path.parent)

    def _loaded(self, name: str, kind: type[_T]) -> _T:
        place = self._folder / name
        return loaded(kind, place) if place.is_file() else kind()

    def _commit(self, name: str, content: _Records | _Accepted) -> None:
        (self._folder / name).commit(sealed(asdict(content)), replaces=True)


def _added(before: Evidence | None, trials: NewTrials) -> tuple[Evidence, bool]:
    """Return the evidence with new trials, and whether they only repeat earlier ones."""
    new, is_copy = trials.evidence, trials.may_be_copied(before)
    if before is None:
        return Evidence(0, 0, test_runs=0).with_test_run(new, repeats=0, is_copy=is_copy), False
    repeats = before.repeats + 1 if new.outcomes == before.outcomes else 0
    if repeats and trials.coincidence() ** repeats < COINCIDENCE:
        return replace(before, repeats=repeats), True
    return before.with_test_run(new, repeats=repeats, is_copy=is_copy), False
