"""Many machines, through Ray: a task waits there for a fresh process that does one item."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from seedproof._optional import require
from seedproof.engines.attempts import Attempt, Attempts
from seedproof.engines.base import (
    Failure,
    Item,
    OnStart,
    Outcome,
    Result,
    check_settings,
)
from seedproof.engines.processes import ProcessEngine, do_alone
from seedproof.errors import OptionError, RunError, first_line

TICK_SECONDS = 0.5


@dataclass(frozen=True)
class RayEngine:
    """Does each item in a fresh process on some node of a Ray cluster.

    Every node needs seedproof, and the store's folder at the same place.

    Args:
        address: An existing cluster, such as "auto" or "head:6379"; without one, Ray's own
            environment decides, and the last resort is a cluster on this machine alone.
        workers: How many at a time; as many as the cluster has room for without one.
        retries: How often an item is tried again after its process or node died.
        timeout: Seconds that an item may take; it is not tried again.
        threads: How many threads each may use.
        cpus: CPUs that each needs; as many as threads without a number.
        gpus: GPUs that each needs; 0.25 lets four share one.
        environment: Further environment variables.
    """

    address: str | None = None
    workers: int | None = None
    retries: int = 2
    timeout: float | None = None
    threads: int = 1
    cpus: float | None = None
    gpus: float = 0
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(
            workers=self.workers, retries=self.retries, timeout=self.timeout, threads=self.threads
        )
        for name, amount in (("cpus", self.cpus), ("gpus", self.gpus)):
            if amount is not None and amount < 0:
                raise OptionError(f"{name} is {amount!r}. Give 0 or more; fractions are fine.")

    def map(
        self,
        task: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_start: OnStart | None = None,
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item, as the cluster has room."""
        require("ray", extra="ray", feature="The ray engine")
        import ray

        is_ours = not ray.is_initialized()
        if is_ours:
            self._connect()
        shell = ray.remote(do_alone).options(
            num_cpus=self._cpus,
            num_gpus=self.gpus,
            scheduling_strategy="SPREAD",
            # We count attempts ourselves: a death inside the fresh process is one as well.
            max_retries=0,
        )
        alone = ProcessEngine(
            timeout=self.timeout, threads=self.threads, environment=dict(self.environment)
        )
        attempts = Attempts(task, items, self.retries)
        under_way: dict[Any, Attempt] = {}
        try:
            while True:
                for following in self._following(attempts, len(under_way)):
                    under_way[shell.remote(following, alone)] = following
                    if on_start is not None:
                        on_start(following.index)
                if not under_way:
                    return
                done, _ = ray.wait(list(under_way), num_returns=1, timeout=TICK_SECONDS)
                for reference in done:
                    attempt = under_way.pop(reference)
                    yield from attempts.settled(attempt, _outcome(reference, attempt))
        finally:
            for reference in under_way:
                ray.cancel(reference, force=True)
            if is_ours:
                ray.shutdown()

    def _connect(self) -> None:
        import ray

        try:
            ray.init(
                address=self.address,
                log_to_driver=False,
                include_dashboard=False if self.address is None else None,
                configure_logging=False,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise RunError(
                f"Ray cannot be reached at {self.address!r} ({first_line(error)}). "
                "Look at the address, or start a cluster with `ray start --head`."
            ) from error

    def _following(self, attempts: Attempts, n_under_way: int) -> Iterator[Attempt]:
        """As many tries as there is room for."""
        for _ in range((self.workers or self._room()) - n_under_way):
            following = attempts.following()
            if following is None:
                return
            yield following

    @property
    def _cpus(self) -> float:
        return self.threads if self.cpus is None else self.cpus

    def _room(self) -> int:
        """How many items the cluster can hold now, and one more: so it can see that it is small."""
        import ray

        has: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        rooms = [
            has.get(kind, 0) / need
            for kind, need in (("CPU", self._cpus), ("GPU", self.gpus))
            if need
        ]
        return int(min(rooms, default=1)) + 1


def _outcome(reference: Any, attempt: Attempt) -> Outcome[Any]:  # noqa: ANN401 - an ObjectRef
    """What came of one attempt; whatever Ray itself raises is a death."""
    import ray

    try:
        outcome: Outcome[Any] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        failure = Failure("failed", str(error.cause), str(error))
    except ray.exceptions.RayError as error:
        failure = Failure("killed", f"Ray lost it: {first_line(error)}.", str(error))
    else:
        return outcome
    return Outcome(attempt.index, failure=failure, attempts=attempt.number)
