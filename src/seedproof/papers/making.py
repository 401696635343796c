"""The runs of a recipe's study, made."""

from collections.abc import Callable

from seedproof.errors import RunError
from seedproof.study.study import Study

# Engines whose runs read the data where they are planned.
LOCAL_ENGINES = ("serial", "processes")


def make_runs(
    study: Study,
    *,
    check: Callable[[], object],
    engine: str = "processes",
    workers: int | None = None,
    progress: bool = True,
    follow: str | None = None,
) -> None:
    """Make every run of a study that is missing.

    Args:
        study: Which study.
        check: Reads what the runs need, so that what is wrong is told before any begins.
        engine: Where runs are made.
        workers: How many runs at a time.
        progress: Whether to show on standard error how far it is.
        follow: A scalar whose mean over the finished runs is shown.

    Raises:
        RunError: A run failed.
    """
    if engine in LOCAL_ENGINES and not study.status().is_done:
        check()
    status = study.run(engine, workers=workers, progress=progress, follow=follow)
    if status.failed:
        raise RunError(
            f"{len(status.failed)} run(s) failed. See why with: seedproof status "
            f"{study.store} --tracebacks. The same command tries them again."
        )
