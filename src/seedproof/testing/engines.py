"""What every engine promises, as tests: subclass a contract, and give a fixture.

    from seedproof.testing.engines import FreshProcessContract

    class TestMyEngine(FreshProcessContract):
        @pytest.fixture
        def build(self):
            return MyEngine

Tasks leave traces in `tmp_path` and tell the ids of their processes, so the engine under test must
work on this machine.
"""
# ruff: noqa: S101 - these are tests, and pytest explains a plain assert best

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

# How long the end of a process may take to be seen. A guardian looks twice a second.
SOON_SECONDS = 5.0
# Longer than any test waits: what is still alive then was not ended.
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
    """Whether a process goes on; one that ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return True
    try:
        # The name, in parentheses, may hold anything.
        return state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_with(mark: str) -> set[int]:
    """Ids of all processes that have a text in their environment; on Linux."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
    return {pid for pid in found if is_alive(pid)}


def becomes_true(question: Callable[[], object], *, within: float = SOON_SECONDS) -> bool:
    """Whether the answer is yes, now or within so many seconds."""
    end = time.monotonic() + within
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def by_index(outcomes: Iterator[Outcome[Any]]) -> list[Outcome[Any]]:
    """All outcomes, in the order of their items; each item must have one."""
    found = sorted(outcomes, key=lambda outcome: outcome.index)
    assert [outcome.index for outcome in found] == list(range(len(found)))
    return found


def failure_of(outcome: Outcome[Any]) -> Failure:
    """Why an item has no result."""
    assert outcome.failure is not None
    return outcome.failure


