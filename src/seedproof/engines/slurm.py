"""University clusters, through submitit: one array of jobs, no daemon."""

import time
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
from seedproof.errors import RunError, first_line
from seedproof.messages import Message

# Asking SLURM costs its controller something.
POLL_SECONDS = {"slurm": 5.0, "local": 0.2}


@dataclass(frozen=True)
class SlurmEngine:
    """Does each item in a job of its own, in one array.

    Jobs are cancelled when this process stops in order. If it is killed, they go on: what they
    finish is in the store, and a study that is run again goes on from there.

    Args:
        folder: Where submitit keeps its files; nodes must see it.
        cluster: `slurm`, or `local` to try the same jobs on this machine.
        partition: Which partition; the cluster's default without one.
        minutes: Time limit of a job.
        memory_gb: Memory of a job; the cluster's default without a number.
        gpus: GPUs of a job.
        workers: How many jobs at a time; as many as the cluster allows without one.
        retries: How often an item is submitted again after its job died.
        timeout: Seconds that an item may take; it is not tried again.
        threads: How many threads each may use, which is also its CPUs.
        parameters: Further parameters of submitit, such as `{"slurm_account": "mine"}`.
        environment: Further environment variables.
    """

    folder: str = "slurm-jobs"
    cluster: str = "slurm"
    partition: str | None = None
    minutes: int = 60
    memory_gb: float | None = None
    gpus: int = 0
    workers: int | None = None
    retries: int = 2
    timeout: float | None = None
    threads: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(
            workers=self.workers, retries=self.retries, timeout=self.timeout, threads=self.threads
        )

    def map(
        self,
        task: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_start: OnStart | None = None,
    ) -> Iterator[Outcome[Result]]:
        """Do the task for every item, in one array of jobs."""
        require("submitit", extra="slurm", feature="The slurm engine")
        executor = self.executor()
        alone = ProcessEngine(
            timeout=self.timeout, threads=self.threads, environment=dict(self.environment)
        )
        attempts = Attempts(task, items, self.retries)
        jobs: list[tuple[Any, Attempt]] = []
        try:
            while True:
                waiting = list(iter(attempts.following, None))
                if waiting:
                    sent = self._submit(executor, waiting, alone)
                    jobs += zip(sent, waiting, strict=True)
                    for attempt in waiting:
                        if on_start is not None:
                            on_start(attempt.index)
                if not jobs:
                    return
                over = [pair for pair in jobs if pair[0].done()]
                for job, attempt in over:
                    jobs.remove((job, attempt))
                    yield from attempts.settled(attempt, _outcome(job, attempt))
                if not over:
                    time.sleep(POLL_SECONDS.get(self.cluster, 1.0))
        finally:
            for job, _ in jobs:
                job.cancel()

    def _submit(
        self,
        executor: Any,  # noqa: ANN401 - submitit has no types
        attempts: list[Attempt],
        alone: ProcessEngine,
    ) -> list[Any]:
        import submitit

        try:
            return list(executor.map_array(do_alone, attempts, [alone] * len(attempts)))
        except submitit.core.utils.FailedJobError as error:
            raise RunError(
                "SLURM refuses the jobs ({reason}). Look at partition, minutes, memory and GPUs.",
                reason=first_line(error),
            ) from error

    def executor(self) -> Any:  # noqa: ANN401 - submitit has no types
        """What submits the jobs, with all parameters set."""
        import submitit

        try:
            executor = submitit.AutoExecutor(self.folder, cluster=self.cluster)
        except RuntimeError as error:
            raise RunError(
                "SLURM is not to be found here ({reason}). Start on a machine where "
                "`srun` and `sbatch` work, or try the same jobs here with cluster='local'.",
                reason=first_line(error),
                command="srun",
            ) from error
        executor.update_parameters(
            name="seedproof",
            timeout_min=self.minutes,
            cpus_per_task=self.threads,
            # A cluster without GPUs may refuse to hear of them.
            **({} if self.gpus == 0 else {"gpus_per_node": self.gpus}),
            **({} if self.memory_gb is None else {"mem_gb": self.memory_gb}),
            **({} if self.partition is None else {"slurm_partition": self.partition}),
            **({} if self.workers is None else {"slurm_array_parallelism": self.workers}),
            **self.parameters,
        )
        return executor


def _outcome(job: Any, attempt: Attempt) -> Outcome[Any]:  # noqa: ANN401 - submitit has no types
    """What came of one job; one that leaves no result has died."""
    import submitit

    try:
        outcome: Outcome[Any] = job.result()
    except (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError) as error:
        message = Message(
            "lost", "SLURM lost job {job}: {reason}.", job=job.job_id, reason=first_line(error)
        )
        failure = Failure("killed", message, str(error))
        return Outcome(attempt.index, failure=failure, attempts=attempt.number)
    return outcome
