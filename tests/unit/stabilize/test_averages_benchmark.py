"""The benchmark of averages trains, resumes, prints, and predicts the warnings of `finish`."""

import runpy
import warnings
from pathlib import Path

import pytest
import torch

from seedproof.stabilize import AverageWarning
from seedproof.testing.errors import warning_codes
from seedproof.testing.trainings import one_thread

pytest.importorskip("sklearn")
PATH = Path(__file__).parents[3] / "benchmarks" / "averages.py"


@pytest.fixture(scope="module")
def benchmark():
    return runpy.run_path(str(PATH))


@pytest.fixture(autouse=True)
def _keep_generators():
    with torch.random.fork_rng(devices=[]), one_thread():
        yield


def test_stored_results_fulfil_the_promise(benchmark):
    """On the models with batch norm no preset loses more than 2 points without a note."""
    outcomes = benchmark["load"](benchmark["OUT"])
    losses = [
        training
        for training, outcome in outcomes.items()
        if training.normalized
        and training.average != "none"
        and benchmark["usual_mode"](training)
        and outcome.accuracy - outcomes[training.raw].accuracy < -benchmark["LOSS"]
    ]

    silent = [
        training
        for training in losses
        if not benchmark["is_unfinished"](training, outcomes[training])
        and not benchmark["has_doubtful_statistics"](training)
    ]

    assert len(losses) > 50
    assert silent == []


@pytest.mark.parametrize(("average", "mode"), [("none", None), ("aswa", "copy"), ("ema", None)])
def test_finished_trainings_are_stored_and_read(benchmark, average, mode, tmp_path):
    """Two epochs of 120 images, the same again with the same seed."""
    training = benchmark["Training"]("mlp", average != "ema", 2, 0, average, mode)
    outcome = benchmark["train"](training, 120)

    benchmark["save"](tmp_path / "some.json", {training: outcome})

    assert benchmark["train"](training, 120) == outcome
    (read,) = benchmark["load"](tmp_path / "some.json").items()
    assert read[0] == training
    assert read[1].accuracy == pytest.approx(outcome.accuracy, abs=1e-4)
    assert (outcome.moved > 0.0) == (average != "none")


def test_tables_name_every_average(benchmark, capsys):
    benchmark["print_tables"](benchmark["load"](benchmark["OUT"]))

    lines = capsys.readouterr().out.splitlines()
    assert all(sum(f"`{name}`" in line for line in lines) == 2 for name in benchmark["AVERAGES"])
    assert len([line for line in lines if line.startswith("with")]) == 4


@pytest.mark.parametrize("average", ["aswa", "aswa-code"])
def test_predicted_warnings_are_those_of_finish(benchmark, average, monkeypatch):
    """Tables derive them from stored shares."""
    caught = []
    training = benchmark["Training"]("mlp", True, 2, 0, average)  # noqa: FBT003 - a value
    finish = benchmark["stabilize"].WeightAverage.finish

    def recorded(self, *arguments):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", AverageWarning)
            finish(self, *arguments)
        caught.extend(warning_codes(seen))

    monkeypatch.setattr(benchmark["stabilize"].WeightAverage, "finish", recorded)

    outcome = benchmark["train"](training, 120)

    assert ("unfinished-average" in caught) == benchmark["is_unfinished"](training, outcome)
    doubtful = benchmark["has_doubtful_statistics"](training)
    assert ("averaged-batch-norm" in caught) == doubtful == (average == "aswa-code")
