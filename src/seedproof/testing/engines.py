"""Contract tests for engines: subclass a contract, and define its fixture.

    from seedproof.testing.engines import FreshProcessContract

    class TestMyEngine(FreshProcessContract):
        @pytest.fixture
        def build(self):
            return MyEngine

Tasks write to `tmp_path` and return the ids of their processes, so the engine under test must run
on this machine.
"""
# ruff: noqa: D102, S101 - names of tests state the facts; pytest explains a plain assert best

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, cast

import cloudpickle
import numpy as np
import pytest

from seedproof.engines.base import THREAD_VARIABLES, Engine, Failure, Outcome
from seedproof.errors import TaskError
from seedproof.training.rng import capture, seed_everything

Build = Callable[..., Engine]

# Time in which the end of a process must be noticed. A guardian polls twice per second.
SOON_SECONDS = 5.0
# Longer than any test waits.
FOREVER_SECONDS = 600.0
MEGABYTE = 2**20

MAIN_PROGRAM = """
import pathlib, sys
import cloudpickle

OFFSET = 10

class Point:
    def __init__(self, x):
        self.x = x

def shifted(x):
    return Point(x + OFFSET)

engine = cloudpickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
for outcome in engine.map(shifted, [1]):
    print(outcome.index, type(outcome.value()).__name__, outcome.value().x)
"""


def is_alive(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return True
    try:
        # The name, in parentheses, may contain any character.
        return state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_with(mark: str) -> set[int]:
    """Return the ids of all processes with a text in their environment; on Linux."""
    pids = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                pids.add(int(folder.name))
        except OSError:  # it ended meanwhile, or belongs to another user
            continue
    return {pid for pid in pids if is_alive(pid)}


def becomes_true(condition: Callable[[], object], *, within: float = SOON_SECONDS) -> bool:
    """Return whether a condition holds now or within some seconds."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def by_index(outcomes: Iterator[Outcome[Any]]) -> list[Outcome[Any]]:
    """Return the outcomes in the order of their items; each item must have exactly one."""
    ordered = sorted(outcomes, key=lambda outcome: outcome.index)
    assert [outcome.index for outcome in ordered] == list(range(len(ordered)))
    return ordered


def failure_of(outcome: Outcome[Any]) -> Failure:
    """Return the failure of an item, which must have one."""
    assert outcome.failure is not None
    return outcome.failure


def is_same_state(first: Any, second: Any) -> bool:  # noqa: ANN401 - states of any generator
    """Return whether two states of generators are equal in every number."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            is_same_state(first[key], second[key]) for key in first
        )
    if isinstance(first, tuple | list):
        return all(is_same_state(a, b) for a, b in zip(first, second, strict=True))
    return bool(np.array_equal(np.asarray(first), np.asarray(second)))