def is_same_state(first: Any, second: Any) -> bool:  # noqa: ANN401 - states of any generator
    """Whether two states of generators are equal, in every number."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            is_same_state(first[key], second[key]) for key in first
        )
    if isinstance(first, tuple | list):
        return all(is_same_state(a, b) for a, b in zip(first, second, strict=True))
    return bool(np.array_equal(np.asarray(first), np.asarray(second)))


class EngineContract:
    """For every engine; give a fixture `engine`.

    An engine that cannot keep a promise sets the test to None, and says why.
    """

    # How many items may have been read, beside those that are done.
    most_under_way = 4

    @pytest.fixture
    def engine(self) -> Engine:
        """The engine under test; a subclass gives it."""
        raise NotImplementedError

    def test_every_item_has_one_outcome(self, engine: Engine) -> None:
        """Its result, under its index, at the first attempt."""
        outcomes = by_index(engine.map(lambda x: x * x, [5, 6, 7]))

        assert [outcome.value() for outcome in outcomes] == [25, 36, 49]
        assert all(outcome.failure is None and outcome.attempts == 1 for outcome in outcomes)

    def test_no_item_has_no_outcome(self, engine: Engine) -> None:
        """Nothing to do is no error."""
        assert list(engine.map(lambda x: x, [])) == []

    def test_what_a_task_raises_is_its_outcome(self, engine: Engine) -> None:
        """With message and traceback, at the first attempt; the other items go on."""
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

    def test_functions_that_no_module_holds_can_travel(self, engine: Engine) -> None:
        """Lambdas and closures, as tasks and as items."""
        secret = 40

        def closure() -> int:
            return secret + 2

        (outcome,) = engine.map(lambda function: function() + secret, [closure])

        assert outcome.value() == 82

    def test_functions_of_a_module_can_travel(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A module is looked for where this process looks for it."""
        (tmp_path / "seedproof_contract_task.py").write_text(
            "def double(x):\n    return 2 * x\n", encoding="utf-8"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        module = import_module("seedproof_contract_task")

        (outcome,) = engine.map(module.double, [21])

        assert outcome.value() == 42

    def test_functions_of_a_main_program_can_travel(self, engine: Engine, tmp_path: Path) -> None:
        """With the globals and classes that they need; the program needs no main guard."""
        program, packed = tmp_path / "program.py", tmp_path / "engine"
        program.write_text(MAIN_PROGRAM, encoding="utf-8")
        packed.write_bytes(cloudpickle.dumps(engine))

        said = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, str(program), str(packed)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

        assert said.stdout.splitlines() == ["0 Point 11"], said.stderr

    def test_large_items_and_results_arrive_whole(self, engine: Engine) -> None:
        """5 MB there and back: more than any pipe holds."""
        block = np.random.default_rng(0).bytes(5 * MEGABYTE)

        (outcome,) = engine.map(lambda sent: sent[::-1], [block])

        assert outcome.value() == block[::-1]

    def test_what_a_task_prints_is_no_result(
        self, engine: Engine, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Neither what goes through `print`, nor what is written to the descriptor."""

        def chatter(item: int) -> int:
            sys.stdout.write("x" * 100_000)
            sys.stdout.flush()
            os.write(1, b"y" * 100_000)
            return item

        (outcome,) = engine.map(chatter, [7])

        assert outcome.value() == 7
        capfd.readouterr()

    def test_items_are_read_as_there_is_room_for_them(self, engine: Engine) -> None:
        """So a generator of items may be endless."""
        read: list[int] = []

        def endless() -> Iterator[int]:
            for item in count():
                read.append(item)
                yield item

        with closing(cast("Any", engine.map(lambda x: x, endless()))) as outcomes:
            first, second = next(outcomes), next(outcomes)

        assert first.index != second.index
        assert len(read) <= 2 + self.most_under_way

    def test_closing_the_iterator_stops_the_work(self, engine: Engine, tmp_path: Path) -> None:
        """Nothing goes on, and nothing more begins."""

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

    def test_the_start_of_each_item_is_told(self, engine: Engine) -> None:
        """Once, and before its outcome."""
        started: list[int] = []

        for outcome in engine.map(lambda x: x, [1, 2], on_start=started.append):
            assert outcome.index in started

        assert sorted(started) == [0, 1]

    def test_the_generators_of_the_caller_are_untouched(self, engine: Engine) -> None:
        """Python's, numpy's and torch's: an engine draws from none of them."""
        before = capture()

        by_index(engine.map(lambda x: x, [1]))

        assert is_same_state(before, capture())


class FreshProcessContract(EngineContract):
    """For engines that give each item a fresh process.

    Give a fixture `build`: what makes an engine with `retries`, `timeout`, `threads` and
    `environment`, as `ProcessEngine` does.
    """

    @pytest.fixture
    def build(self) -> Build:
        """Makes the engine under test; a subclass gives it."""
        raise NotImplementedError

    @pytest.fixture
    def engine(self, build: Build) -> Engine:
        """The engine with its own settings."""
        return build()

    def test_every_item_has_a_process_of_its_own(self, engine: Engine) -> None:
        """So no run sees what another left behind."""
        pids = [outcome.value() for outcome in engine.map(lambda _: os.getpid(), range(3))]

        assert len({*pids, os.getpid()}) == 4

    def test_a_death_at_every_attempt_is_told_at_last(self, build: Build, tmp_path: Path) -> None:
        """Two retries are three attempts; the other items go on."""
        log = tmp_path / "attempts"

        def deadly(item: str) -> str:
            if item == "die":
                with log.open("a", encoding="utf-8") as file:
                    file.write("x")
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        died, fine = by_index(build(retries=2).map(deadly, ["die", "live"]))

        assert failure_of(died).status == "killed"
        assert failure_of(died).message.code == "process-signal"
        assert failure_of(died).message.fields == {"signal": "SIGKILL", "n_attempts": 3}
        assert died.attempts == len(log.read_text(encoding="utf-8")) == 3
        assert (fine.value(), fine.attempts) == ("live", 1)

    def test_a_death_at_the_first_attempt_ends_well(self, build: Build, tmp_path: Path) -> None:
        """The second attempt has the result."""
        log = tmp_path / "attempts"

        def mortal(item: int) -> int:
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            if log.stat().st_size == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        (outcome,) = build(retries=2).map(mortal, [7])

        assert (outcome.value(), outcome.attempts) == (7, 2)
        assert log.read_text(encoding="utf-8") == "xx"

    def test_without_retries_a_death_is_final(self, build: Build, tmp_path: Path) -> None:
        """Also one that leaves with exit code 0, but without a result."""
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

    def test_what_takes_too_long_is_ended_and_not_tried_again(
        self, build: Build, tmp_path: Path
    ) -> None:
        """Whoever takes too long once takes too long again."""
        log = tmp_path / "attempts"

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

    def test_threads_and_environment_are_set_before_anything_is_loaded(self, build: Build) -> None:
        """Numerical libraries look at these variables once, when they are loaded."""
        engine = build(threads=2, environment={"SEEDPROOF_CONTRACT": "told"})

        (outcome,) = engine.map(lambda _: dict(os.environ), [0])

        environment = outcome.value()
        assert environment["SEEDPROOF_CONTRACT"] == "told"
        assert [environment[name] for name in THREAD_VARIABLES] == ["2"] * len(THREAD_VARIABLES)

    def test_what_a_task_starts_ends_with_it(self, engine: Engine) -> None:
        """Loaders and servers that nobody waits for."""

        def careless(seconds: float) -> int:
            return subprocess.Popen(["sleep", str(seconds)]).pid  # noqa: S603, S607 - a child to be ended

        (outcome,) = engine.map(careless, [FOREVER_SECONDS])

        assert becomes_true(lambda: not is_alive(outcome.value()))

    def test_a_thread_that_a_task_leaves_behind_does_not_hang_the_engine(
        self, engine: Engine
    ) -> None:
        """The result counts; the process is ended after a while."""

        def hanging(item: int) -> tuple[int, int]:
            threading.Thread(target=threading.Event().wait, daemon=False).start()
            return item, os.getpid()

        (outcome,) = engine.map(hanging, [7])

        item, pid = outcome.value()
        assert item == 7
        assert becomes_true(lambda: not is_alive(pid))

    def test_a_result_that_cannot_travel_is_a_failure(self, engine: Engine) -> None:
        """And no death: it would be the same at every attempt."""
        (outcome,) = engine.map(lambda _: threading.Lock(), [0])

        assert (failure_of(outcome).status, outcome.attempts) == ("failed", 1)
        # Raised by pickle, or by the class that cannot be pickled.
        assert failure_of(outcome).message.fields["error_type"] in {"PicklingError", "TypeError"}

    def test_the_generators_of_the_caller_are_untouched(self, engine: Engine) -> None:
        """Even if a task seeds all of them: those that it seeds are its own."""
        before = capture()

        (outcome,) = engine.map(lambda _: seed_everything(np.random.SeedSequence(1)), [0])

        assert outcome.failure is None
        assert is_same_state(before, capture())
