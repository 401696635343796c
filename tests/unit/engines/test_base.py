"""What engines share: outcomes, settings, and how many cores there are."""

import os
import subprocess
import sys

import pytest

from seedproof.engines import Failure, Outcome, ProcessEngine
from seedproof.engines.base import check_settings
from seedproof.engines.ray import RayEngine
from seedproof.engines.slurm import SlurmEngine
from seedproof.errors import OptionError, TaskError


def test_the_value_of_an_outcome_is_its_result():
    """Also a result that is None."""
    assert Outcome(3, "result").value() == "result"
    assert Outcome(3).value() is None


def test_the_value_of_a_failure_is_the_error_that_was_raised_here():
    """The very same object, so that a debugger finds its frames."""
    error = ValueError("no such luck")

    with pytest.raises(ValueError, match="no such luck") as caught:
        Outcome(3, failure=Failure("failed", "ValueError: no such luck", error=error)).value()

    assert caught.value is error


def test_the_value_of_a_failure_elsewhere_is_a_task_error():
    """It names the item and the reason."""
    with pytest.raises(TaskError, match=r"Item 3: Its process ended by SIGKILL\."):
        Outcome(3, failure=Failure("killed", "Its process ended by SIGKILL.")).value()


@pytest.mark.parametrize("engine", [ProcessEngine, RayEngine, SlurmEngine])
@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("workers", 0, "workers is 0. Give a whole number, 1 or more."),
        ("workers", 1.5, "workers is 1.5. Give a whole number, 1 or more."),
        ("retries", -1, "retries is -1. Give a whole number, 0 or more."),
        ("threads", 0, "threads is 0. Give a whole number, 1 or more."),
        ("timeout", 0, "A timeout of 0 is not possible. Give seconds above 0."),
        ("timeout", float("nan"), "A timeout of nan is not possible. Give seconds above 0."),
    ],
)
def test_settings_that_no_engine_can_keep_to_are_refused(engine, setting, value, message):
    """When the engine is made, and not when the first run is lost."""
    with pytest.raises(OptionError) as caught:
        engine(**{setting: value})

    assert str(caught.value) == message


def test_settings_at_their_limits_are_fine():
    """One worker, no retry, a short timeout."""
    check_settings(workers=1, retries=0, timeout=0.001, threads=1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_the_cores_are_those_that_this_process_may_use():
    """A container or a batch system may give fewer than there are."""
    code = (
        "import os; from seedproof.engines import n_cores; "
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(n_cores())"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"
