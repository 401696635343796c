"""The study of the reproduction: one setting, under some seeds, in some arms."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from seedproof._optional import require
from seedproof.errors import OptionError
from seedproof.study.study import Study
from seedproof_reproductions.findings2023.arms import ARMS, arm_of
from seedproof_reproductions.findings2023.results import collect
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.making import make_runs, tell

ARMS_OF_TRACK: dict[str, tuple[str, ...]] = {
    "head": tuple(ARMS),
    "finetune": ("none", "swa", "ema", "tgtss-every-10", "tgtss-free"),
}


def study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 50,
    arms: Sequence[str] | None = None,
) -> Study:
    """The study of one setting; running it again makes what is missing.

    Args:
        setting: Data set and track.
        store: Where records go.
        seeds: How many seeds, which all arms share.
        arms: Names of arms; all of the track without them.

    Returns:
        A study of one thread a run.

    Raises:
        OptionError: The track has no such arm.
    """
    known = ARMS_OF_TRACK[setting.track]
    arms = known if arms is None else arms
    for arm in arms:
        arm_of(arm)
        if arm not in known:
            raise OptionError(
                f"The track {setting.track!r} has no arm {arm!r}. Known: {', '.join(known)}."
            )
    require("torch", extra="papers", feature="Reproducing a paper")
    from seedproof_reproductions.findings2023.training import train

    return Study(
        setting.name,
        train,
        seeds=seeds,
        arms=arms,
        store=store,
        arguments=setting.as_arguments(),
        threads_per_run=1,
    )


def reproduce(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 50,
    arms: Sequence[str] | None = None,
    engine: str = "processes",
    workers: int | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Make every run that is missing, and collect what came out.

    Args:
        setting: Data set and track.
        store: Where records go; a second call goes on from there.
        seeds: How many seeds, which all arms share.
        arms: Names of arms; all of the track without them.
        engine: Where runs are made.
        workers: How many runs at a time.
        progress: Whether to show on standard error how far it is.

    Returns:
        What `collect` gives.
    """
    ours = study(setting, store=store, seeds=seeds, arms=arms)
    make_runs(
        ours,
        check=partial(_check_data, setting),
        engine=engine,
        workers=workers,
        progress=progress,
        follow="test_accuracy",
        slow=_slow(ARMS_OF_TRACK[setting.track] if arms is None else arms, engine),
    )
    return collect(ours.store)


def _check_data(setting: Setting) -> None:
    """Read the data, tell what is odd, and compute the features that all runs share."""
    from seedproof_reproductions.findings2023.data import prepare

    for note in prepare(setting).data.notes:
        tell(note)


def _slow(arms: Sequence[str], engine: str) -> str:
    """What some arms train beside one head, such as "some arms train 16 heads or 10 teachers"."""
    chosen = [arm_of(arm) for arm in arms]
    n_heads = max((arm.n_heads for arm in chosen), default=1)
    fresh, shared = (
        max((arm.soft.n_teachers for arm in chosen if arm.soft and arm.teacher == kind), default=1)
        for kind in ("fresh", "shared")
    )
    # A teacher that runs share is trained once in a process.
    n_teachers = fresh if engine == "serial" else max(fresh, shared)
    parts = [f"{n} {noun}" for n, noun in ((n_heads, "heads"), (n_teachers, "teachers")) if n > 1]
    tip = " (--engine serial trains those that runs share once)" if n_teachers > fresh else ""
    return f"some arms train {' or '.join(parts)}{tip}" if parts else ""
