"""The runs of a recipe's study: made where they are missing, and opened to be compared."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import typer

from seedproof._optional import require
from seedproof.api.compare import arm_data
from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.comparison.arms.judge import judge_each
from seedproof.comparison.arms.result import ComparedArm
from seedproof.errors import OptionError, RunError, TooFewRunsError
from seedproof.predictions.arms import load_arms
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.records.reader import Store
from seedproof.seeds import SeedPlan
from seedproof.stats.intervals import PLAIN
from seedproof.training.resume import FINISHED, planned
from seedproof.training.run import Run
from seedproof.training.study import Study
from seedproof_reproductions.settings import BaseSetting

# Engines whose runs read the data where they are planned.
LOCAL_ENGINES = ("serial", "processes")
# With more runs than this, the user is warned.
MANY_RUNS = 500


def study_of(
    setting: BaseSetting,
    train: Callable[[Run], None],
    *,
    store: str | os.PathLike[str],
    seeds: int | SeedPlan,
    arms: Sequence[str],
    suffix: str = "",
    arguments: Sequence[str] = (),
) -> Study:
    """Return the study of a setting, with one thread per run; running it makes what is missing."""
    require("torch", extra="papers", feature="Reproducing a paper")
    return Study(
        setting.name + suffix,
        train,
        seeds=seeds,
        seed=setting.seed,
        arms=arms,
        store=store,
        arguments=(*setting.as_arguments(), *arguments),
        threads_per_run=1,
    )


def make_runs(
    study: Study,
    *,
    check: Callable[[], object],
    engine: str = "processes",
    workers: int | None = None,
    follow: str | None = None,
    slow: str = "",
) -> None:
    """Make every run of a study that is missing.

    Args:
        study: Which study.
        check: Reads what the runs need, so that errors appear before any run begins.
        engine: Where runs are made.
        workers: How many runs at a time.
        follow: A scalar whose mean over the finished runs is shown.
        slow: What makes some arms slow, for a warning about many runs.

    Raises:
        RunError: A run failed.
    """
    missing = _missing(study)
    if engine in LOCAL_ENGINES and missing:
        check()
    if missing.total() > MANY_RUNS:
        arms = "one arm" if len(missing) == 1 else f"{len(missing)} arms"
        typer.echo(
            f"{missing.total():,} runs in {arms}{slow and f'; {slow}'}: this takes hours. Use "
            "--arms and --seeds to train fewer.",
            err=True,
        )
    status = study.run(engine, workers=workers, follow=follow)
    if status.failed:
        raise RunError(
            "{n_failed} run(s) failed. See why with: seedproof status "
            "{store} --tracebacks. The same command retries them.",
            n_failed=len(status.failed),
            store=study.store,
        )


def _missing(study: Study) -> Counter[str]:
    """Count the runs that each arm lacks; an arm that would have a single run is refused."""
    wanted = {run.run_id: run.arm for run in study.planned()}
    done = {run.spec.run_id: run.spec.arm for run in study.status().runs if run.status == FINISHED}
    n_runs = Counter((done | wanted).values())
    single = [arm for arm in dict.fromkeys(wanted.values()) if n_runs[arm] < 2]
    if single:
        raise TooFewRunsError(
            "The arm {arm!r} would have one run, and nothing to compare it with. Use --seeds 2 "
            "or more.",
            arm=single[0],
        )
    return Counter(arm for run_id, arm in wanted.items() if run_id not in done)


def incomplete_arms(store: str | os.PathLike[str], shown: Collection[str]) -> tuple[str, ...]:
    """Return the planned arms that results lack, because fewer than two runs are finished."""
    place = Location.of(store)
    return tuple(arm for arm in planned(StudyManifest.load(place), place).arms if arm not in shown)


def open_study(store: str | os.PathLike[str], paper: str) -> tuple[Store, Mapping[str, Any]]:
    """Open the store of a recipe's study: its records and its plan; others are refused."""
    records = Store(Location.of(store))
    plan = records.study.plan or {}
    if f"{__package__}.{paper}." not in str(plan.get("target", "")):
        raise OptionError(
            "{store!r} is not a study of this recipe. Pass a store that "
            "`seedproof reproduce {paper}` made.",
            store=os.fspath(store),
            paper=paper,
        )
    return records, plan


def compare_with_first(
    sides: Sequence[ArmData], *, match_rates: bool = False, unpaired: Collection[str] = ()
) -> dict[str, ComparedArm]:
    """Compare arms with the first: each metric alone, with intervals that hold for all arms.

    If arms have different seeds, each is compared with the first on the seeds of both.

    Args:
        sides: The arms.
        match_rates: Move thresholds so that the runs of an arm predict the second class equally
            often.
        unpaired: Metrics whose intervals are not paired by seed.

    Returns:
        Compared arms by name; the first as in the comparison with most runs.
    """
    first, *others = sides
    groups = [others] if len({side.seeds for side in sides}) == 1 else [[side] for side in others]
    level = PLAIN.divided(max(len(others), 1))
    baselines: list[ComparedArm] = []
    compared: dict[str, ComparedArm] = {}
    for group in groups:
        with TemporaryDirectory(prefix="seedproof-") as working:
            result = compare_arms(
                on_shared_seeds([first, *group]), Location.of(working), match_rates=match_rates
            )
        baselines.append(result.baseline)
        arms = [_without_pairs(arm, unpaired) for arm in result.arms]
        compared |= {arm.name: arm for arm in judge_each(arms, level)}
    largest = max(baselines, key=lambda arm: arm.measurement.n_runs)
    return {first.name: largest, **compared}


def _without_pairs(arm: ComparedArm, metrics: Collection[str]) -> ComparedArm:
    alone = {
        name: replace(contrast, is_paired=False)
        for name, contrast in arm.contrasts.items()
        if name in metrics
    }
    return replace(arm, contrasts={**arm.contrasts, **alone})


def on_shared_seeds(sides: Sequence[ArmData]) -> list[ArmData]:
    """Return arms with the runs whose seeds all of them have; all runs if no seed is shared."""
    known = [side.seeds or () for side in sides]
    shared = [seed for seed in known[0] if all(seed in seeds for seeds in known)]
    if not shared or all(len(seeds) == len(shared) for seeds in known):
        return list(sides)
    orders = [[seeds.index(seed) for seed in shared] for seeds in known]
    return [
        replace(side, source=side.source.some_runs(order), seeds=tuple(shared))
        for side, order in zip(sides, orders, strict=True)
    ]


def arms_of(store: str | os.PathLike[str], *, baseline: str | None, split: str) -> list[ArmData]:
    """Open the arms of a store with two finished runs or more, the baseline first if given."""
    return arm_data(load_arms(os.fspath(store), {"split": split}, baseline=baseline))
