import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from seedproof_reproductions.conll2019.recipe import reproduce
from seedproof_reproductions.conll2019.results import (
    accuracy_table,
    collect,
    explanation_table,
    stored_results,
)
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.keeping import as_text, write_results

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
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
    """Those of `sp.measure`, and curves over ten bins that hold every example."""
    found = collect(store)["arms"]["aswa"]["explanations"]["attention"]

    oracle = sp.measure(store, arm="aswa").measurement.explanations["attention"]
    assert list(found["metrics"]) == list(oracle.metrics)
    for name, (value, *_) in found["metrics"].items():
        assert value == pytest.approx(oracle.metrics[name].value, rel=1e-5)
    assert found["noise"] is None
    assert found["curves"]["classes"] == ["positive"]
    assert sum(found["curves"]["counts"][0]) == 20
    for kind in ("means", "errors"):
        assert len(found["curves"][kind]["explanation_kl"][0]) == 10


def test_results_have_the_effects_of_compare(store):
    """Against none, of predictions and of attention, with interval and verdict."""
    found = collect(store)

    oracle = sp.compare(store).arm("aswa")
    aswa = found["arms"]["aswa"]
    assert found["arms"]["none"]["effects"] == {}
    assert list(aswa["effects"]) == list(oracle.effects)
    assert list(aswa["explanations"]["attention"]["effects"]) == list(
        oracle.explanations["attention"]
    )
    for name, effect in oracle.effects.items():
        kept = aswa["effects"][name]
        assert (kept["scale"], kept["verdict"]) == (effect.scale, effect.verdict)
        assert kept["low"] == (None if effect.low is None else pytest.approx(effect.low, rel=1e-5))
    assert found["rivals"] is None


def test_results_have_runs_pairs_and_sizes(store):
    """Two seeds that both arms share; 40 examples to train on, 20 to choose by, 20 to test on."""
    found = collect(store)

    assert found["sizes"] == {"train": 40, "dev": 20, "test": 20}
    assert [arm["n_runs"] for arm in found["arms"].values()] == [2, 2]
    assert [arm["is_paired"] for arm in found["arms"].values()] == [False, True]
    assert found["arms"]["aswa"]["of_all"] is None


def test_sizes_that_runs_did_not_log_come_from_the_data(store):
    """Runs of before had no such scalars; the made file has 120, 40 and 40, and parts are drawn."""
    for path in Path(store).glob("runs/*/run.json"):
        run = RunManifest.load(Location.of(path.parent))
        kept = {name: value for name, value in run.scalars.items() if not name.startswith("n_")}
        path.unlink()
        replace(run, scalars=kept).commit(Location.of(path.parent))

    assert collect(store)["sizes"] == {"train": 40, "dev": 20, "test": 20}


def test_results_have_what_is_left_with_the_same_share(store):
    """As `sp.measure` and `sp.compare` say of answers whose thresholds were moved by hand."""
    found = collect(store)["arms"]

    moved, labels = {}, None
    for arm in ("none", "aswa"):
        shard = Store(Location.of(store)).shards(arm=arm, split="test").shard(0)
        probs, labels = shard.probs[..., 1], shard.labels
        count = int((probs > 0.5).sum() / 2 + 0.5)
        moved[arm] = np.zeros(probs.shape, dtype=int)
        for answers, of_run in zip(moved[arm], probs, strict=True):
            answers[sorted(range(20), key=lambda i, of_run=of_run: -of_run[i])[:count]] = 1
        report, kept = sp.measure(moved[arm], labels=labels), found[arm]["matched"]
        assert kept["share"] == count / 20
        for name in ("accuracy", "accuracy_sd", "flip_rate"):
            assert kept["metrics"][name][0] == pytest.approx(report[name].value, rel=1e-5)
    reports = {arm: sp.measure(answers, labels=labels) for arm, answers in moved.items()}
    oracle = sp.compare(reports).effect("aswa", "accuracy")
    assert found["aswa"]["matched"]["effects"]["accuracy"]["value"] == pytest.approx(
        oracle.value, rel=1e-5, abs=1e-9
    )
    assert found["none"]["matched"]["effects"] == {}


def test_results_of_another_version_are_refused(store, tmp_path):
    """The message names the file, and what to do."""
    write_results(collect(store) | {"format": 1}, tmp_path / "results")

    with pytest.raises(OptionError, match=r"json has the format 1 .* Make it again"):
        stored_results(tmp_path / "results")


def test_one_arm_has_figures_without_effects(made_sst, tmp_path):
    """There is nothing to compare it with."""
    del made_sst
    found = reproduce(
        SETTING,
        store=tmp_path / "runs",
        seeds=2,
        arms=("aswa",),
        engine="serial",
        progress=False,
    )

    assert found["arms"]["aswa"]["effects"] == {}
    assert found["arms"]["aswa"]["explanations"]["attention"]["effects"] == {}
    assert found["arms"]["aswa"]["matched"] is None


def test_the_drift_is_that_of_the_second_class(store):
    """The share of "positive" among the predictions of each run, and that of no other."""
    found = collect(store)["arms"]["none"]["drift"]

    probs = Store(Location.of(store)).shards(arm="none", split="test").shard(0).probs
    assert found["class"] == "positive"
    assert found["shares"] == pytest.approx((probs.argmax(-1) == 1).mean(-1).tolist())


def test_the_file_is_small_and_says_the_same(store, tmp_path):
    """A line for each list and effect, some kilobytes, and the same bytes each time."""
    found = collect(store)

    path = write_results(found, tmp_path / "results")

    text = path.read_text(encoding="utf-8")
    assert path.name == f"{SETTING.name}.json"
    assert json.loads(text) == found
    assert stored_results(tmp_path / "results") == [found]
    assert path.stat().st_size < 20_000
    assert as_text(collect(store)) == text
    assert '"runs": ["0", "1"],' in text
    assert any(
        line.strip().startswith('"flip_rate": {"scale": "ratio"') for line in text.splitlines()
    )


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
    setting = {"dataset": "sst", "encoder": "cnn", "attention": "additive"}
    arms = {"none": {"metrics": metrics}, "ema": {"metrics": metrics}}

    assert accuracy_table({"setting": setting, "arms": arms}) == [
        ("none", "83.6 ±1.22", "82.0 ±1.01"),
        ("ema", "83.6 ±1.22", "–"),
    ]
    # Dot attention is in none of the paper's tables.
    assert accuracy_table({"setting": setting | {"attention": "dot"}, "arms": arms})[0] == (
        "none",
        "83.6 ±1.22",
        "–",
    )


def test_top_words_are_beside_the_noise_of_the_explainer():
    """A method that was drawn once has no noise to be shown."""
    once = {"metrics": {"explanation_jaccard_20": [0.351, 0.3, 0.4]}, "noise": None}
    twice = {
        "metrics": {"explanation_jaccard_20": [0.5]},
        "noise": {"explanation_jaccard_20": [0.2, 0.1, 0.3]},
    }
    results = {"arms": {"none": {"explanations": {"gradient": once, "lime": twice}}}}

    assert explanation_table(results) == [
        ("none", "gradient", "35.1 % [30.0, 40.0]", "–"),
        ("none", "lime", "50.0 %", "20.0 % [10.0, 30.0]"),
    ]


def test_what_comes_with_the_package_can_be_shown():
    """Each stored file has the name of its setting, and a table."""
    for found in stored_results():
        given = {name: value for name, value in found["setting"].items() if name != "min_count"}
        assert found["name"].removesuffix("-explained") == Setting(**given).name
        assert accuracy_table(found)
