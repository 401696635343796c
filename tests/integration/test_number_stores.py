"""Numbers in stores: logged by runs, measured on every engine to the same bytes."""

import json
import os

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import LabelConflictError, MissingExampleError

N_RUNS, N_EXAMPLES = 6, 300
# Ray takes long to start.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
OPTIONS = {"tolerance": 0.5, "thresholds": [20.0]}


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (runs, examples), and the targets, some of them unknown."""
    rng = np.random.default_rng(0)
    targets = rng.normal(20, 5, N_EXAMPLES)
    numbers = targets + rng.normal(0, 0.3, (N_RUNS, 1)) + rng.normal(0, 1, (N_RUNS, N_EXAMPLES))
    targets[::7] = np.nan
    return numbers, targets


def train(run: sp.Run) -> None:
    """Log drawn numbers in two batches."""
    numbers, targets = drawn()
    for rows in (slice(0, 100), slice(100, None)):
        run.log_predictions("test", values=numbers[int(run.name), rows], targets=targets[rows])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return the store of a study, in four row groups per run."""
    place = tmp_path_factory.mktemp("numbers") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 80)
        assert sp.Study("regression", train, seeds=N_RUNS, store=place).run(engine="serial").is_done
    return place


@pytest.fixture
def in_memory(monkeypatch):
    """Return the measurement of the same numbers as arrays, in equal shards."""
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 80)
    numbers, targets = drawn()
    return sp.measure(numbers, targets=targets, **OPTIONS)


def test_a_store_of_numbers_gives_the_figures_of_arrays(seedproof, store, in_memory):
    code, out, err = seedproof(
        "measure", store, "--tolerance", "0.5", "--threshold", "20", "--json"
    )

    assert code == 0, err
    summary, other = json.loads(out), in_memory.summary()
    assert summary["metrics"] == other["metrics"]
    assert (summary["repeats"], other["repeats"]) == ("seeds", "runs")
    assert (summary["n_runs"], summary["n_examples"]) == (N_RUNS, N_EXAMPLES)


def test_page_of_a_store_speaks_of_seeds(seedproof, store, tmp_path):
    code, out, err = seedproof("measure", store, "--out", tmp_path / "report")

    assert code == 0, err
    assert "6 seeds" in out
    assert (tmp_path / "report" / "report.html").is_file()


@pytest.mark.parametrize("engine", ["processes", *(["ray"] if FULL else [])])
def test_engines_give_the_same_bytes(store, engine):
    here = sp.measure(store, **OPTIONS)
    there = sp.measure(store, engine=engine, workers=2, **OPTIONS)

    assert there.to_json() == here.to_json()
    assert there.examples.equals(here.examples)


def test_predictions_of_a_store_are_described(store):
    loaded = sp.Predictions.from_store(store, thresholds=20)

    assert (loaded.kind, loaded.repeats, loaded.classes) == ("numbers", "seeds", ())
    assert loaded.n_labeled == N_EXAMPLES - len(range(0, N_EXAMPLES, 7))
    assert loaded.source.settings.thresholds == (20.0,)
    assert loaded.first(3).runs == ("0", "1", "2")


def write(place, values, *, targets=None, ids=None):
    """Write one run per row of values."""

    def log(run: sp.Run) -> None:
        index = int(run.name)
        chosen = slice(None) if ids is None else ids[index]
        known = None if targets is None else targets[index]
        run.log_predictions("test", values=values[index], targets=known, ids=chosen)

    sp.Study("few", log, seeds=len(values), store=place).run(engine="serial")
    return place


def test_runs_with_different_targets_are_refused(tmp_path):
    ids = [[1, 2], [1, 2]]
    store = write(tmp_path, [[1.0, 2.0], [1.5, 2.5]], targets=[[1, 2], [1, 3]], ids=ids)

    with pytest.raises(LabelConflictError):
        sp.measure(store)


def test_common_examples_of_runs_are_measured_on_request(tmp_path):
    ids = [[1, 2, 3], [3, 1, 4]]
    store = write(tmp_path, [[1.0, 2.0, 3.0], [3.5, 1.5, 4.0]], targets=ids, ids=ids)

    with pytest.raises(MissingExampleError):
        sp.measure(store)
    report = sp.measure(store, common_examples=True, tolerance=0.1)
    assert report.measurement.n_examples == 2
    assert report["mean"].value == pytest.approx((1 + 3 + 1.5 + 3.5) / 4)
    assert report["beyond_tolerance"].value == 1.0
    assert report["bias"].value == pytest.approx(0.25)


def test_runs_of_a_store_may_be_trials(store):
    report = sp.measure(store, trials=True)

    assert report.summary()["repeats"] == "trials"
    assert report["mean"].over == "examples"
