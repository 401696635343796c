"""Coordinators that change one plan at the same time: nothing is lost, nothing is trained twice."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from seedproof.records.declared import declared_runs
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest
from seedproof.seeds import SeedPlan
from seedproof.testing.engines import becomes_true, processes_with
from seedproof.training.resume import enter, planned, status_of
from seedproof.training.spec import StudySpec
from support.processes import at_once

N_TRIALS = 25
FIRST = StudySpec("small", "train.py", SeedPlan.all(2))
START = "from seedproof.cli.main import main; main()"
MODULE = """
import os, time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

def train(run):
    with (HERE / "began").open("a") as file:
        file.write(f"{run.arm}-{run.name}\\n")
    time.sleep(0.05)
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)
"""


@pytest.mark.parametrize("is_new", [True, False], ids=["new store", "existing store"])
def test_plans_that_grow_at_the_same_time_lose_nothing(tmp_path, is_new):
    """Arms and seeds of all coordinators are in the plan."""
    requests = [
        replace(FIRST, arms=("ema",), seeds=SeedPlan.all(5)),
        replace(FIRST, arms=("swa",)),
        replace(FIRST, arms=("none", "ensemble"), seeds=SeedPlan.all(7)),
    ]
    for trial in range(N_TRIALS):
        store = Location.of(tmp_path / str(trial))
        if not is_new:
            enter(store, FIRST)

        codes = at_once(*(partial(enter, store, request) for request in requests))

        assert codes == [0, 0, 0]
        plan = planned(StudyManifest.load(store), store)
        assert set(plan.arms) == {"none", "ema", "swa", "ensemble"}
        assert len(plan.seeds.assignments()) == declared_runs(store) == 7


def test_two_commands_with_other_arms_and_seeds_train_every_run_once(
    tmp_path,
    mark,
    without_torch,  # noqa: ARG001 - both are in the environment
):
    """Started at the same moment, as whole commands."""
    (tmp_path / "work.py").write_text(MODULE, encoding="utf-8")
    arguments = [("--seeds", "2", "--arms", "none,ema"), ("--seeds", "3", "--arms", "swa,none")]

    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START, "run", "work:train", "--workers", "1", *words],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )
        for words in arguments
    ]
    messages = [process.communicate(timeout=120)[1] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], messages
    store = Location.of(tmp_path / "runs")
    plan = planned(StudyManifest.load(store), store)
    assert (set(plan.arms), len(plan.seeds.assignments())) == ({"none", "ema", "swa"}, 3)
    began = Counter((tmp_path / "began").read_text(encoding="utf-8").split())
    requested = {*(f"{arm}-{seed}" for arm in ("none", "ema") for seed in range(2))}
    requested |= {*(f"{arm}-{seed}" for arm in ("swa", "none") for seed in range(3))}
    assert began == dict.fromkeys(requested, 1)
    finished = {f"{run.spec.arm}-{run.spec.name}" for run in status_of(store).runs if run.seconds}
    assert finished == requested
    assert becomes_true(lambda: not processes_with(mark))
