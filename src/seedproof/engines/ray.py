"""Ray engine: many machines, with fresh processes or Ray's own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from seedproof._optional import require
from seedproof.engines.attempts import Attempt, Attempts
from seedproof.engines.base import Failure, Item, OnStart, Outcome, Result, Task, check_settings
from seedproof.engines.child import PackedTask
from seedproof.engines.processes import ProcessEngine, do_alone
from seedproof.engines.serial import as_picklable
from seedproof.errors import OptionError, RunError, first_line
from seedproof.messages import Message

TICK_SECONDS = 0.5
# A task that has not stopped after these is on a lost node.
STOP_REQUESTS = 20


@dataclass(frozen=True)
class RayEngine:
    """Runs each item on a node of a Ray cluster, by default in a fresh process.

    Every node needs seedproof, and the store's folder at the same path.

    Args:
        address: Address of a cluster, such as "auto" or "head:6379". If omitted, Ray's environment
            decides, and otherwise a cluster is started on this machine.
        workers: Number of items at a time. If omitted, as the cluster allows.
        retries: Number of retries after a crash of the process or node.
        timeout: Time limit per item, in seconds; no retry.
        threads: Threads per item.
        cpus: CPUs per item. If omitted, as many as threads.
        gpus: GPUs per item; with 0.25, four items share one.
        environment: Further environment variables.
        fresh: Whether each item gets its own process, which training needs: generators, memory,
            and the state of libraries. Otherwise Ray's workers take one item after another, without
            a timeout and in the environment of their node.
        ahead: If results are needed in order: how many items per worker may be finished or running,
            counted from the first unfinished one. If omitted, any number.
    """

    address: str | None = None
    workers: int | None = None
    retries: int = 2
    timeout: float | None = None
    threads: int = 1
    cpus: float | None = None
    gpus: float = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = True
    ahead: int | None = None

    def __post_init__(self) -> None:
        if not self.fresh and (self.timeout is not None or self.environment):
            raise OptionError(
                "A timeout or an environment needs fresh processes: set fresh=True.", option="fresh"
            )
        check_settings(
            workers=self.workers, retries=self.retries, timeout=self.timeout, threads=self.threads
        )
        for name, amount in (("cpus", self.cpus), ("gpus", self.gpus)):
            if amount is not None and amount < 0:
                raise OptionError(
                    "{option} is {amount!r}. Pass 0 or more; fractions are fine.",
                    option=name,
                    amount=amount,
                )

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], *, on_start: OnStart | None = None
    ) -> Iterator[Outcome[Result]]:
        """Call the task with every item, as the cluster has room."""
        require("ray", extra="ray", feature="The ray engine")
        import ray

        is_ours = not ray.is_initialized()
        if is_ours:
            self._connect()
        attempts = Attempts(task, items, self.retries)
        submit = self._submit_alone() if self.fresh else self._submit(task)
        under_way: dict[Any, Attempt] = {}
        try:
            while True:
                for following in self._following(attempts, len(under_way)):
                    under_way[submit(following)] = following
                    if on_start is not None:
                        on_start(following.index)
                if not under_way:
                    return
                done, _ = ray.wait(list(under_way), num_returns=1, timeout=TICK_SECONDS)
                for reference in done:
                    attempt = under_way.pop(reference)
                    yield from attempts.settled(attempt, _outcome(reference, attempt))
        finally:
            _stop(list(under_way))
            if is_ours:
                ray.shutdown()

    def _submit_alone(self) -> Callable[[Attempt], Any]:
        """Return a function that submits an attempt to a fresh process."""
        alone = ProcessEngine(
            timeout=self.timeout, threads=self.threads, environment=dict(self.environment)
        )
        shell = self._remote(do_alone)
        return lambda attempt: shell.remote(attempt, alone)

    def _submit(self, task: Task[Item, Result]) -> Callable[[Attempt], Any]:
        """Return a function that submits an attempt to Ray's workers; a node gets the task once."""
        import cloudpickle
        import ray

        packed, name = ray.put(cloudpickle.dumps(task)), uuid4().hex
        shell = self._remote(_do_here)
        return lambda attempt: shell.remote(
            packed, name, attempt.request.item, attempt.index, attempt.number
        )

    def _remote(self, function: Callable[..., Outcome[Any]]) -> Any:  # noqa: ANN401 - Ray's own
        import ray

        return ray.remote(function).options(
            num_cpus=self._cpus,
            num_gpus=self.gpus,
            scheduling_strategy="SPREAD",
            # We count attempts ourselves, as the fresh process may crash, too.
            max_retries=0,
        )

    def _connect(self) -> None:
        import ray

        try:
            ray.init(
                address=self.address,
                log_to_driver=False,
                include_dashboard=False if self.address is None else None,
                configure_logging=False,
            )
        except Exception as error:  # its startup raises bare exceptions, too
            if self.address is None:
                raise RunError(
                    "Ray does not start on this machine ({reason}). Look at its logs in "
                    "/tmp/ray/session_latest/logs, or use the engine `processes`.",
                    reason=first_line(error),
                ) from error
            raise RunError(
                "Ray cannot be reached at {address!r} ({reason}). "
                "Check the address, or start a cluster with `ray start --head`.",
                address=self.address,
                reason=first_line(error),
            ) from error

    def _following(self, attempts: Attempts, n_under_way: int) -> Iterator[Attempt]:
        """Yield as many attempts as there is room for."""
        workers = self.workers or self._room()
        for _ in range(workers - n_under_way):
            following = attempts.following(None if self.ahead is None else self.ahead * workers)
            if following is None:
                return
            yield following

    @property
    def _cpus(self) -> float:
        return self.threads if self.cpus is None else self.cpus

    def _room(self) -> int:
        """Return how many items fit the cluster, and one more, so that it may grow."""
        import ray

        has: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        rooms = [
            has.get(kind, 0) / need
            for kind, need in (("CPU", self._cpus), ("GPU", self.gpus))
            if need
        ]
        return int(min(rooms, default=1)) + 1


def _stop(references: list[Any]) -> None:
    """Cancel tasks; Ray loses a request at the start of a task, so it is repeated."""
    import ray

    for _ in range(STOP_REQUESTS):
        for reference in references:
            ray.cancel(reference, force=True)
        if not references:
            return
        _, references = ray.wait(references, num_returns=len(references), timeout=TICK_SECONDS)


# The task of a worker, one at a time.
_TASK: dict[str, PackedTask] = {}


def _do_here(packed: bytes, name: str, item: bytes, index: int, number: int) -> Outcome[Any]:
    """Return the outcome of an item in this worker."""
    if name not in _TASK:
        _TASK.clear()
        _TASK[name] = PackedTask(packed)
    return replace(as_picklable(_TASK[name](item, index)), attempts=number)


def _outcome(reference: Any, attempt: Attempt) -> Outcome[Any]:  # noqa: ANN401 - an ObjectRef
    """Return the outcome of an attempt; errors of Ray itself are crashes."""
    import ray

    try:
        outcome: Outcome[Any] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        kind, reason = type(error.cause).__name__, str(error.cause)
        message = Message("raised", "{reason}", error_type=kind, reason=reason)
        failure = Failure("failed", message, str(error))
    except ray.exceptions.RayError as error:
        message = Message("lost", "Ray lost it: {reason}.", reason=first_line(error))
        failure = Failure("killed", message, str(error))
    else:
        return outcome
    return Outcome(attempt.index, failure=failure, attempts=attempt.number)
