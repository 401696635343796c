"""Studies as job arrays: executed on this machine, and as submitted to SLURM."""

from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.engines import slurm
from seedproof.engines.slurm import SlurmEngine
from seedproof.testing.errors import WithFields
from seedproof.training.study import Study

TROUBLE = "not yet"
# What SLURM's commands do with an array of three: the first job runs, the others wait for ever.
COMMANDS = {
    "sbatch": """
        cp "$1" "$HERE/submission"
        export SLURM_JOB_ID=123 SLURM_ARRAY_JOB_ID=123 SLURM_ARRAY_TASK_ID=0
        export SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0
        sh "$1" >"$HERE/output" 2>&1 &
        echo "Submitted batch job 123"
    """,
    "srun": """
        while [ "${1#-}" != "$1" ]; do
            case $1 in --output | --error) shift 2 ;; *) shift ;; esac
        done
        exec "$@"
    """,
    "sacct": """
        echo "JobID|State|NodeList"
        echo "123_0|RUNNING|here"
        echo "123_[1-2]|PENDING|None assigned"
    """,
    "scancel": """
        echo "$@" >>"$HERE/cancelled"
    """,
}


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Put fake SLURM commands on the PATH, which record their arguments."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for name, script in COMMANDS.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\nHERE={folder}\n{script}", encoding="utf-8")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setitem(slurm.POLL_SECONDS, "slurm", 0.1)
    return folder


def training(log: Path):
    """Return an instant training that logs its start."""

    def train(run):
        with log.open("a", encoding="utf-8") as file:
            file.write(run.name + "\n")
        if run.name == "1" and not (log.parent / "mended").exists():
            raise ValueError(TROUBLE)
        probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
        run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)

    return train


@pytest.mark.usefixtures("without_torch")
def test_study_of_slurm_jobs_gives_the_predictions_of_serial(tmp_path):
    """A failure is recorded and retried."""
    log = tmp_path / "log"
    settings = {"cluster": "local", "folder": str(tmp_path / "jobs")}
    study = Study("jobs", training(log), seeds=3, store=tmp_path / "jobs-store")

    first = study.run("slurm", settings=settings, progress=False)
    (tmp_path / "mended").touch()
    second = study.run("slurm", settings=settings, progress=False)

    assert [run.status for run in first.runs] == ["finished", "failed", "finished"]
    assert first.runs[1].message == f"ValueError: {TROUBLE}"
    assert second.is_done
    assert sorted(log.read_text(encoding="utf-8").split()) == ["0", "1", "1", "2"]
    serial = Study("jobs", training(log), seeds=3, store=tmp_path / "serial-store")
    assert serial.run("serial", progress=False).is_done
    assert study.measure().to_json() == serial.measure().to_json()


def test_requested_resources_are_passed_to_slurm(commands, tmp_path):
    """One array with its resources; jobs that are no longer needed are cancelled."""
    engine = SlurmEngine(
        str(tmp_path / "jobs"),
        partition="long",
        minutes=90,
        memory_gb=4,
        gpus=1,
        workers=2,
        threads=2,
        parameters={"slurm_account": "mine"},
    )

    outcomes = engine.map(lambda x: x * x, [7, 8, 9])
    outcome = next(outcomes)
    outcomes.close()

    assert (outcome.index, outcome.value()) == (0, 49), (commands / "output").read_text()
    submission = (commands / "submission").read_text(encoding="utf-8").splitlines()
    assert {
        "#SBATCH --job-name=seedproof",
        "#SBATCH --array=0-2%2",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --partition=long",
        "#SBATCH --time=90",
        "#SBATCH --gpus-per-node=1",
        "#SBATCH --mem=4GB",
        "#SBATCH --account=mine",
    } <= set(submission)
    assert (commands / "cancelled").read_text(encoding="utf-8").split() == ["123_1", "123_2"]


@pytest.mark.usefixtures("commands")
def test_omitted_resources_are_left_to_slurm(tmp_path):
    executor = SlurmEngine(str(tmp_path / "jobs")).executor()

    text = executor._executor._make_submission_file_text("command", "uid")

    assert "#SBATCH --cpus-per-task=1" in text
    assert "#SBATCH --time=60" in text
    for name in ("partition", "mem", "gpus", "array"):
        assert f"--{name}" not in text


def test_missing_slurm_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(sp.SeedproofError, check=WithFields(command="srun")):
        next(SlurmEngine(str(tmp_path / "jobs")).map(abs, [1]))


def test_refusal_of_slurm_is_passed_on(commands, tmp_path):
    reason = "invalid partition"
    (commands / "sbatch").write_text(f"#!/bin/sh\necho '{reason}' >&2; exit 1\n")

    with pytest.raises(sp.SeedproofError) as caught:
        next(SlurmEngine(str(tmp_path / "jobs"), partition="nowhere").map(abs, [1, 2]))

    assert reason in str(caught.value.fields["reason"])
