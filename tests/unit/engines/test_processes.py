"""Fresh processes on this machine, and how they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seedproof.engines import ProcessEngine
from seedproof.engines.attempts import Attempts
from seedproof.engines.processes import do_alone
from seedproof.testing.engines import becomes_true, is_alive


def only(engine, task, item=None):
    """Return the outcome of one item."""
    (outcome,) = engine.map(task, [item])
    return outcome


@pytest.mark.parametrize(
    ("end", "code", "fields"),
    [
        (lambda _: os._exit(7), "process-exit", {"exit_code": 7}),
        (
            lambda _: os.kill(os.getpid(), signal.SIGSEGV),
            "process-signal",
            {"signal": "SIGSEGV"},
        ),
        (lambda _: os.kill(os.getpid(), 40), "process-signal", {"signal": "40"}),
    ],
    ids=["exit-code", "named-signal", "unnamed-signal"],
)
def test_end_of_a_process_is_reported(end, code, fields):
    """By exit code or by signal, with its name if it has one."""
    failure = only(ProcessEngine(retries=0), end).failure

    assert (failure.status, failure.message.code) == ("killed", code)
    assert failure.message.fields == fields | {"n_attempts": 1}


def test_last_output_of_a_crashed_process_is_kept():
    """The end of its standard error."""
    last_line = "out of memory\n"

    def crash(_):
        os.write(1, b"x" * 5000)
        os.write(2, last_line.encode())
        os._exit(1)

    failure = only(ProcessEngine(retries=0), crash).failure

    assert failure.traceback.endswith("xxx" + last_line)
    assert len(failure.traceback) == 2000


def test_crash_in_native_code_has_a_traceback():
    """Written by faulthandler."""

    def crash(_):
        import ctypes

        ctypes.string_at(0)

    failure = only(ProcessEngine(retries=0), crash).failure

    assert failure.message.fields["signal"] == "SIGSEGV"
    assert crash.__name__ in failure.traceback


def test_interpreter_that_does_not_start_is_a_crash():
    """Also while a large item is sent to it."""
    engine = ProcessEngine(retries=1, environment={"PYTHONHOME": "/nowhere"})

    outcome = only(engine, len, b"x" * 2**22)

    assert (outcome.failure.status, outcome.attempts) == ("killed", 2)
    assert outcome.failure.message.fields == {"exit_code": 1, "n_attempts": 2}


def test_standard_input_of_a_task_is_empty():
    """The real one is the connection to the coordinator."""
    assert only(ProcessEngine(), lambda _: sys.stdin.read()).value() == ""


def test_number_of_processes_equals_the_workers(tmp_path):
    """Two at a time while there is enough to do."""

    def work(item):
        (tmp_path / f"began-{item}").touch()
        while (n_begun := len(list(tmp_path.glob("began-*")))) < 2:
            time.sleep(0.01)
        at_once = n_begun - len(list(tmp_path.glob("ended-*")))
        (tmp_path / f"ended-{item}").touch()
        return at_once

    outcomes = ProcessEngine(workers=2, timeout=60).map(work, range(4))

    assert max(outcome.value() for outcome in outcomes) == 2


def test_more_threads_than_cores_are_one_process_at_a_time():
    """Not zero."""
    assert only(ProcessEngine(threads=1000), lambda x: x, 7).value() == 7


def test_error_among_the_items_stops_running_work(tmp_path):
    """Its outcome would not be used."""
    log = tmp_path / "pid"

    def items():
        yield 0
        assert becomes_true(lambda: log.exists() and log.read_text(encoding="utf-8"), within=30)
        raise OSError("no more items")

    def sleep(_):
        log.write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)

    with pytest.raises(OSError):
        list(ProcessEngine(workers=2).map(sleep, items()))

    assert not is_alive(int(log.read_text(encoding="utf-8")))


def test_result_that_cannot_be_unpickled_is_a_failure():
    """The other items continue."""

    def work(item):
        class Odd:
            def __reduce__(self):
                return int, ("no number",)

        return Odd() if item == 0 else item

    outcomes = list(ProcessEngine(workers=1).map(work, [0, 1]))

    assert outcomes[0].failure.status == "failed"
    assert outcomes[1].value() == 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are not listed here")
def test_children_of_a_task_end_without_its_guardian():
    """The coordinator kills what a finished task has left behind."""

    def leave_child(seconds):
        me = os.getpid()
        children = Path(f"/proc/self/task/{me}/children").read_text(encoding="utf-8")
        for guardian in map(int, children.split()):
            os.kill(guardian, signal.SIGKILL)
        sleeper = subprocess.Popen(["sleep", seconds])  # noqa: S607 - a child to stop
        return sleeper.pid, len(children.split())

    outcomes = ProcessEngine(workers=1).map(leave_child, ["600", "600"])
    pid, n_guardians = next(outcomes).value()

    assert n_guardians == 1
    assert becomes_true(lambda: not is_alive(pid))
    outcomes.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not show them")
def test_file_descriptors_are_closed():
    """A study of a thousand runs needs no more than one of two."""
    code = """
import os
from seedproof.engines import ProcessEngine

def n_open():
    list(ProcessEngine(workers=2).map(abs, [1, 2]))
    return len(os.listdir("/proc/self/fd"))

print(n_open() == n_open())
"""

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"


def test_single_attempt_keeps_its_index_and_number():
    """Engines on other machines use it."""
    attempts = Attempts(abs, [-1, -7], retries=0)
    attempts.following()

    outcome = do_alone(attempts.following(), ProcessEngine())

    assert (outcome.index, outcome.value(), outcome.attempts) == (1, 7, 1)
