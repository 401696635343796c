"""Does a training obey its seeds? Train briefly a few times, and compare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from seedproof.doctor.checks import (
    check_files,
    check_logged,
    check_other,
    check_same,
    check_sources,
    check_start,
    check_threads,
    check_when,
)
from seedproof.doctor.differences import differences
from seedproof.doctor.finding import Finding, details
from seedproof.doctor.id_check import check_ids
from seedproof.doctor.observation import Observed
from seedproof.doctor.probe import Probe
from seedproof.engines import Failure, ProcessEngine
from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.seeds import SOURCES, SeedPlan
from seedproof.training.spec import RunSpec, StudySpec
from seedproof.training.target import Target
from seedproof.typing import is_count

# What an explanation samples comes after the training.
AFTERWARDS = "explainer"
# Texts are hashed with another secret in each process, unless it is named.
HASHES = ("1", "2")
# Trainings by their codes; those that vary one source are named after it.
PROBES = {
    "first-seed": "the first seed",
    "same-seed-second": "the same seed again",
    "same-seed-third": "the same seed a third time",
    "same-seed-fourth": "the same seed a fourth time",
    "other-seed": "another seed",
    "third-seed": "a third seed",
}


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found.

    Args:
        target: What was trained.
        findings: One for each question.
        failure: Why the training itself did not work; None if it did.
        during: Which of the trainings that was.
    """

    target: str
    findings: tuple[Finding, ...]
    failure: Failure | None = None
    during: Message | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether nothing failed; warnings do not count."""
        return self.failure is None and all(finding.verdict != "fail" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the diagnosis for JSON."""
        failure, during = self.failure, self.during
        return {
            "target": self.target,
            "is_healthy": self.is_healthy,
            "failure": None if failure is None else str(failure.message),
            "traceback": None if failure is None else failure.traceback,
            "during": None if during is None else str(during),
            "during_code": None if during is None else during.code,
            "failure_details": None if failure is None else details(failure.message),
            "findings": [finding.as_json() for finding in self.findings],
        }


def examine(
    target: Target,
    *,
    arm: str = "none",
    arguments: Sequence[str] = (),
    threads: int = 1,
    steps: int | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    on_probe: Callable[[str], None] | None = None,
) -> Diagnosis:
    """Train briefly several times, in fresh processes, and compare."""
    if steps is not None and not is_count(steps, least=1):
        raise OptionError("{steps!r} steps are not possible. Give 1 or more.", steps=steps)
    if seconds is not None and not 0 < seconds < inf:
        raise OptionError(
            "{seconds!r} seconds are not possible. Give more than 0.", seconds=seconds
        )
    study = StudySpec(
        "doctor",
        target.name,
        SeedPlan.all(3),
        arms=(arm,),
        arguments=tuple(arguments),
        threads=threads,
    )
    clinic = _Clinic(Probe(target, steps, seconds), threads, workers, on_probe)
    try:
        return Diagnosis(target.name, _findings(clinic, *study.runs(), threads=threads))
    except _NoTrainingError as error:
        return Diagnosis(target.name, (), error.failure, error.during)


def _findings(
    clinic: "_Clinic", base: RunSpec, other: RunSpec, third: RunSpec, *, threads: int
) -> tuple[Finding, ...]:
    """Train as often as it takes to answer each question."""
    # One after the other: what the first leaves behind, the second may find.
    one = clinic.train("first-seed", base)
    two = clinic.train("same-seed-second", base, hashes=HASHES[1])
    same = check_same(one, two, _more(clinic, base, one, two))
    is_repeatable = same.verdict != "fail"
    runs = {"other-seed": other}
    sources = [source for source in SOURCES if source in one.sources and source != AFTERWARDS]
    # A source that is not asked for shows what is drawn outside of sources.
    unused = next((source for source in reversed(SOURCES) if source not in one.sources), None)
    if is_repeatable and (one.weights or one.splits) and sources:
        runs |= {
            source: replace(base, seeds={**base.seeds, source: other.seeds[source]})
            for source in (*sources, unused)
            if source is not None
        }
    # Trainings that write the same files would disturb each other.
    seen = clinic.train_all(runs, one_by_one=not set(one.files).isdisjoint(two.files))
    varied = seen.pop("other-seed")
    rest = seen.pop(unused, None) if unused is not None else None
    others = [varied]
    if is_repeatable and not one.weights and not differences(one, varied):
        # Classes may agree by chance where the examples are easy.
        others.append(clinic.train("third-seed", third))
    held = [*(run for source, run in seen.items() if source != "data"), *([rest] if rest else [])]
    return (
        check_logged(one),
        same,
        check_other(one, others, is_repeatable=is_repeatable),
        check_start(one, varied),
        check_sources(one, seen, rest, is_repeatable=is_repeatable),
        check_ids(one, varied, held),
        check_when(one, varied),
        check_files(one, varied),
        check_threads(one, threads),
    )


def _more(clinic: "_Clinic", base: RunSpec, one: Observed, two: Observed) -> list[Observed]:
    """If the same seed gave two results: what tells chance from hashing and from leftovers."""
    if not differences(one, two):
        return []
    three = clinic.train("same-seed-third", base)
    if differences(one, three) and differences(two, three):
        return [three]
    return [three, clinic.train("same-seed-fourth", base, hashes=HASHES[1])]


class _NoTrainingError(Exception):
    """A training failed, so that nothing can be compared."""

    def __init__(self, failure: Failure, during: Message) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.during = during


class _Clinic:
    """Where probes are made: a fresh process each, with a known secret for hashing."""

    def __init__(
        self,
        probe: Probe,
        threads: int,
        workers: int | None,
        on_probe: Callable[[str], None] | None,
    ) -> None:
        self._probe = probe
        self._threads = threads
        self._workers = workers
        self._on_probe = on_probe

    def train(self, code: str, run: RunSpec, *, hashes: str = HASHES[0]) -> Observed:
        """Return what one training did."""
        return self.train_all({code: run}, hashes=hashes)[code]

    def train_all(
        self, runs: Mapping[str, RunSpec], *, hashes: str = HASHES[0], one_by_one: bool = False
    ) -> dict[str, Observed]:
        """Return what each of several trainings did, by the same codes."""
        codes = list(runs)
        names = [Message(code, PROBES.get(code, code)) for code in codes]
        if self._on_probe is not None:
            self._on_probe(", ".join(map(str, names)))
        engine = ProcessEngine(
            workers=1 if one_by_one else self._workers,
            retries=0,
            threads=self._threads,
            environment={"PYTHONHASHSEED": hashes},
        )
        seen = {}
        for outcome in engine.map(self._probe, runs.values()):
            if outcome.failure is not None:
                raise _NoTrainingError(outcome.failure, names[outcome.index])
            seen[codes[outcome.index]] = outcome.value()
        return {code: seen[code] for code in codes}
