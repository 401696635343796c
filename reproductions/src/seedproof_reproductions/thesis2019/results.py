"""Results of a study, small enough to be part of the repository."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from seedproof.records.manifest import RunManifest
from seedproof_reproductions.results import read_results, shared_versions, short
from seedproof_reproductions.runs import open_study
from seedproof_reproductions.thesis2019.settings import Setting

FORMAT = 1
PAPER = "thesis2019"


def stored_results(folder: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Read what `collect` returned for several settings; if omitted, those of the package."""
    return read_results(PAPER, folder, version=FORMAT)


def collect(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Collect the results of one setting: the scalars of each run, for arms with two or more."""
    records, plan = open_study(store, PAPER)
    setting = Setting.from_arguments(plan["arguments"])
    finished = [run for run in records.runs if run.status == "finished"]
    arms = {arm: [run for run in finished if run.arm == arm] for arm in plan["arms"]}
    return {
        "format": FORMAT,
        "paper": PAPER,
        "name": records.study.name,
        "setting": asdict(setting),
        "versions": shared_versions(run.facts.get("versions", {}) for run in finished),
        "arms": {arm: _plain_arm(runs) for arm, runs in arms.items() if len(runs) > 1},
    }


def _plain_arm(runs: Sequence[RunManifest]) -> dict[str, Any]:
    names = sorted({name for run in runs for name in run.scalars})
    return {
        "runs": [run.name for run in runs],
        "n_runs": len(runs),
        "scalars": {name: [short(run.scalars.get(name)) for run in runs] for name in names},
    }
