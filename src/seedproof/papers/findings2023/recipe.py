"""The study of the reproduction: one setting, under some seeds, in some arms."""

import os
from collections.abc import Sequence

from seedproof._optional import require
from seedproof.errors import OptionError
from seedproof.papers.findings2023.arms import ARMS, arm_of
from seedproof.papers.findings2023.settings import Setting
from seedproof.papers.findings2023.training import train
from seedproof.study.study import Study

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
    return Study(
        setting.name,
        train,
        seeds=seeds,
        arms=arms,
        store=store,
        arguments=setting.as_arguments(),
        threads_per_run=1,
    )
