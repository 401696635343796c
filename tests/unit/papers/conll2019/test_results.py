import json

import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.measurement.explanations import measure_explanations
from seedproof.papers.conll2019.recipe import reproduce
from seedproof.papers.conll2019.results import (
    accuracy_table,
    as_text,
    collect,
    stored_results,
    write_results,
)
from seedproof.papers.conll2019.settings import Setting
from seedproof.records.location import Location
from seedproof.records.reader import Store

SETTING = Setting(epochs=1, n_train=40, n_dev=20, n_test=20)


@pytest.fixture
def store(made_sst, tmp_path):
    """A finished study of two arms and two seeds."""
    del made_sst
    place = tmp_path / "runs"
    reproduce(SETTING, store=place, seeds=2, arms=("none", "aswa"), engine="serial", progress=False)
    return place


def test_results_are_the_measures_and_scalars_of_the_store(store):
    """Each figure is that of `sp.measure`, to six digits; each scalar that of its run."""
    found = collect(store)

    assert found["setting"]["n_train"] == 40
    assert found["n_examples"] == 20
    for arm in ("none", "aswa"):
        report = sp.measure(store, arm=arm)
        metrics = found["arms"][arm]["metrics"]
        assert list(metrics) == list(report)
        for name, (value, *interval) in metrics.items():
            assert value == pytest.approx(report[name].value, rel=1e-5)
            assert len(interval) == (0 if report[name].low is None else 2)
        accuracy = found["arms"][arm]["scalars"]["test_accuracy"]
        assert sum(accuracy) / 2 == pytest.approx(report["accuracy"].value, rel=1e-5)
        assert found["arms"][arm]["runs"] == ["0", "1"]
        assert sum(found["arms"][arm]["sd_curve"]["count"]) == 20


def test_results_have_the_figures_of_attention(store):
    """Those of `measure_explanations`, and curves over ten bins that hold every example."""
    found = collect(store)["arms"]["aswa"]["explanations"]["attention"]

    oracle = measure_explanations(
        Store(Location.of(store)), arm="aswa", split="test", method="attention"
    )
    assert list(found["metrics"]) == list(oracle.metrics)
    for name, (value, *_) in found["metrics"].items():
        assert value == pytest.approx(oracle.metrics[name].value, rel=1e-5)
    assert found["noise"] is None
    assert found["curves"]["classes"] == ["positive"]
    assert sum(found["curves"]["counts"][0]) == 20
    assert len(found["curves"]["explanation_kl"][0]) == 10


def test_the_file_is_small_and_says_the_same(store, tmp_path):
    """A line for each list, a few kilobytes, and the same bytes each time."""
    found = collect(store)

    path = write_results(found, tmp_path / "results")

    assert path.name == f"{SETTING.name}.json"
    assert json.loads(path.read_text(encoding="utf-8")) == found
    assert path.stat().st_size < 10_000
    assert as_text(collect(store)) == path.read_text(encoding="utf-8")
    assert '"runs": ["0", "1"],' in path.read_text(encoding="utf-8")


def test_another_study_is_refused(tmp_path):
    """What was trained otherwise is no reproduction."""

    def train(run):
        run.log_predictions("test", predictions=[0, 1])

    study = sp.Study("other", train, seeds=2, store=tmp_path / "runs")
    study.run("serial", progress=False)

    with pytest.raises(OptionError, match="no study of this recipe"):
        collect(tmp_path / "runs")


def test_the_table_puts_both_side_by_side():
    """Ours in percent beside the paper's; an arm that it did not have has a dash."""
    metrics = {"accuracy": [0.8361, 0.8, 0.9], "accuracy_sd": [0.0122]}
    results = {
        "setting": {"dataset": "sst", "encoder": "cnn"},
        "arms": {"none": {"metrics": metrics}, "ema": {"metrics": metrics}},
    }

    assert accuracy_table(results) == [
        ("none", "83.6 ±1.22", "82.0 ±1.01"),
        ("ema", "83.6 ±1.22", "–"),
    ]


def test_what_comes_with_the_package_can_be_shown():
    """Each stored file has the name of its setting, and a table."""
    for found in stored_results():
        given = {name: value for name, value in found["setting"].items() if name != "min_count"}
        assert found["name"].removesuffix("-explained") == Setting(**given).name
        assert accuracy_table(found)
