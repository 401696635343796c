"""The study of the reproduction: one setting, under some seeds, in some arms."""

import os
from collections.abc import Sequence

from seedproof._optional import require
from seedproof.papers.findings2023.arms import ARMS, arm_of
from seedproof.papers.findings2023.settings import Setting
from seedproof.papers.findings2023.training import train
from seedproof.study.study import Study


def study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 50,
    arms: Sequence[str] = tuple(ARMS),
) -> Study:
    """The study of one setting; running it again makes what is missing.

    Args:
        setting: Data set and track.
        store: Where records go.
        seeds: How many seeds, which all arms share.
        arms: Names of arms.

    Returns:
        A study of one thread a run.
    """
    for arm in arms:
        arm_of(arm)
    require("torch", extra="papers", feature="Reproducing a paper")
    return Study(
        setting.name,
        train,
        seeds=seeds,
        arms=arms,
        store=store,
        arguments=setting.as_arguments(),
        threads_per_run=1,
    )
