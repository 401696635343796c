"""The engine contract, for the engines of this package."""

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from uuid import uuid4

import pytest

from seedproof.engines import ProcessEngine, SerialEngine
from seedproof.engines.ray import RayEngine
from seedproof.engines.slurm import SlurmEngine
from seedproof.testing.engines import (
    EngineContract,
    FreshProcessContract,
    becomes_true,
    is_alive,
    processes_with,
)

SLEEPER = """
import pathlib, subprocess, sys, time
from seedproof.engines.ray import RayEngine

def sleep(path):
    subprocess.Popen(["sleep", "600"])
    path.touch()
    time.sleep(600)

path = pathlib.Path(sys.argv[2])
engine = RayEngine(sys.argv[1], environment={"SEEDPROOF_TEST_MARK": path.name})
list(engine.map(sleep, [path]))
"""

WAITER = """
import pathlib, sys, time
from seedproof.engines import ProcessEngine

def work(seconds):
    path.touch()
    time.sleep(seconds)

path, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
engine = ProcessEngine(1, fresh=False, environment={"SEEDPROOF_TEST_MARK": path.name})
for _ in engine.map(work, [seconds, 0]):
    time.sleep(600)
"""


class TestSerial(EngineContract):
    """One item after the other in this process."""

    most_under_way = 0

    @pytest.fixture
    def engine(self):
        return SerialEngine()


class TestProcesses(FreshProcessContract):
    """Fresh processes on this machine."""

    @pytest.fixture
    def build(self, monkeypatch):
        """Two at a time; a thread that hangs would otherwise block for ten seconds."""
        monkeypatch.setattr("seedproof.engines.processes.GRACE_SECONDS", 1.0)
        return lambda **settings: ProcessEngine(workers=2, **settings)


class TestWorkers(EngineContract):
    """Processes on this machine that process many items."""

    @pytest.fixture
    def engine(self):
        return ProcessEngine(workers=2, fresh=False)

    def test_worker_processes_many_items(self, engine):
        pids = [outcome.value() for outcome in engine.map(lambda _: os.getpid(), range(20))]

        assert 1 <= len(set(pids)) <= 2
        assert os.getpid() not in pids

    def test_task_is_sent_once_per_worker(self, engine, tmp_path):
        log = tmp_path / "unpacked"

        class Task:
            def __setstate__(self, state):
                with log.open("a", encoding="utf-8") as file:
                    file.write("x")

            def __getstate__(self):
                return {"some": "state"}

            def __call__(self, item):
                return item

        outcomes = list(engine.map(Task(), range(20)))

        assert len(outcomes) == 20
        assert 1 <= log.stat().st_size <= 2

    def test_worker_that_crashes_is_replaced_and_its_item_retried(self, engine, tmp_path):
        log = tmp_path / "attempts"

        def mortal(item):
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            if item == 3 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return item

        outcomes = sorted(engine.map(mortal, range(8)), key=lambda outcome: outcome.index)

        assert [outcome.value() for outcome in outcomes] == list(range(8))
        assert [outcome.attempts for outcome in outcomes] == [1, 1, 1, 2, 1, 1, 1, 1]
        assert log.stat().st_size == 9

    def test_timeout_stops_a_task_and_other_items_continue(self):
        engine = ProcessEngine(workers=1, fresh=False, timeout=1.5)

        slow, fine = engine.map(lambda seconds: time.sleep(seconds) or seconds, [600, 0])

        assert slow.failure.status == "timeout"
        assert fine.value() == 0

    @pytest.mark.parametrize("seconds", [600, 0], ids=["busy", "idle"])
    def test_no_process_outlives_a_killed_coordinator(self, tmp_path, seconds):
        mark = f"seedproof-test-{uuid4().hex}"
        script = tmp_path / "waiter.py"
        script.write_text(WAITER, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, str(script), str(tmp_path / mark), str(seconds)]
        )
        try:
            assert becomes_true((tmp_path / mark).exists, within=60)
            assert len(processes_with(mark)) == 2  # worker and guardian
        finally:
            process.kill()
            process.wait()

        assert becomes_true(lambda: not processes_with(mark))


@pytest.fixture(scope="module")
def address():
    """Start a cluster of one node, and connect to it."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


class TestRay(FreshProcessContract):
    """Fresh processes on the nodes of a cluster."""

    @pytest.fixture
    def build(self, address):
        return lambda **settings: RayEngine(address, **settings)

    def test_loss_of_a_ray_worker_is_retried(self, build, tmp_path):
        """Like the loss of a node."""
        log = tmp_path / "attempts"

        def lose_worker(item):
            with log.open("a", encoding="utf-8") as file:
                file.write("x")
            if log.stat().st_size == 1:
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
            return item

        (outcome,) = build().map(lose_worker, [7])

        assert (outcome.value(), outcome.attempts) == (7, 2)

    def test_tasks_can_share_a_cpu(self, build, tmp_path):
        """Four items of half a CPU each run at once on two CPUs."""

        def meet(item):
            (tmp_path / str(item)).touch()
            while len(list(tmp_path.iterdir())) < 4:
                time.sleep(0.02)

        outcomes = list(build(cpus=0.5, timeout=60).map(meet, range(4)))

        assert [outcome.failure for outcome in outcomes] == [None] * 4

    def test_cancellation_that_ray_loses_is_repeated(self, build, tmp_path, monkeypatch):
        """Ray loses one in a hundred, when a task is about to start."""
        import ray

        log, lost = tmp_path / "pid", []

        def losing(reference, **options):
            if reference in lost:
                stop(reference, **options)
            else:
                lost.append(reference)

        def work(seconds):
            if seconds:
                log.write_text(str(os.getpid()), encoding="utf-8")
                time.sleep(seconds)

        stop = ray.cancel
        monkeypatch.setattr(ray, "cancel", losing)
        with closing(build(workers=2).map(work, [0, 600])) as outcomes:
            next(outcomes)
            assert becomes_true(lambda: log.exists() and log.read_text(), within=60)

        assert len(lost) == 1
        assert becomes_true(lambda: not is_alive(int(log.read_text())))

    def test_no_process_outlives_a_killed_coordinator(self, address, tmp_path):
        mark = f"seedproof-test-{uuid4().hex}"
        script = tmp_path / "sleeper.py"
        script.write_text(SLEEPER, encoding="utf-8")
        process = subprocess.Popen([sys.executable, str(script), address, str(tmp_path / mark)])
        try:
            assert becomes_true((tmp_path / mark).exists, within=60)
            assert len(processes_with(mark)) == 3  # worker, guardian and sleep
        finally:
            process.kill()
            process.wait()

        assert becomes_true(lambda: not processes_with(mark))


# On this machine, submitit never waits for the end of what it cancels.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
class TestSlurm(FreshProcessContract):
    """Jobs of submitit, on this machine."""

    # One array takes all items.
    test_items_are_read_lazily = None

    @pytest.fixture
    def build(self, tmp_path):
        yield lambda **settings: SlurmEngine(str(tmp_path / "jobs"), "local", **settings)
        gc.collect()  # here, and not in a later test
