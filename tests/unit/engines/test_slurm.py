"""Lost jobs of SLURM; the rest is tested by the contract."""

import gc
import os
import signal
import time

import pytest
import submitit

from seedproof.engines.slurm import SlurmEngine


@pytest.fixture
def quick(monkeypatch):
    """Do not wait for missing results: this machine has one filesystem."""
    monkeypatch.setattr(submitit.LocalJob, "_results_timeout_s", 0)
    yield
    gc.collect()


@pytest.mark.usefixtures("quick")
def test_lost_job_is_submitted_again(tmp_path):
    """As if its node failed."""
    log = tmp_path / "attempts"

    def lose_job(item):
        with log.open("a", encoding="utf-8") as file:
            file.write("x")
        if log.stat().st_size == 1:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
        return item

    (outcome,) = SlurmEngine(str(tmp_path / "jobs"), "local").map(lose_job, [7])

    assert (outcome.value(), outcome.attempts) == (7, 2)


@pytest.mark.usefixtures("quick")
def test_job_that_is_lost_every_time_is_reported_as_killed(tmp_path):
    """With SLURM's reason."""

    def lose_job(_):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    (outcome,) = SlurmEngine(str(tmp_path / "jobs"), "local", retries=0).map(lose_job, [7])

    assert (outcome.failure.status, outcome.attempts) == ("killed", 1)
    message = outcome.failure.message
    assert message.code == "lost"
    assert str(message.fields["job"]) in outcome.failure.traceback
    assert outcome.failure.traceback.startswith(message.fields["reason"])
