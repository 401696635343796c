"""The pass: shards in any order, the same bytes out."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from seedproof.engines import Outcome, ProcessEngine, SerialEngine, in_order
from seedproof.engines.ray import RayEngine
from seedproof.errors import NotFoundError, OptionError, UnknownNameError
from seedproof.measurement.engines import measuring_engine
from seedproof.measurement.examples import clear_examples
from seedproof.measurement.measure import measure_on, measure_shard, measure_shards
from seedproof.metrics import batch as metrics_batch
from seedproof.metrics.batch import batches
from seedproof.records import schema
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields


class ShuffledEngine:
    """Finishes its tasks in a random order, and sends task and results through pickle."""

    def __init__(self, rng):
        self._rng = rng

    def map(self, task, items):
        """Do the task for every item, in an order of its own."""
        travelled = pickle.loads(pickle.dumps(task))  # noqa: S301 - our own bytes
        items = list(items)
        for index in self._rng.permutation(len(items)):
            result = travelled(items[index])
            yield Outcome(int(index), pickle.loads(pickle.dumps(result)))  # noqa: S301


def _probs(rng, n_runs=5, n_examples=400, n_classes=3):
    logits = 2 * rng.normal(size=(1, n_examples, n_classes))
    logits = logits + rng.normal(size=(n_runs, n_examples, n_classes))
    raised = np.exp(logits)
    return (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)


@pytest.fixture
def small_groups(monkeypatch):
    """Row groups of a few rows, so that small data has many shards."""
    monkeypatch.setattr(schema, "GROUP_BYTES", 600)


@pytest.fixture
def probs():
    """Five runs, 400 examples, three classes."""
    return _probs(np.random.default_rng(7))


@pytest.mark.usefixtures("small_groups")
def test_order_of_finished_tasks_does_not_matter(probs, tmp_path):
    """An engine that finishes its tasks in random order gives the same summary and examples."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 400)
    source = ArrayShards(probs, labels=labels)
    assert source.n_shards == 8

    serial = measure_shards(source, Location.of(tmp_path / "a.parquet"))
    shuffled = measure_on(ShuffledEngine(rng), source, Location.of(tmp_path / "b"))

    assert shuffled.to_json() == serial.to_json()
    assert shuffled.examples().equals(serial.examples())


def test_missing_rows_of_other_machines_are_refused(probs, tmp_path):
    """Workers on another machine wrote them to a local folder."""

    class ElsewhereEngine:
        def map(self, task, items):
            elsewhere = replace(task, folder=Location.of(tmp_path / "elsewhere"))
            return (Outcome(i, elsewhere(item)) for i, item in enumerate(items))

    here = Location.of(tmp_path / "here")
    with pytest.raises(NotFoundError, check=WithFields(examples_folder=here)):
        measure_on(ElsewhereEngine(), ArrayShards(probs), here)


def test_rows_of_two_passes_are_never_mixed(probs, tmp_path):
    """Rows of an earlier pass are removed, in one file or many."""
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "part-000007.parquet").touch()

    for _ in range(2):
        measure_on(SerialEngine(), ArrayShards(probs), Location.of(folder))
        assert [path.name for path in folder.iterdir()] == ["part-000000.parquet"]
        clear_examples(Location.of(folder))
        measure_shards(ArrayShards(probs), Location.of(folder))


def test_other_files_are_never_overwritten(probs, tmp_path):
    """Only a table of examples is."""
    (tmp_path / "part-000000.parquet").touch()
    (tmp_path / "thesis.txt").touch()

    for place in (tmp_path, tmp_path / "thesis.txt"):
        thesis = Location.of(tmp_path / "thesis.txt")
        with pytest.raises(OptionError, check=WithFields(path=thesis)):
            measure_on(SerialEngine(), ArrayShards(probs), Location.of(place))

    assert len(list(tmp_path.iterdir())) == 2


def test_workers_are_reused_for_all_shards():
    """A fresh process would load everything again for each shard."""
    assert measuring_engine("serial") is None
    assert measuring_engine("processes", workers=2) == ProcessEngine(2, fresh=False, ahead=4)
    assert measuring_engine("ray", workers=2) == RayEngine(workers=2, fresh=False, ahead=4)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"engine": "serial", "workers": 2}, OptionError),
        ({"engine": "processes", "address": "auto"}, OptionError),
        ({"engine": "slurm"}, UnknownNameError),
    ],
)
def test_unsupported_options_of_engines_are_refused(options, error):
    """So are unknown engines."""
    with pytest.raises(error):
        measuring_engine(**options)


def test_shards_change_figures_by_rounding_only(probs, tmp_path, monkeypatch):
    """Cut into eight shards or one, counts agree exactly and sums to the last digits."""
    whole = measure_shards(ArrayShards(probs), Location.of(tmp_path / "a.parquet"))
    monkeypatch.setattr(schema, "GROUP_BYTES", 600)
    cut = measure_shards(ArrayShards(probs), Location.of(tmp_path / "b.parquet"))

    assert cut.metrics["flip_rate"].value == whole.metrics["flip_rate"].value
    for name, estimate in whole.metrics.items():
        # Float sums in another grouping: a few units in the last place.
        assert cut.metrics[name].value == pytest.approx(estimate.value, rel=1e-12)
        if estimate.low is not None:
            assert cut.metrics[name].low == pytest.approx(estimate.low, rel=1e-10)


def test_results_come_in_order():
    """By index, whatever finishes first."""
    outcomes = (Outcome(index, f"part {index}") for index in (2, 0, 3, 1))

    assert list(in_order(outcomes)) == ["part 0", "part 1", "part 2", "part 3"]


@pytest.mark.usefixtures("small_groups")
def test_progress_counts_shards(probs, tmp_path):
    """One call per shard."""
    seen = []

    measure_shards(
        ArrayShards(probs),
        Location.of(tmp_path / "a.parquet"),
        progress=lambda done, total: seen.append((done, total)),
    )

    assert seen == [(i + 1, 8) for i in range(8)]


def test_size_of_batches_does_not_depend_on_the_shard(probs, monkeypatch):
    """It depends on the number of runs and classes alone."""
    shard = ArrayShards(probs).shard(0)

    monkeypatch.setattr(metrics_batch, "BATCH_VALUES", 5 * 3 * 100)

    sizes = [batch.n_examples for batch in batches(shard, 3)]

    assert sizes == [100, 100, 100, 100]


@pytest.mark.usefixtures("small_groups")
def test_task_measures_one_shard(probs):
    """It returns one row for each example of the shard."""
    _, rows = measure_shard(ArrayShards(probs), 2)

    assert len(rows.ids) == 50
    assert rows.ids[0].as_py() == 100


def test_summary_has_no_nan_and_no_path(probs, tmp_path):
    """Empty bins are null, and no path or time is in the summary."""
    result = measure_shards(ArrayShards(probs), Location.of(tmp_path / "a.parquet"))

    text = result.to_json()

    assert "NaN" not in text
    assert str(tmp_path) not in text


@pytest.mark.usefixtures("small_groups")
def test_least_stable_examples_come_first(tmp_path):
    """Those on which runs split evenly, over all shards; ties by id."""
    predictions = np.zeros((4, 2000), dtype=int)
    predictions[:2, [1999, 3]] = 1
    predictions[0, 700] = 1
    result = measure_shards(ArrayShards(predictions), Location.of(tmp_path / "a.parquet"))

    assert result.unstable_examples.column("example").to_pylist()[:4] == [3, 1999, 700, 0]
    assert result.unstable_examples.num_rows == 500
    assert result.unstable_examples.column("predictions").to_pylist()[2] == [1, 0, 0, 0]
