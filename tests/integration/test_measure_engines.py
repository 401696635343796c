"""One store, measured in this process, by processes and on Ray: the same bytes, despite crashes."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pyarrow.fs
import pytest

import seedproof as sp
from seedproof.errors import DamagedStoreError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.measure import measure_on, measure_shards
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.testing.engines import becomes_true
from support.explained import write_explained

N_RUNS, N_EXAMPLES = 4, 3000


def write_store(place: Path, *, n_groups: int) -> Path:
    """Write runs of some row groups, with explanations of the first few examples."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (1, N_EXAMPLES, 3)) + rng.normal(0, 1, (N_RUNS, N_EXAMPLES, 3))
    probs = np.exp(logits)
    probs = (probs / probs.sum(axis=2, keepdims=True)).astype(np.float32)
    scores = [rng.random((N_RUNS, 1, 6)).astype(np.float32) for _ in range(20)]
    write_explained(
        Location.of(place),
        list(range(20)),
        scores,
        probs=probs,
        predicted=list(range(N_EXAMPLES)),
        classes=("a", "b", "c"),
        rows=N_EXAMPLES // n_groups,
    )
    return place


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("measured") / "store", n_groups=3)


@pytest.fixture(scope="module")
def here(store):
    """Return the result of measuring in this process."""
    return sp.measure(store)


def test_processes_give_the_same_bytes(store, here):
    report = sp.measure(store, engine="processes", workers=2)

    assert report.to_json() == here.to_json()
    assert report.examples.equals(here.examples)


def test_rows_are_written_to_the_requested_folder(store, here, tmp_path):
    """One file per row group; the saved report is found again."""
    out = tmp_path / "out"
    report = sp.measure(store, engine="processes", workers=2, examples=out / "examples.parquet")
    report.save(out)

    assert len(list((out / "examples.parquet").iterdir())) == 3
    assert report.examples.equals(here.examples)


def test_store_on_object_storage_gives_the_same_bytes(store, here, url):
    """Workers read it there, and write the rows there."""
    place = Location.of(url("engines/store"))
    pyarrow.fs.copy_files(str(store), place.path, destination_filesystem=place.files)

    report = sp.measure(
        url("engines/store"), engine="processes", workers=2, examples=url("engines/rows")
    )

    assert report.to_json() == here.to_json()
    assert report.examples.equals(here.examples)
    assert len(Location.of(url("engines/rows")).files_inside()) == 3


def test_command_measures_with_processes(store, here, tmp_path, seedproof, refused):
    """The same summary, with the rows next to it; a serial pass replaces it."""
    out = tmp_path / "out"

    first = seedproof("measure", store, "--engine", "processes", "--workers", 1, "--out", out)
    parts = [path.name for path in (out / "examples.parquet").iterdir()]
    again = seedproof("measure", store, "--out", out)
    error = refused("measure", store, "--engine", "proceses")

    assert (first[0], again[0]) == (0, 0)
    assert len(parts) == 3
    assert (out / "summary.json").read_text() == here.to_json()
    assert (out / "examples.parquet").is_file()
    assert (error.code, error.fields["known"]) == ("SP301", ("serial", "processes", "ray"))


def test_damage_in_a_worker_gives_the_same_error(tmp_path):
    """With the same fields."""
    damaged = write_store(tmp_path / "store", n_groups=2)
    part = next((damaged / "runs" / "none-2" / "predictions").rglob("*.parquet"))
    content = bytearray(part.read_bytes())
    middle = 2 * len(content) // 5  # among probabilities
    content[middle : middle + 200] = bytes(200)
    part.write_bytes(content)

    with pytest.raises(DamagedStoreError) as alone:
        sp.measure(damaged)
    with pytest.raises(DamagedStoreError) as there:
        sp.measure(damaged, engine="processes", workers=2)

    assert there.value.fields == alone.value.fields
    assert there.value.fields["run"] == "2"
    assert str(there.value) == str(alone.value)


class TestRay:
    """A cluster of three nodes on this machine."""

    @pytest.fixture
    def cluster(self, monkeypatch):
        """Start a head, and two nodes that may be removed."""
        # Workers load this module, and with it what tests share.
        folders = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        cluster.added = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield cluster
        ray.shutdown()
        cluster.shutdown()

    @pytest.mark.full
    def test_crashes_do_not_change_the_bytes(self, cluster, store, here, tmp_path):
        """A node is removed and a worker killed: their shards are repeated, none counts twice."""
        undisturbed = sp.measure(store, engine="ray", workers=3)
        fine = Store(Location.of(write_store(tmp_path / "store", n_groups=30))).shards()
        alone = measure_shards(fine, Location.of(tmp_path / "alone.parquet"))
        slow = _Slow(fine, tmp_path / "log")
        disturber = threading.Thread(target=_disturb, args=(cluster, slow.log))

        disturber.start()
        measurement = measure_on(
            measuring_engine("ray", workers=3), slow, Location.of(tmp_path / "rows")
        )
        disturber.join()

        assert undisturbed.to_json() == here.to_json()
        assert undisturbed.examples.equals(here.examples)
        assert measurement.to_json() == alone.to_json()
        assert measurement.examples().equals(alone.examples())
        assert len(slow.log.read_text().splitlines()) > slow.n_shards


class _Slow:
    """A slow source that logs which process reads which shard."""

    def __init__(self, source, log):
        self._source, self.log = source, log

    def __getattr__(self, name):
        if name.startswith("_"):  # also while it is unpickled
            raise AttributeError(name)
        return getattr(self._source, name)

    def shard(self, index):
        import time

        with self.log.open("a") as file:
            file.write(f"{index} {os.getpid()}\n")
        time.sleep(0.3)
        return self._source.shard(index)


def _disturb(cluster, log):
    """Remove a node and kill a worker once the work is under way."""

    def lines():
        return log.read_text().splitlines() if log.exists() else []

    becomes_true(lambda: len(lines()) > 4, within=60)
    cluster.remove_node(cluster.added[0])
    seen = len(lines())
    becomes_true(lambda: len(lines()) > seen + 2, within=60)
    os.kill(int(lines()[-1].split()[1]), signal.SIGKILL)
