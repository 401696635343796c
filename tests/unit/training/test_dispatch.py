"""A coordinator trains what is free, and waits for the rest without starting anything."""

from types import SimpleNamespace

import pytest

from seedproof.engines import SerialEngine
from seedproof.engines.serial import attempt
from seedproof.records.location import Location
from seedproof.records.locks import claim
from seedproof.seeds import SeedPlan
from seedproof.training import dispatch
from seedproof.training.dispatch import Dispatcher
from seedproof.training.run import Run
from seedproof.training.spec import StudySpec
from seedproof.training.target import FunctionTarget
from seedproof.training.worker import TrainRun

SPECS = StudySpec("small", "train.py", SeedPlan.all(4)).runs()


class Listener:
    """Record of the events, as (event, run)."""

    def __init__(self):
        self.events = []

    def __getattr__(self, event):
        return lambda spec, *_: self.events.append((event, spec.name))

    def of(self, event):
        """Return the runs with an event, in order."""
        return [name for kind, name in self.events if kind == event]


class Engine(SerialEngine):
    """A serial engine that counts its calls."""

    def __init__(self):
        self.calls = []

    def map(self, task, items, *, on_start=None):
        """Call the task with every item, in order."""
        self.calls.append([])
        for index, item in enumerate(items):
            self.calls[-1].append(item.name)
            on_start(index)
            yield attempt(task, item, index)


class World:
    """A store, an engine, and a clock that acts at each pause."""

    def __init__(self, folder, monkeypatch):
        self.store = Location.of(folder)
        self.engine, self.listener = Engine(), Listener()
        self.trained, self.failures, self.pauses = [], [], []
        self.locks = {}
        self.at_pause = {}
        monkeypatch.setattr(dispatch, "time", SimpleNamespace(sleep=self.sleep))

    def folder(self, index):
        return self.store / "runs" / SPECS[index].run_id

    def hold(self, index):
        """Lock a run, as another coordinator does."""
        self.locks[index] = claim(self.folder(index))

    def sleep(self, seconds):
        """Act instead of sleeping."""
        self.pauses.append(seconds)
        self.at_pause.get(len(self.pauses), lambda: None)()

    def finish_elsewhere(self, index):
        run = Run(SPECS[index], self.folder(index))
        run.log_scalar("loss", 0.5)
        run.commit({})
        self.locks[index].release()

    def _train(self, run):
        self.trained.append(run.name)
        run.log_scalar("loss", 1.0)

    def train(self, specs=SPECS, engine=None):
        task = TrainRun(self.store, FunctionTarget(self._train), {}, is_alone=False)
        Dispatcher(task, engine or self.engine, self.listener, self._record).train(specs)

    def _record(self, spec, failure, attempts):
        self.failures.append((spec.name, failure.status, attempts))


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def test_all_free_runs_are_one_call(world):
    world.train()

    assert world.engine.calls == [["0", "1", "2", "3"]]
    assert world.trained == world.listener.of("finished") == ["0", "1", "2", "3"]
    assert world.pauses == []


def test_waiting_starts_nothing(world):
    """Pauses grow up to a limit; the engine is not called, as it may connect to a cluster."""
    world.hold(1)
    world.at_pause[20] = lambda: world.finish_elsewhere(1)

    world.train()

    assert world.engine.calls == [["0", "2", "3"]]
    assert world.listener.of("finished") == ["0", "2", "3", "1"]
    assert world.trained == ["0", "2", "3"]
    assert len(world.pauses) == 20
    assert world.pauses[0] == dispatch.FIRST_PAUSE_SECONDS
    assert world.pauses == sorted(world.pauses)
    assert world.pauses[-1] == dispatch.LONGEST_PAUSE_SECONDS


def test_pauses_are_short_again_after_progress(world):
    """Other runs are likely to end soon."""
    world.hold(0)
    world.hold(1)
    world.at_pause[5] = lambda: world.finish_elsewhere(0)
    world.at_pause[6] = lambda: world.finish_elsewhere(1)

    world.train(SPECS[:2])

    assert world.pauses[4] > world.pauses[5] == dispatch.FIRST_PAUSE_SECONDS
    assert world.engine.calls == []


def test_run_that_becomes_free_is_trained(world):
    """Its process has crashed, or its training failed there."""
    world.hold(3)
    world.at_pause[2] = world.locks[3].release

    world.train()

    assert world.engine.calls == [["0", "1", "2"], ["3"]]
    assert world.trained == ["0", "1", "2", "3"]


def test_locks_are_looked_at_when_there_is_room(world):
    """A run that another coordinator has begun meanwhile starts no process."""
    train = world._train

    def train_and_let_the_other_begin(run):
        train(run)
        if run.name == "0":
            world.hold(1)
            world.hold(2)
            world.finish_elsewhere(2)

    world._train = train_and_let_the_other_begin
    world.at_pause[1] = lambda: world.finish_elsewhere(1)

    world.train()

    assert world.engine.calls == [["0", "3"]]
    assert world.listener.of("finished") == ["0", "2", "3", "1"]


def test_run_that_was_locked_at_the_last_moment_is_awaited(world):
    """Its process found the lock."""

    class Late(Engine):
        def map(self, task, items, *, on_start=None):
            for item in items:
                if item.name == "2" and 2 not in world.locks:
                    world.hold(2)
                on_start(0)
                yield from super().map(task, [item], on_start=lambda _: None)

    late = Late()
    world.at_pause[1] = lambda: world.finish_elsewhere(2)
    world.train(SPECS[2:3], late)

    assert late.calls == [["2"]]
    assert world.listener.of("elsewhere") == world.listener.of("finished") == ["2"]
    assert world.trained == []


def test_failures_are_recorded(world):
    """The other runs continue."""

    def fail(run):
        if run.name == "1":
            raise ValueError
        run.log_scalar("loss", 1.0)

    world._train = fail

    world.train()

    assert world.failures == [("1", "failed", 1)]
    assert world.listener.of("failed") == ["1"]
    assert world.listener.of("finished") == ["0", "2", "3"]


def test_work_is_stopped_if_the_listener_fails(world):
    """The engine's iterator is closed before the exception is handled."""
    events = []

    class Watched(Engine):
        def map(self, task, items, *, on_start=None):
            try:
                yield from super().map(task, items, on_start=on_start)
            finally:
                events.append("closed")

    def interrupt(*_):
        raise KeyboardInterrupt

    world.listener.finished = interrupt
    try:
        world.train(engine=Watched())
    except KeyboardInterrupt:
        events.append("handled")

    assert events == ["closed", "handled"]
    assert world.trained == ["0"]
