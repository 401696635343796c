"""The study of the reproduction: one setting, under some seeds, in some arms."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from seedproof.training.run import Run
from seedproof.training.study import Study
from seedproof_reproductions.conll2019.names import BASELINE, PAPER_ARMS
from seedproof_reproductions.conll2019.results import collect
from seedproof_reproductions.conll2019.settings import ARMS, Setting
from seedproof_reproductions.datasets.catalog import load
from seedproof_reproductions.known import check_known
from seedproof_reproductions.runs import make_runs, study_of
from seedproof_reproductions.word_vectors import find_vectors

USUAL_ARMS = (BASELINE, *PAPER_ARMS)


def train(run: Run) -> None:
    """Train the model that a run's arguments describe, and log its predictions."""
    from seedproof_reproductions.conll2019.data import prepare
    from seedproof_reproductions.conll2019.training import log_run

    setting = Setting.from_arguments(run.arguments)
    log_run(run, prepare(setting), setting)


def study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 10,
    arms: Sequence[str] = USUAL_ARMS,
) -> Study:
    """Return the study of one setting; running it again makes what is missing."""
    for arm in arms:
        check_known("stabilizer", arm, ARMS)
    return study_of(setting, train, store=store, seeds=seeds, arms=arms)


def complete(
    study: Study,
    setting: Setting,
    *,
    engine: str = "processes",
    workers: int | None = None,
    follow: str | None = "test_accuracy",
) -> dict[str, Any]:
    """Make every run of a study that is missing, and collect the results."""
    check = partial(check_data, setting)
    make_runs(study, check=check, engine=engine, workers=workers, follow=follow)
    return collect(study.store)


def check_data(setting: Setting) -> None:
    """Read the data and the word vectors, so that errors appear before any run begins."""
    load(setting.dataset)
    find_vectors(setting.vectors, ())
