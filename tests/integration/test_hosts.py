"""Hydra and W&B themselves, in an environment of their own: they need other versions than ours.

`SEEDPROOF_HOSTS_PYTHON` is an interpreter that has them and seedproof.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

import seedproof as sp
from seedproof.errors import RunError
from seedproof.logs.wandb import read_run

PYTHON = os.environ.get("SEEDPROOF_HOSTS_PYTHON")
ROOT = Path(__file__).parents[2]
needs_hosts = pytest.mark.skipif(PYTHON is None, reason="SEEDPROOF_HOSTS_PYTHON is not set")

TRAIN = """
import random
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig


@hydra.main(version_base=None, config_path=".", config_name="config")
def main(config):
    if config.seed == config.fails:
        raise ValueError("on purpose")
    rng = random.Random(config.seed)
    rows = [f"{i},{i % 2},{i % 2 if rng.random() < 0.8 else 1 - i % 2}" for i in range(50)]
    folder = Path(HydraConfig.get().runtime.output_dir)
    (folder / "predictions.csv").write_text("\\n".join(["id,label,prediction", *rows]))


main()
"""
CONFIG = """
seed: 0
width: 8
fails: -1
hydra:
  callbacks:
    seedproof: {_target_: seedproof.integrations.hydra.MeasureSweep}
"""
LOG = """
import json

import seedproof as sp
import wandb
from seedproof.integrations.wandb import log_report

report = sp.measure("predictions.csv")
run = wandb.init(project="sample", group="baseline", config={"seed": 3})
log_report(report)
run.log({"predictions": wandb.Table(columns=["id", "prediction"], data=[[0, "a"], [1, "b"]])})
run.finish()
print(json.dumps({name: [x.value, x.low, x.high] for name, x in report.metrics.items()}))
"""
LOG_WITHOUT_RUN = """
import seedproof as sp
from seedproof.errors import RunError
from seedproof.integrations.wandb import log_report

try:
    log_report(sp.measure([[0, 1], [0, 0]]))
except RunError as error:
    print(error.code)
"""


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the interpreter of the hosts, offline."""
    settings = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    settings |= {"WANDB_CONSOLE": "off", "WANDB_X_DISABLE_META": "true", "HYDRA_FULL_ERROR": "1"}
    return subprocess.run(
        [str(PYTHON), *arguments],
        cwd=folder,
        env={**os.environ, **settings},
        text=True,
        capture_output=True,
        check=False,
        timeout=500,
    )


def sweep(folder: Path, *overrides: str) -> subprocess.CompletedProcess:
    (folder / "train.py").write_text(TRAIN)
    (folder / "config.yaml").write_text(CONFIG)
    return run_in(folder, "train.py", "-m", "hydra.sweep.dir=sweep", *overrides)


@needs_hosts
def test_hydra_callback_measures_the_sweep(tmp_path):
    done = sweep(tmp_path, "seed=1,2,3")
    assert done.returncode == 0, done.stderr
    assert "3 runs · 50 examples" in done.stdout
    saved = json.loads((tmp_path / "sweep" / "seedproof" / "summary.json").read_text())
    report = sp.measure(tmp_path / "sweep")
    assert saved["metrics"]["flip_rate"]["value"] == report["flip_rate"].value
    assert report.measurement.runs == ("1", "2", "3")


@needs_hosts
def test_hydra_callback_shows_arms_side_by_side(tmp_path):
    done = sweep(tmp_path, "seed=1,2", "width=8,16")
    assert done.returncode == 0, done.stderr
    saved = json.loads((tmp_path / "sweep" / "seedproof" / "arms.json").read_text())
    assert list(saved["arms"]) == ["width=8", "width=16"]


@needs_hosts
def test_command_measures_what_a_failed_job_leaves(tmp_path):
    """Hydra calls no callback if a job fails; the command names the job."""
    done = sweep(tmp_path, "seed=1,2,3,4", "fails=3")
    assert done.returncode != 0
    assert not (tmp_path / "sweep" / "seedproof").exists()
    report = sp.measure(tmp_path / "sweep")
    assert report.measurement.runs == ("1", "2", "4")
    assert "missing-runs" in {check.name for check in report.checks}


@needs_hosts
def test_figures_and_page_in_a_run_of_wandb(tmp_path):
    """The run is read from its own file, by our reader."""
    rows = ["run,example,label,prediction"]
    rows += [f"{r},{i},{i % 2},{(i * 7 + r) % 5 % 2}" for r in range(6) for i in range(40)]
    (tmp_path / "predictions.csv").write_text("\n".join(rows))
    (tmp_path / "log.py").write_text(LOG)
    done = run_in(tmp_path, "log.py")
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    run = read_run(file)
    assert (run.group, run.config, run.exit_code) == ("baseline", {"seed": 3}, 0)
    figures = json.loads(done.stdout.splitlines()[-1])
    for name, bounds in figures.items():
        for ending, number in zip(("", "_low", "_high"), bounds, strict=True):
            assert run.summary.get(f"seedproof/{name}{ending}") == number
    (page,) = file.parent.rglob("*.html")
    assert "flip_rate" in page.read_text()
    assert list(tmp_path.rglob("predictions_*.table.json"))


@needs_hosts
def test_wandb_without_an_active_run(tmp_path):
    done = run_in(tmp_path, "-c", LOG_WITHOUT_RUN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [RunError.code]
