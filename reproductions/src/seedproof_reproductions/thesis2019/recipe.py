"""The study of the reproduction: one model, under some seeds, in some arms."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from seedproof._optional import require
from seedproof.errors import OptionError
from seedproof.training.study import Study
from seedproof_reproductions.runs import make_runs, study_of
from seedproof_reproductions.thesis2019.arms import BASELINE, arm_of
from seedproof_reproductions.thesis2019.results import collect
from seedproof_reproductions.thesis2019.settings import Setting


def study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 10,
    arms: Sequence[str] = (BASELINE,),
) -> Study:
    """Return the study of one setting; running it again makes what is missing."""
    for arm in arms:
        # Without pretraining the arm would repeat the runs of the baseline.
        if arm_of(arm) == arm_of("shared-pretraining") and setting.pretraining is None:
            raise OptionError(
                "The arm {arm!r} needs pretraining, which {model} does not have here. Remove it.",
                arm=arm,
                model=setting.model,
            )
    require("torch", extra="papers", feature="Reproducing a paper")  # before it is imported
    from seedproof_reproductions.thesis2019.training import train

    return study_of(setting, train, store=store, seeds=seeds, arms=arms)


def complete(
    study: Study, setting: Setting, *, engine: str = "processes", workers: int | None = None
) -> dict[str, Any]:
    """Make every run of a study that is missing, and collect the results."""
    check = partial(_check_data, setting)
    make_runs(study, check=check, engine=engine, workers=workers, follow="hit_rate_10_candidates")
    return collect(study.store)


def _check_data(setting: Setting) -> None:
    from seedproof_reproductions.thesis2019.data import prepare

    prepare(setting)
