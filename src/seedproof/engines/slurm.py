"""SLURM engine, through submitit: one array of jobs, without a daemon."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from seedproof._optional import require
from seedproof.engines.attempts import Attempt, Attempts
from seedproof.engines.base import Failure, Item, OnStart, Outcome, Result, Task, check_settings
from seedproof.engines.processes import ProcessEngine, do_alone
from seedproof.errors import RunError, first_line
from seedproof.messages import Message

# Every poll is load for the controller of SLURM.
POLL_SECONDS = {"slurm": 5.0, "local": 0.2}


@dataclass(frozen=True)
class SlurmEngine:
    """Runs each item in its own job, in one array.

    Jobs are cancelled when this process stops normally. If it is killed, they continue: their
    results are in the store, and the same study continues from there.

    Args:
        folder: Folder for submitit's files, which nodes must see.
        cluster: `slurm`, or `local` to try the same jobs on this machine.
        partition: Partition. If omitted, the cluster's default.
        minutes: Time limit per job.
        memory_gb: Memory per job. If omitted, the cluster's default.
        gpus: GPUs per job.
        workers: Number of items at a time. If omitted, as the cluster allows.
        retries: Number of retries after a crash of the process.
        timeout: Time limit per item, in seconds; no retry.
        threads: Threads per item, and CPUs per job.
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
        self, task: Task[Item, Result], items: Iterable[Item], *, on_start: OnStart | None = None
    ) -> Iterator[Outcome[Result]]:
        """Call the task with every item, in one array of jobs."""
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
                "SLURM refuses the jobs ({reason}). Check partition, minutes, memory and GPUs.",
                reason=first_line(error),
            ) from error

    def executor(self) -> Any:  # noqa: ANN401 - submitit has no types
        """Return the executor of submitit, with all parameters set."""
        import submitit

        try:
            executor = submitit.AutoExecutor(self.folder, cluster=self.cluster)
        except RuntimeError as error:
            raise RunError(
                "SLURM is not available here ({reason}). Start on a machine where "
                "`srun` and `sbatch` work, or try the same jobs here with cluster='local'.",
                reason=first_line(error),
                command="srun",
            ) from error
        optional = {
            "gpus_per_node": self.gpus or None,  # a cluster without GPUs may refuse 0
            "mem_gb": self.memory_gb,
            "slurm_partition": self.partition,
            "slurm_array_parallelism": self.workers,
        }
        executor.update_parameters(
            name="seedproof",
            timeout_min=self.minutes,
            cpus_per_task=self.threads,
            **{name: value for name, value in optional.items() if value is not None},
            **self.parameters,
        )
        return executor


def _outcome(job: Any, attempt: Attempt) -> Outcome[Any]:  # noqa: ANN401 - submitit has no types
    """Return the outcome of a job; one without a result has crashed."""
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
