"""The study of the reproduction: one setting, under some seeds, in some arms."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import typer

from seedproof._optional import require
from seedproof.errors import OptionError
from seedproof.training.study import Study
from seedproof_reproductions.findings2023.arms import ARMS, GROUPS, arm_of
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.results import collect
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.known import check_known
from seedproof_reproductions.runs import make_runs, study_of

FINE_TUNED = (
    "none", "label-smoothing-0.1", "swa", "ema", "tgtss-every-10", "tgtss-free",
    "tgtss-every-10-shared", "ensemble-controls",
)  # fmt: skip
ARMS_OF_TRACK: dict[str, tuple[str, ...]] = {"head": tuple(ARMS), "finetune": FINE_TUNED}
# Arms of the paper's study; the others belong to later ones, see plan.toml.
LATER_ARMS = {
    arm for group in ("retraining", "exponent", "finetuned") for arm in GROUPS[group].arms
}
USUAL_ARMS = {
    track: tuple(arm for arm in arms if arm not in LATER_ARMS)
    for track, arms in ARMS_OF_TRACK.items()
}


def study(
    setting: Setting,
    *,
    store: str | os.PathLike[str],
    seeds: int = 50,
    arms: Sequence[str] | None = None,
) -> Study:
    """Return the study of one setting; running it again makes what is missing."""
    known = ARMS_OF_TRACK[setting.track]
    arms = USUAL_ARMS[setting.track] if arms is None else arms
    for arm in arms:
        if arm in ARMS and arm not in known:
            raise OptionError(
                "The track {track!r} has no arm {arm!r}. Known: {known}.",
                track=setting.track,
                arm=arm,
                known=tuple(known),
            )
        check_known("arm", arm, known)
        if arm_of(arm).teacher == "shared" and setting.train_data != "fixed":
            raise OptionError(
                "Arm {arm!r} has a teacher that all runs share, and it would need data that runs "
                "with their own samples do not have. Leave it out.",
                arm=arm,
            )
    require("torch", extra="papers", feature="Reproducing a paper")  # before it is imported
    from seedproof_reproductions.findings2023.training import train

    return study_of(setting, train, store=store, seeds=seeds, arms=arms)


def complete(
    study: Study, setting: Setting, *, engine: str = "processes", workers: int | None = None
) -> dict[str, Any]:
    """Make every run of a study that is missing, and collect the results."""
    slow = _slow(study, engine) if setting.track == "head" else ""
    check = cache(partial(_check_data, setting))
    for part in (*_controls_first(study, setting), study):
        make_runs(
            part,
            check=check,
            engine=engine,
            workers=workers,
            follow="test_accuracy",
            slow=slow,
        )
    return collect(study.store)


def _controls_first(made: Study, setting: Setting) -> Iterator[Study]:
    """Return the controls of fine-tuned encoders: arms of a seed reuse them, and would wait."""
    n_runs = Counter(run.arm for run in made.planned())
    if setting.track == "finetune" and BASELINE in n_runs and len(n_runs) > 1:
        yield study(setting, store=made.store, seeds=n_runs[BASELINE], arms=(BASELINE,))


def _check_data(setting: Setting) -> None:
    """Read the data, print its notes, and compute the features that all runs share."""
    from seedproof_reproductions.findings2023.data import prepare

    for note in prepare(setting).data.notes:
        typer.echo(note, err=True)


def _slow(study: Study, engine: str) -> str:
    """Return what makes arms slow, such as "some arms train 16 heads or 10 teachers"."""
    chosen = [arm_of(run.arm) for run in study.planned()]
    n_heads = max((arm.n_heads for arm in chosen), default=1)
    fresh, shared = (
        max((arm.soft.n_teachers for arm in chosen if arm.soft and arm.teacher == kind), default=1)
        for kind in ("fresh", "shared")
    )
    # A teacher that runs share is trained once per process.
    n_teachers = fresh if engine == "serial" else max(fresh, shared)
    parts = [f"{n} {noun}" for n, noun in ((n_heads, "heads"), (n_teachers, "teachers")) if n > 1]
    tip = " (--engine serial trains those that runs share once)" if n_teachers > fresh else ""
    return f"some arms train {' or '.join(parts)}{tip}" if parts else ""
