"""What every engine promises, for those that come with the house."""

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


class TestSerial(EngineContract):
    """In this process, one after the other."""

    most_under_way = 0

    @pytest.fixture
    def engine(self):
        """It has no settings."""
        return SerialEngine()


class TestProcesses(FreshProcessContract):
    """Fresh processes on this machine."""

    @pytest.fixture
    def build(self, monkeypatch):
        """Two at a time; what hangs in a thread hangs for all of the ten seconds elsewhere."""
        monkeypatch.setattr("seedproof.engines.processes.GRACE_SECONDS", 1.0)
        return lambda **settings: ProcessEngine(workers=2, **settings)


@pytest.fixture(scope="module")
def address():
    """A cluster of one node, which this process and its children connect to."""
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
        """As many at a time as there are CPUs."""
        return lambda **settings: RayEngine(address, **settings)

    def test_the_loss_of_a_worker_of_ray_is_a_death(self, build, tmp_path):
        """As the loss of a node is: the item is tried again elsewhere."""
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

    def test_a_cpu_can_be_shared(self, build, tmp_path):
        """Four items of half a CPU each are done at once on two CPUs."""

        def meet(item):
            (tmp_path / str(item)).touch()
            while len(list(tmp_path.iterdir())) < 4:
                time.sleep(0.02)

        outcomes = list(build(cpus=0.5, timeout=60).map(meet, range(4)))

        assert [outcome.failure for outcome in outcomes] == [None] * 4

    def test_a_request_to_stop_that_ray_loses_is_repeated(self, build, tmp_path, monkeypatch):
        """It loses one in a hundred: those that come just as a task begins."""
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

    def test_nobody_outlives_a_killed_coordinator(self, address, tmp_path):
        """Ray ends its worker, and the lifeline ends the rest."""
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
    test_items_are_read_as_there_is_room_for_them = None

    @pytest.fixture
    def build(self, tmp_path):
        """Its files go where they do not stay."""
        yield lambda **settings: SlurmEngine(str(tmp_path / "jobs"), "local", **settings)
        gc.collect()  # here, and not in somebody else's test
