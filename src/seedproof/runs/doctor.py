"""Does a training obey its seeds? Train briefly a few times, and compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from seedproof.engines import Failure, Outcome, ProcessEngine
from seedproof.errors import OptionError
from seedproof.runs.checkup import (
    Finding,
    check_ids,
    check_logged,
    check_other,
    check_same,
    check_sources,
    check_threads,
    check_when,
    difference,
)
from seedproof.runs.probe import Observed, Probe
from seedproof.runs.spec import RunSpec, StudySpec
from seedproof.runs.target import Target
from seedproof.seeds import SeedPlan
from seedproof.typing import is_count

# Sources that a training draws from; an explainer's comes after it.
SOURCES = ("init", "order", "dropout", "data")
# Texts are hashed with another secret in each process, unless it is named.
HASHES = ("1", "2")


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found.

    Args:
        target: What was trained.
        findings: One for each question.
        failure: Why the training itself did not work; None if it did.
    """

    target: str
    findings: tuple[Finding, ...]
    failure: Failure | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether nothing failed; warnings do not count."""
        return self.failure is None and all(one.verdict != "fail" for one in self.findings)


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
    """Train briefly several times, in fresh processes, and compare.

    Args:
        target: What is trained.
        arm: The arm that it is told.
        arguments: What it is called with.
        threads: Threads that it may use.
        steps: Optimizer steps after which a training is ended; all without a number.
        seconds: Time after which a training is ended; none without a number.
        workers: How many at a time.
        on_probe: Told in words what is trained next.

    Returns:
        An answer to each question.

    Raises:
        OptionError: The budget is not possible.
    """
    if steps is not None and not is_count(steps, least=1):
        raise OptionError(f"{steps!r} steps are not possible. Give 1 or more.")
    if seconds is not None and not seconds > 0:
        raise OptionError(f"{seconds!r} seconds are not possible. Give more than 0.")
    study = StudySpec(
        "doctor",
        target.name,
        SeedPlan.one_at_a_time(2, SOURCES),
        arms=(arm,),
        arguments=tuple(arguments),
        threads=threads,
    )
    base, *single = study.runs()
    clinic = _Clinic(Probe(target, steps, seconds), threads, workers, on_probe)
    # One after the other: what the first leaves behind, the second may find.
    first = clinic.train("the first seed", base)
    if first.failure is not None:
        return Diagnosis(target.name, (), first.failure)
    again = clinic.train("the same seed again", base, hashes=HASHES[1])
    if again.failure is not None:
        return Diagnosis(target.name, (), again.failure)
    one, two = first.value(), again.value()
    three = None
    if difference(one, two) is not None:
        three = clinic.train("the same seed once more", base).value()
    seeds = {source: run.seeds[source] for source, run in zip(SOURCES, single, strict=True)}
    everything = replace(base, name="another seed", seeds={**base.seeds, **seeds})
    others = [everything, *(run for run in single if one.sources)]
    results = clinic.train_all("other seeds", others)
    failed = next((result.failure for result in results if result.failure is not None), None)
    if failed is not None:
        return Diagnosis(target.name, (), failed)
    other, *by_source = (result.value() for result in results)
    alone = dict(zip(SOURCES, by_source, strict=False))
    return Diagnosis(
        target.name,
        (
            check_logged(one),
            check_same(one, two, three),
            check_other(one, other),
            check_sources(one, alone),
            check_ids(one, other),
            check_when(one, other),
            check_threads(one, threads),
        ),
    )


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

    def train(self, what: str, run: RunSpec, hashes: str = HASHES[0]) -> Outcome[Observed]:
        """One training."""
        return self.train_all(what, [run], hashes)[0]

    def train_all(
        self, what: str, runs: Sequence[RunSpec], hashes: str = HASHES[0]
    ) -> list[Outcome[Observed]]:
        """Several trainings, in the order of the runs."""
        if self._on_probe is not None:
            self._on_probe(what)
        engine = ProcessEngine(
            workers=self._workers,
            retries=0,
            threads=self._threads,
            environment={"PYTHONHASHSEED": hashes},
        )
        return sorted(engine.map(self._probe, runs), key=lambda outcome: outcome.index)