class EngineContract:
    """Contract of every engine; define a fixture `engine`.

    An engine that cannot pass a test sets it to None, with a comment.
    """

    # Number of items that may have been read but are not done.
    most_under_way = 4

    @pytest.fixture
    def engine(self) -> Engine:
        """Return the engine under test; defined by a subclass."""
        raise NotImplementedError

    def test_every_item_has_one_outcome(self, engine: Engine) -> None:
        outcomes = by_index(engine.map(lambda x: x * x, [5, 6, 7]))

        assert [outcome.value() for outcome in outcomes] == [25, 36, 49]
        assert all(outcome.failure is None and outcome.attempts == 1 for outcome in outcomes)

    def test_no_items_give_no_outcomes(self, engine: Engine) -> None:
        assert list(engine.map(lambda x: x, [])) == []

    def test_task_that_raises_is_reported_as_failed_and_other_items_continue(
        self, engine: Engine
    ) -> None:
        reason = "no such luck"

        def unlucky(item: str) -> str:
            if item == "raise":
                raise ValueError(reason)
            if item == "exit":
                sys.exit(3)
            return item

        raised, left, fine = by_index(engine.map(unlucky, ["raise", "exit", "fine"]))

        assert failure_of(raised).status == failure_of(left).status == "failed"
        for outcome, kind, text in ((raised, "ValueError", reason), (left, "SystemExit", "3")):
            assert failure_of(outcome).message.code == "raised"
            assert failure_of(outcome).message.fields == {"error_type": kind, "reason": text}
        assert unlucky.__name__ in failure_of(raised).traceback
        assert failure_of(raised).traceback.endswith(f"{reason}\n")
        assert raised.attempts == left.attempts == 1
        with pytest.raises((ValueError, TaskError)) as caught:
            raised.value()
        if isinstance(caught.value, TaskError):
            assert caught.value.fields["message"] == failure_of(raised).message
        else:
            assert caught.value.args == (reason,)
        assert fine.value() == "fine"

    def test_lambdas_and_closures_can_be_tasks_and_items(self, engine: Engine) -> None:
        secret = 40

        def closure() -> int:
            return secret + 2

        (outcome,) = engine.map(lambda function: function() + secret, [closure])

        assert outcome.value() == 82

    def test_functions_of_a_module_on_the_path_can_be_tasks(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "seedproof_contract_task.py").write_text(
            "def double(x):\n    return 2 * x\n", encoding="utf-8"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        module = import_module("seedproof_contract_task")

        (outcome,) = engine.map(module.double, [21])

        assert outcome.value() == 42

    def test_functions_of_a_main_program_without_guard_can_be_tasks(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """With the globals and classes that they need."""
        program, packed = tmp_path / "program.py", tmp_path / "engine"
        program.write_text(MAIN_PROGRAM, encoding="utf-8")
        packed.write_bytes(cloudpickle.dumps(engine))

        finished = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, str(program), str(packed)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

        assert finished.stdout.splitlines() == ["0 Point 11"], finished.stderr

    def test_large_items_and_results_arrive_complete(self, engine: Engine) -> None:
        """5 MB exceed the buffer of any pipe."""
        block = np.random.default_rng(0).bytes(5 * MEGABYTE)

        (outcome,) = engine.map(lambda sent: sent[::-1], [block])

        assert outcome.value() == block[::-1]

    def test_output_of_a_task_does_not_disturb_its_result(
        self, engine: Engine, capfd: pytest.CaptureFixture[str]
    ) -> None:

        def chatter(item: int) -> int:
            sys.stdout.write("x" * 100_000)
            sys.stdout.flush()
            os.write(1, b"y" * 100_000)
            return item

        (outcome,) = engine.map(chatter, [7])

        assert outcome.value() == 7
        capfd.readouterr()

    def test_items_are_read_lazily(self, engine: Engine) -> None:
        """A generator of items may be endless."""
        read: list[int] = []

        def endless() -> Iterator[int]:
            for item in count():
                read.append(item)
                yield item

        with closing(cast("Any", engine.map(lambda x: x, endless()))) as outcomes:
            first, second = next(outcomes), next(outcomes)

        assert first.index != second.index
        assert len(read) <= 2 + self.most_under_way

    def test_closing_the_iterator_stops_running_tasks_and_starts_no_others(
        self, engine: Engine, tmp_path: Path
    ) -> None:

        def work(item: int) -> int:
            (tmp_path / f"began-{item}").write_text(str(os.getpid()), encoding="utf-8")
            if item > 0:
                time.sleep(FOREVER_SECONDS)
            return item

        with closing(cast("Any", engine.map(work, range(3)))) as outcomes:
            assert next(outcomes).index == 0

        def at_work() -> list[int]:
            pids = [int(path.read_text() or 0) for path in tmp_path.glob("began-[12]")]
            return [pid for pid in pids if is_alive(pid)]

        assert becomes_true(lambda: not at_work())
        begun = sorted(tmp_path.glob("began-*"))
        time.sleep(0.5)
        assert sorted(tmp_path.glob("began-*")) == begun

    def test_start_of_each_item_is_reported_once_before_its_outcome(self, engine: Engine) -> None:
        started: list[int] = []

        for outcome in engine.map(lambda x: x, [1, 2], on_start=started.append):
            assert outcome.index in started

        assert sorted(started) == [0, 1]

    def test_global_generators_of_the_caller_are_unchanged(self, engine: Engine) -> None:
        before = capture()

        by_index(engine.map(lambda x: x, [1]))

        assert is_same_state(before, capture())


class FreshProcessContract(EngineContract):
    """Contract of engines that start a fresh process per item.

    Define a fixture `build` that returns a constructor with the options `retries`, `timeout`,
    `threads` and `environment`, like that of `ProcessEngine`.
    """

    @pytest.fixture
    def build(self) -> Build:
        """Return the constructor of the engine under test; defined by a subclass."""
        raise NotImplementedError

    @pytest.fixture
    def engine(self, build: Build) -> Engine:
        """Return the engine with its default settings."""
        return build()

    def test_every_item_has_a_process_of_its_own(self, engine: Engine) -> None:
        pids = [outcome.value() for outcome in engine.map(lambda _: os.getpid(), range(3))]

        assert len({*pids, os.getpid()}) == 4

    def test_run_that_crashes_every_time_is_reported_as_killed(
        self, build: Build, tmp_path: Path
    ) -> None:
        log = tmp_path / "attempts"

        def crash(item: str) -> str:
            if item == "crash":
                with log.open("a", encoding="utf-8") as file:
                    file.write("x")
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        crashed, fine = by_index(build(retries=2).map(crash, ["crash", "fine"]))

        assert failure_of(crashed).status == "killed"
        assert failure_of(crashed).message.code == "process-signal"
        assert failure_of(crashed).message.fields == {"signal": "SIGKILL", "n_attempts": 3}
        assert crashed.attempts == len(log.read_text(encoding="utf-8")) == 3
        assert (fine.value(), fine.attempts) == ("fine", 1)

    def test_run_that_crashes_once_succeeds_at_the_second_attempt(
        self, build: Build, tmp_path: Path
    ) -> None:
        log = tmp_path / "attempts"

        def crash_once(item: int) -> int:
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            if log.stat().st_size == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        (outcome,) = build(retries=2).map(crash_once, [7])

        assert (outcome.value(), outcome.attempts) == (7, 2)
        assert log.read_text(encoding="utf-8") == "xx"

    def test_exit_without_result_is_reported_as_killed(self, build: Build, tmp_path: Path) -> None:
        """Even with exit code 0; without retries there is one attempt."""
        log = tmp_path / "attempts"

        def quiet(_: int) -> None:
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            os._exit(0)

        (outcome,) = build(retries=0).map(quiet, [7])

        assert (failure_of(outcome).status, outcome.attempts) == ("killed", 1)
        assert failure_of(outcome).message.code == "process-exit"
        assert failure_of(outcome).message.fields["exit_code"] == 0
        assert log.read_text(encoding="utf-8") == "x"

    def test_timeout_stops_a_task_without_retry(self, build: Build, tmp_path: Path) -> None:
        log = tmp_path / "attempts"
        log.touch()  # on a busy machine the timeout may come before the task

        def slow(item: float) -> float:
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            time.sleep(item)
            return item

        (outcome,) = build(retries=2, timeout=1.5).map(slow, [FOREVER_SECONDS])

        assert (failure_of(outcome).status, outcome.attempts) == ("timeout", 1)
        assert failure_of(outcome).message.code == "timeout"
        assert failure_of(outcome).message.fields == {"seconds": 1.5}
        assert len(log.read_text(encoding="utf-8")) <= 1

    def test_threads_and_environment_are_set_before_imports(self, build: Build) -> None:
        """Numerical libraries read these variables once, on import."""
        engine = build(threads=2, environment={"SEEDPROOF_CONTRACT": "set"})

        (outcome,) = engine.map(lambda _: dict(os.environ), [0])

        environment = outcome.value()
        assert environment["SEEDPROOF_CONTRACT"] == "set"
        assert [environment[name] for name in THREAD_VARIABLES] == ["2"] * len(THREAD_VARIABLES)

    def test_child_processes_of_a_task_end_with_it(self, engine: Engine) -> None:
        def leave_child(seconds: float) -> int:
            return subprocess.Popen(["sleep", str(seconds)]).pid  # noqa: S603, S607 - a child to stop

        (outcome,) = engine.map(leave_child, [FOREVER_SECONDS])

        assert becomes_true(lambda: not is_alive(outcome.value()))

    def test_thread_that_never_ends_does_not_block_the_engine(self, engine: Engine) -> None:
        def hanging(item: int) -> tuple[int, int]:
            threading.Thread(target=threading.Event().wait, daemon=False).start()
            return item, os.getpid()

        (outcome,) = engine.map(hanging, [7])

        item, pid = outcome.value()
        assert item == 7
        assert becomes_true(lambda: not is_alive(pid))

    def test_result_that_cannot_be_pickled_is_a_failure_without_retry(self, engine: Engine) -> None:
        (outcome,) = engine.map(lambda _: threading.Lock(), [0])

        assert (failure_of(outcome).status, outcome.attempts) == ("failed", 1)
        # Raised by pickle, or by the class that cannot be pickled.
        assert failure_of(outcome).message.fields["error_type"] in {"PicklingError", "TypeError"}

    def test_global_generators_of_the_caller_are_unchanged(self, engine: Engine) -> None:
        """Even if a task seeds all of its own."""
        before = capture()

        (outcome,) = engine.map(lambda _: seed_everything(np.random.SeedSequence(1)), [0])

        assert outcome.failure is None
        assert is_same_state(before, capture())
