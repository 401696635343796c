"""Studies on a Ray cluster that loses nodes and processes."""

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from seedproof.engines import ProcessEngine, SerialEngine
from seedproof.engines.ray import RayEngine
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.testing.engines import becomes_true, is_same_state
from seedproof.training.rng import capture
from seedproof.training.study import Study


@pytest.fixture(scope="module")
def cluster():
    """Start a cluster of two nodes of one CPU each on this machine, and connect to it."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def training(log: Path):
    """Return a small torch training that logs its start and its process."""

    def train(run):
        import time

        import torch

        with log.open("a", encoding="utf-8") as file:
            file.write(f"{run.name} {os.getpid()} {os.getppid()}\n")
        time.sleep(float(os.environ.get("SEEDPROOF_TEST_PAUSE", "0")))
        examples = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
        labels = (examples[:, 0] > 0).long()
        with run.seeded("init"):
            model = torch.nn.Linear(4, 2)
        for batch in torch.randperm(50, generator=run.torch_generator("order")).split(10):
            noise = torch.randn(10, 4)  # from the global generator, as most programs do
            torch.nn.functional.cross_entropy(
                model(examples[batch] + noise), labels[batch]
            ).backward()
            # A step by hand, since importing torch.optim takes longer than the whole training.
            with torch.no_grad():
                for weights in model.parameters():
                    weights.sub_(0.3 * weights.grad)
                    weights.grad = None
        run.log_predictions("test", probs=model(examples).softmax(-1), labels=labels)

    return train


def probs_of(store: Path) -> dict[str, np.ndarray]:
    """Return the probabilities by run."""
    shards = Store(Location.of(store)).shards()
    parts = [shards.shard(index).probs for index in range(shards.n_shards)]
    return dict(zip(shards.runs, np.concatenate(parts, axis=1), strict=True))


def assert_same_bits(first: Path, second: Path) -> None:
    """Assert that two stores have the same runs with the same predictions."""
    first_probs, second_probs = probs_of(first), probs_of(second)
    assert first_probs.keys() == second_probs.keys()
    for run, probs in first_probs.items():
        assert probs.tobytes() == second_probs[run].tobytes()


def started_trainings(log: Path) -> list[tuple[str, int, int]]:
    """Return run name, process and parent process of every training that was started."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(name, int(pid), int(parent)) for name, pid, parent in map(str.split, lines)]


def parent_of(pid: int) -> int:
    """Return the parent of a process, or 0 if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def test_same_seed_gives_the_same_bits_on_every_engine(cluster, tmp_path):
    """The state of the caller's generators does not change."""
    import torch  # noqa: F401 - `capture` covers its generator only once it is loaded

    before = capture()

    for name, engine in (
        ("serial", SerialEngine()),
        ("processes", ProcessEngine(workers=2)),
        ("ray", RayEngine(cluster.address)),
    ):
        study = Study("bits", training(tmp_path / "log"), seeds=2, store=tmp_path / name)
        assert study.run(engine, progress=False).is_done

    assert is_same_state(before, capture())
    assert_same_bits(tmp_path / "serial", tmp_path / "processes")
    assert_same_bits(tmp_path / "serial", tmp_path / "ray")
    first, second = probs_of(tmp_path / "serial").values()
    assert first.tobytes() != second.tobytes()


def test_study_survives_the_loss_of_a_node_and_of_a_process(cluster, tmp_path):
    """Every run finishes once, with the same predictions as without a cluster."""
    log, n_runs = tmp_path / "log", 6
    lost_node = cluster.add_node(num_cpus=1)
    raylet_pid = lost_node.all_processes["raylet"][0].process.pid

    def runs_on_lost_node() -> set[str]:
        return {
            name for name, _, worker in started_trainings(log) if parent_of(worker) == raylet_pid
        }

    def disturb() -> tuple[set[str], str]:
        """Remove a node, then kill the next training; return the runs that were interrupted."""
        assert becomes_true(runs_on_lost_node, within=60)
        lost_runs = runs_on_lost_node()
        cluster.remove_node(lost_node, allow_graceful=False)
        n_before = len(started_trainings(log))
        assert becomes_true(lambda: len(started_trainings(log)) > n_before, within=60)
        name, pid, _ = started_trainings(log)[n_before]
        os.kill(pid, signal.SIGKILL)
        return lost_runs, name

    def study_of(log: Path, store: str) -> Study:
        # One CPU thread is deterministic anyway, and torch's setting would take a second per run.
        return Study(
            "lossy", training(log), seeds=n_runs, store=tmp_path / store, deterministic=False
        )

    engine = RayEngine(cluster.address, environment={"SEEDPROOF_TEST_PAUSE": "2"})
    with ThreadPoolExecutor(1) as pool:
        disturbance = pool.submit(disturb)
        status = study_of(log, "ray").run(engine, progress=False)
        lost_runs, killed_run = disturbance.result()

    names = {str(seed) for seed in range(n_runs)}
    assert status.is_done
    n_starts = Counter(name for name, _, _ in started_trainings(log))
    assert n_starts.keys() == names
    assert {name for name, n in n_starts.items() if n > 1} == {*lost_runs, killed_run}
    folders = list((tmp_path / "ray" / "runs").iterdir())
    assert len(folders) == len(list(tmp_path.glob("ray/runs/*/run.json"))) == n_runs
    assert [len(run.parts) for run in Store(Location.of(tmp_path / "ray")).runs] == [1] * n_runs

    assert study_of(tmp_path / "other", "serial").run("serial", progress=False).is_done
    assert_same_bits(tmp_path / "serial", tmp_path / "ray")
