"""The runs of a recipe's study, made."""

import os
from collections import Counter
from collections.abc import Callable, Collection

from rich.console import Console

from seedproof.errors import RunError, TooFewRunsError
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.runs.resume import FINISHED, planned
from seedproof.study.study import Study

# Engines whose runs read the data where they are planned.
LOCAL_ENGINES = ("serial", "processes")
# Whoever starts more runs than this is told so.
MANY_RUNS = 500


def make_runs(
    study: Study,
    *,
    check: Callable[[], object],
    engine: str = "processes",
    workers: int | None = None,
    progress: bool = True,
    follow: str | None = None,
    slow: str = "",
) -> None:
    """Make every run of a study that is missing.

    Args:
        study: Which study.
        check: Reads what the runs need, so that what is wrong is told before any begins.
        engine: Where runs are made.
        workers: How many runs at a time.
        progress: Whether to show on standard error how far it is.
        follow: A scalar whose mean over the finished runs is shown.
        slow: What makes some arms slow, for who starts very many runs.

    Raises:
        RunError: A run failed.
    """
    missing = _missing(study)
    if engine in LOCAL_ENGINES and missing:
        check()
    if progress and sum(missing.values()) > MANY_RUNS:
        tell(_long(missing, slow))
    status = study.run(engine, workers=workers, progress=progress, follow=follow)
    if status.failed:
        raise RunError(
            f"{len(status.failed)} run(s) failed. See why with: seedproof status "
            f"{study.store} --tracebacks. The same command tries them again."
        )


def tell(sentence: str) -> None:
    """Say something on standard error, in one line."""
    Console(stderr=True).print(sentence, markup=False, highlight=False, soft_wrap=True)


def left_out(store: str | os.PathLike[str], shown: Collection[str]) -> tuple[str, ...]:
    """Arms of a store that its results lack, because fewer than two of their runs are finished.

    Args:
        store: Where records are.
        shown: Names of the arms in the results.

    Returns:
        Names, as they were planned.
    """
    place = Location.of(store)
    return tuple(arm for arm in planned(StudyManifest.load(place), place).arms if arm not in shown)


def _missing(study: Study) -> Counter[str]:
    """How many runs each arm lacks; an arm that would have one run alone is refused."""
    asked = {run.run_id: run.arm for run in study.planned()}
    done = {run.spec.run_id: run.spec.arm for run in study.status().runs if run.status == FINISHED}
    n_runs = Counter((done | asked).values())
    alone = [arm for arm in dict.fromkeys(asked.values()) if n_runs[arm] < 2]
    if alone:
        raise TooFewRunsError(
            f"The arm {alone[0]!r} would have one run, and no other to differ from. Give --seeds 2 "
            "or more."
        )
    return Counter(arm for run_id, arm in asked.items() if run_id not in done)


def _long(missing: Counter[str], slow: str) -> str:
    arms = "one arm" if len(missing) == 1 else f"{len(missing)} arms"
    return (
        f"{missing.total():,} runs in {arms}{slow and f'; {slow}'}: this takes hours. --arms and "
        "--seeds make it shorter."
    )
