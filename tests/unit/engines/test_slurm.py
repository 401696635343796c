"""Jobs that are lost; what else the slurm engine does is in the contract."""

import gc
import os
import signal
import time

import pytest
import submitit

from seedproof.engines.slurm import SlurmEngine


@pytest.fixture
def quick(monkeypatch):
    """A result that is not there need not be waited for: this machine has one filesystem."""
    monkeypatch.setattr(submitit.LocalJob, "_results_timeout_s", 0)
    yield
    gc.collect()


@pytest.mark.usefixtures("quick")
def test_a_job_that_is_lost_is_submitted_again(tmp_path):
    """A node that fails takes the job with it, and not only the task."""
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
def test_a_job_that_is_lost_each_time_is_a_death(tmp_path):
    """With what SLURM knows of it."""

    def lose_job(_):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    (outcome,) = SlurmEngine(str(tmp_path / "jobs"), "local", retries=0).map(lose_job, [7])

    assert (outcome.failure.status, outcome.attempts) == ("killed", 1)
    message = outcome.failure.message
    assert message.code == "lost"
    assert str(message.fields["job"]) in outcome.failure.traceback
    assert outcome.failure.traceback.startswith(message.fields["reason"])
