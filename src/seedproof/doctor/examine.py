"""Train briefly a few times and compare: does the training obey its seeds?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from seedproof.doctor.checks import (
    check_answers,
    check_files,
    check_ids,
    check_logged,
    check_other,
    check_same,
    check_sources,
    check_start,
    check_threads,
    check_when,
)
from seedproof.doctor.finding import Finding, details
from seedproof.doctor.observation import Observed, differences
from seedproof.doctor.probe import Probe
from seedproof.engines import Failure, ProcessEngine
from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.seeds import SOURCES, SeedPlan
from seedproof.training.spec import RunSpec, StudySpec
from seedproof.training.target import Target
from seedproof.typing import is_count

# Explanations sample after the training.
AFTERWARDS = "explainer"
# Hash seeds of a process, which are otherwise random.
HASHES = ("1", "2")
# Training runs by their codes; those that vary one source have its name.
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
    """Result of the doctor: findings, or why and in which training the target failed."""

    target: str
    findings: tuple[Finding, ...]
    failure: Failure | None = None
    during: Message | None = None

    @property
    def is_healthy(self) -> bool:
        """True if nothing failed; warnings do not count."""
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
        raise OptionError("{steps!r} steps are not allowed. Pass 1 or more.", steps=steps)
    if seconds is not None and not 0 < seconds < inf:
        raise OptionError("{seconds!r} seconds are not allowed. Pass more than 0.", seconds=seconds)
    study = StudySpec(
        "doctor",
        target.name,
        SeedPlan.all(3),
        arms=(arm,),
        arguments=tuple(arguments),
        threads=threads,
    )
    probes = _Probes(Probe(target, steps, seconds), threads, workers, on_probe)
    try:
        return Diagnosis(target.name, _findings(probes, *study.runs(), threads=threads))
    except _NoTrainingError as error:
        return Diagnosis(target.name, (), error.failure, error.during)


def _findings(
    probes: "_Probes", base: RunSpec, other: RunSpec, third: RunSpec, *, threads: int
) -> tuple[Finding, ...]:
    """Train as often as the checks need."""
    # One after the other: the second may use files of the first.
    first = probes.train("first-seed", base)
    second = probes.train("same-seed-second", base, hashes=HASHES[1])
    same = check_same(first, second, _more(probes, base, first, second))
    is_repeatable = same.verdict != "fail"
    runs = {"other-seed": other}
    sources = [source for source in SOURCES if source in first.sources and source != AFTERWARDS]
    # A source that is not requested shows the effect of draws outside of sources.
    unused = next((source for source in reversed(SOURCES) if source not in first.sources), None)
    if is_repeatable and (first.weights or first.splits) and sources:
        runs |= {
            source: replace(base, seeds={**base.seeds, source: other.seeds[source]})
            for source in (*sources, unused)
            if source is not None
        }
    # Training runs that write the same files would disturb each other.
    seen = probes.train_all(runs, one_at_a_time=not set(first.files).isdisjoint(second.files))
    varied = seen.pop("other-seed")
    rest = seen.pop(unused, None) if unused is not None else None
    others = [varied]
    if is_repeatable and not first.weights and not differences(first, varied):
        # On easy examples, classes may agree by chance.
        others.append(probes.train("third-seed", third))
    held = [*(run for source, run in seen.items() if source != "data"), *([rest] if rest else [])]
    return (
        check_logged(first),
        same,
        check_other(first, others, is_repeatable=is_repeatable),
        check_start(first, varied),
        check_sources(first, seen, rest, is_repeatable=is_repeatable),
        check_ids(first, varied, held),
        check_when(first, varied),
        check_files(first, varied),
        check_threads(first, threads),
        check_answers(first),
    )


def _more(probes: "_Probes", base: RunSpec, first: Observed, second: Observed) -> list[Observed]:
    """If the same seed gave two results, repeat it to distinguish chance, hashing and leftovers."""
    if not differences(first, second):
        return []
    third = probes.train("same-seed-third", base)
    if differences(first, third) and differences(second, third):
        return [third]
    return [third, probes.train("same-seed-fourth", base, hashes=HASHES[1])]


class _NoTrainingError(Exception):
    """A training failed, so that nothing can be compared."""

    def __init__(self, failure: Failure, during: Message) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.during = during


@dataclass(frozen=True)
class _Probes:
    """Training runs under observation, each in a fresh process with a known hash seed."""

    probe: Probe
    threads: int
    workers: int | None
    on_probe: Callable[[str], None] | None

    def train(self, code: str, run: RunSpec, *, hashes: str = HASHES[0]) -> Observed:
        """Return what one training did."""
        return self.train_all({code: run}, hashes=hashes)[code]

    def train_all(
        self, runs: Mapping[str, RunSpec], *, hashes: str = HASHES[0], one_at_a_time: bool = False
    ) -> dict[str, Observed]:
        """Return what each of several training runs did, by the same codes."""
        codes = list(runs)
        names = [Message(code, PROBES.get(code, code)) for code in codes]
        if self.on_probe is not None:
            self.on_probe(", ".join(map(str, names)))
        engine = ProcessEngine(
            workers=1 if one_at_a_time else self.workers,
            retries=0,
            threads=self.threads,
            environment={"PYTHONHASHSEED": hashes},
        )
        observed = {}
        for outcome in engine.map(self.probe, runs.values()):
            if outcome.failure is not None:
                raise _NoTrainingError(outcome.failure, names[outcome.index])
            observed[codes[outcome.index]] = outcome.value()
        return {code: observed[code] for code in codes}
