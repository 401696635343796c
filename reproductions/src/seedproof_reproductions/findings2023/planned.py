"""Studies of `plan.toml`: new data and details, their runs, and results for the pages.

`python -m seedproof_reproductions.findings2023.planned FOLDER choice` makes the runs of the choice
in a folder of stores, and writes results to `FOLDER/results`. `details` in place of `choice` makes
those of the exponent and of late steps, and names of arms those of their confirmation. What is
finished is kept.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from seedproof.comparison.arms.compare import ArmData
from seedproof_reproductions.findings2023.comparison import compare_once
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.recipe import study
from seedproof_reproductions.findings2023.results import FORMAT, PAPER, SPLIT, collect
from seedproof_reproductions.findings2023.settings import TRAIN_DATA, Setting
from seedproof_reproductions.packaged import read_toml
from seedproof_reproductions.results import plain_effects, read_results, write_results
from seedproof_reproductions.runs import arms_of, make_runs

# What the pages need of each arm.
KEPT = ("group", "shares", "n_runs", "costs", "of_all")
METRICS = ("accuracy", "flip_rate", "ece_corrected")
# Effects of the exponent.
DETAILS = ("accuracy", "label_entropy")


def plan() -> Mapping[str, Any]:
    """Return the content of `plan.toml`."""
    return read_toml(__package__, "plan.toml")


@dataclass(frozen=True)
class PlannedStudy:
    """One data set of a study."""

    setting: Setting
    arms: Sequence[str]
    seeds: int

    def make(self, folder: Path) -> Path:
        """Make the runs that are missing, and return their store."""
        store = folder / self.setting.name
        made = study(self.setting, store=store, seeds=self.seeds, arms=self.arms)
        # In one process, arms of a seed reuse each other's trainings.
        make_runs(made, check=lambda: None, engine="serial")
        return store


def choice_studies() -> Iterator[PlannedStudy]:
    """Return the studies by which arms are chosen."""
    for part in plan()["studies"].values():
        yield from _studies(part["root"], part["train_data"], part["test_split"], part["arms"])


def confirmation_studies(arms: Sequence[str]) -> Iterator[PlannedStudy]:
    """Return the studies that confirm arms, on other seeds and on utterances set aside."""
    part = plan()["confirmation"]
    for train_data in TRAIN_DATA:
        yield from _studies(part["root"], train_data, part["test_split"], (BASELINE, *arms))


def details_studies() -> Iterator[PlannedStudy]:
    """Return the studies of the exponent and of late steps."""
    part = plan()["details"]
    for dataset in plan()["datasets"]:
        n = part["seeds"]
        setting = Setting(
            dataset, seed=part["root"], traced=part["traced"], n_traced=n, n_traced_control=n
        )
        yield PlannedStudy(setting, part["arms"], n)


def _studies(
    root: int, train_data: str, test_split: str, arms: Sequence[str]
) -> Iterator[PlannedStudy]:
    for dataset in plan()["datasets"]:
        setting = Setting(
            dataset,
            n_traced=0,
            n_traced_control=0,
            train_data=train_data,
            test_split=test_split,
            seed=root,
        )
        yield PlannedStudy(setting, arms, plan()["seeds"])


def collect_study(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect what the pages need of one study: changes with simultaneous intervals, and costs."""
    results = collect(store)
    for arm in results["arms"].values():
        arm["metrics"] = {name: arm["metrics"][name] for name in METRICS}
        for name in set(arm) - {*KEPT, "metrics"}:
            del arm[name]
    return results | {"control": None}


def collect_details(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect effects on LE_m and LE_s, and the effect of the exponent in pairs of arms."""
    results = collect(store)
    for arm in results["arms"].values():
        for name in set(arm) - {"n_runs", "n_traced", "n_steps", "single_run_effects"}:
            del arm[name]
    sides = {side.name: side for side in _sides(store)}
    results["exponent"] = {}
    for used, plain in plan()["details"]["exponent"]:
        effects = compare_once([sides[plain], sides[used]])[used].effects
        kept = {name: effects[name] for name in DETAILS}
        results["exponent"][used] = plain_effects(kept)
    return results | {"control": None}


def collect_published(own: str | os.PathLike[str], whole: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the contrasts of published figures on one data set, by protocol and arm.

    Intervals hold simultaneously for the arms of a figure.

    Args:
        own: Store whose runs draw their own data.
        whole: Store whose runs learn from the whole training split. In the published protocol, its
            arms are compared with the control of the other store.

    Returns:
        Effects on the flip rate, by figure, protocol and arm.
    """
    sides = {store: {side.name: side for side in _sides(store)} for store in (own, whole)}
    contrasts: dict[str, Any] = {}
    for figure in plan()["published"]:
        for protocol in figure["protocols"]:
            arms = sides[own if protocol == "own" else whole]
            # The control of both protocols learns from one sample.
            base = (
                sides[own][BASELINE] if figure["against"] == BASELINE else arms[figure["against"]]
            )
            compared = compare_once([base, *(arms[arm] for arm in figure["arms"])])
            contrasts.setdefault(figure["name"], {})[protocol] = {
                arm: plain_effects({"flip_rate": compared[arm].of_all["flip_rate"]})
                for arm in figure["arms"]
            }
    return contrasts


def _sides(store: str | os.PathLike[str]) -> list[ArmData]:
    return arms_of(store, baseline=BASELINE, split=SPLIT)


def stored_studies(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Read the results of all studies of the plan; if omitted, those of the package."""
    place = files(__package__) / "retraining" if folder is None else Path(folder)
    return read_results(PAPER, os.fspath(str(place)), version=FORMAT)


def replaced_studies() -> list[dict[str, Any]]:
    """Read the results that fine-tuned encoders of the plan replaced."""
    return read_results(PAPER, os.fspath(str(files(__package__) / "replaced")), version=FORMAT)


def make_all(folder: Path, part: str, *arms: str) -> Iterator[Path]:
    """Make all studies of a part of the plan, and return the files of their results.

    The part is `choice`, `details`, or arms that are confirmed.
    """
    parts = {"choice": choice_studies, "details": details_studies}
    studies = list(parts[part]() if part in parts else confirmation_studies((part, *arms)))
    stores = [each.make(folder) for each in studies]
    for each, store in zip(studies, stores, strict=True):
        results = collect_details(store) if part == "details" else collect_study(store)
        if part == "choice" and each.setting.train_data == "bootstrap":
            whole = replace(each.setting, train_data="fixed")
            results["published"] = collect_published(store, folder / whole.name)
        yield write_results(results, folder / "results")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for written in make_all(Path(sys.argv[1]), *sys.argv[2:]):
        sys.stdout.write(f"{written}\n")
