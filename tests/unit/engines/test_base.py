"""Outcomes, settings and the number of cores."""

import os
import subprocess
import sys

import pytest

from seedproof.engines import Failure, Outcome
from seedproof.engines.base import check_settings
from seedproof.engines.serial import as_failure
from seedproof.errors import TaskError
from seedproof.messages import Message
from seedproof.testing.errors import WithFields


def test_value_of_an_outcome_is_its_result():
    """Also if it is None."""
    assert Outcome(3, "result").value() == "result"
    assert Outcome(3).value() is None


def test_value_of_a_failure_raises_the_local_error():
    """The same object, so that a debugger finds its frames."""
    error = ValueError("no such luck")

    with pytest.raises(ValueError) as caught:
        Outcome(3, failure=as_failure(error)).value()

    assert caught.value is error


def test_value_of_a_remote_failure_raises_a_task_error():
    """It names the item and the reason."""
    reason = Message("process-signal", "Its process ended by {signal}.", signal="SIGKILL")

    with pytest.raises(TaskError, check=WithFields(index=3, message=reason)):
        Outcome(3, failure=Failure("killed", reason)).value()


def test_settings_at_their_limits_are_fine():
    """One worker, no retry, a short timeout."""
    check_settings(workers=1, retries=0, timeout=0.001, threads=1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_cores_are_those_that_this_process_may_use():
    """A container or a batch system may restrict them."""
    code = (
        "import os; from seedproof.engines import n_cores; "
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(n_cores())"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"
