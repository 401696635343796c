import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import ColumnError, RunError, UnknownNameError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof_reproductions.conll2019.recipe import complete, study, train
from seedproof_reproductions.conll2019.results import collect
from seedproof_reproductions.conll2019.settings import Setting

SETTING = Setting(epochs=1, n_train=40, n_dev=20, n_test=20)


def reproduce(store, setting=SETTING, arms=("none", "aswa")):
    """Two seeds, one after the other."""
    trained = study(setting, store=store, seeds=2, arms=arms)
    return complete(trained, setting, engine="serial", progress=False)


@pytest.fixture
def store(made_sst, tmp_path):
    """A finished study of two arms and two seeds."""
    del made_sst
    reproduce(tmp_path / "runs")
    return tmp_path / "runs"


def test_a_setting_decides_the_runs(tmp_path):
    """Another setting has other runs; more seeds include the first. Processes find the target."""
    plans = [
        {run.run_id for run in study(setting, store=tmp_path, seeds=seeds).planned()}
        for setting, seeds in ((SETTING, 2), (SETTING, 3), (Setting(), 2))
    ]

    assert plans[0] < plans[1]
    assert not plans[0] & plans[2]
    assert pickle.loads(pickle.dumps(train)) is train  # noqa: S301 - our own
    with pytest.raises(UnknownNameError):
        study(SETTING, store=tmp_path / "runs", arms=("none", "awsa"))


def test_a_run_keeps_predictions_attention_scalars_and_weights(store):
    """Everything that the results need is in the store."""
    runs = Store(Location.of(store)).runs

    assert len(runs) == 4
    for run in runs:
        assert set(run.scalars) == {
            "dev_auc", "test_accuracy", "test_loss", "train_loss", "train_loss_last_epoch",
            "epoch_chosen", "n_train", "n_dev", "forward_passes", "seconds",
        }  # fmt: skip
        assert run.scalars["epoch_chosen"] == 1
        # An epoch of train and dev, then train and test once more.
        assert run.scalars["forward_passes"] == 40 + 20 + 40 + 20
        kinds = {tuple(part.path.split("/")[:2]) for part in run.parts}
        assert kinds == {("predictions", "test"), ("explanations", "test")}
        assert list((store / "runs" / run.run_id).glob("checkpoints/*/chosen.pt"))


def test_data_is_checked_before_any_run_and_only_if_one_is_missing(store, data_folder, tmp_path):
    """A damaged file is reported once, and no store is begun; finished runs need no data."""
    (data_folder / "sst" / "sst_dataset.csv").write_text("text\na\n", encoding="utf-8")

    with pytest.raises(ColumnError):
        reproduce(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert reproduce(store) == collect(store)


@pytest.mark.usefixtures("made_sst")
def test_a_run_that_fails_is_an_error(tmp_path):
    """Vectors of another size fail in every run."""
    with pytest.raises(RunError):
        reproduce(tmp_path / "runs", replace(SETTING, n_dimensions=50))


def test_results_are_those_of_measure_and_compare(store):
    """To six digits: figures of predictions and attention, effects, scalars, sizes and pairs."""
    results = collect(store)

    assert results["sizes"] == {"train": 40, "dev": 20, "test": 20}
    compared = sp.compare(store).arm("aswa")
    for arm, kept in results["arms"].items():
        report = sp.measure(store, arm=arm)
        attention = report.measurement.explanations["attention"]
        for figures, oracle in (
            (kept["metrics"], report.measurement.metrics),
            (kept["explanations"]["attention"]["metrics"], attention.metrics),
        ):
            assert list(figures) == list(oracle)
            for name, (value, *interval) in figures.items():
                assert value == pytest.approx(oracle[name].value, rel=1e-5)
                assert len(interval) == (0 if oracle[name].low is None else 2)
        accuracy = kept["scalars"]["test_accuracy"]
        assert sum(accuracy) / 2 == pytest.approx(report["accuracy"].value, rel=1e-5)
        assert (kept["runs"], kept["n_runs"], kept["of_all"]) == (["0", "1"], 2, None)
        assert sum(kept["sd_curve"]["count"]) == 20
        assert kept["explanations"]["attention"]["noise"] is None
        curves = kept["explanations"]["attention"]["curves"]
        assert (curves["classes"], sum(curves["counts"][0])) == (["positive"], 20)
        probs = Store(Location.of(store)).shards(arm=arm, split="test").shard(0).probs
        shares = (probs.argmax(-1) == 1).mean(-1).tolist()
        assert kept["drift"] == {"class": "positive", "shares": pytest.approx(shares)}
    none, aswa = results["arms"].values()
    assert (none["effects"], none["is_paired"], aswa["is_paired"]) == ({}, False, True)
    assert list(aswa["explanations"]["attention"]["effects"]) == list(
        compared.explanations["attention"]
    )
    assert list(aswa["effects"]) == list(compared.effects)
    for name, effect in compared.effects.items():
        kept = aswa["effects"][name]
        assert (kept["scale"], kept["verdict"]) == (effect.scale, effect.verdict)
        assert kept["low"] == (None if effect.low is None else pytest.approx(effect.low, rel=1e-5))
    assert results["rivals"] is None


def test_sizes_that_were_not_logged_come_from_the_data(store):
    """Old runs had no such scalars; the made file has 120, 40 and 40, and parts are drawn."""
    for path in Path(store).glob("runs/*/run.json"):
        run = RunManifest.load(Location.of(path.parent))
        kept = {name: value for name, value in run.scalars.items() if not name.startswith("n_")}
        path.unlink()
        replace(run, scalars=kept).commit(Location.of(path.parent))

    assert collect(store)["sizes"] == {"train": 40, "dev": 20, "test": 20}


def test_matched_results_are_those_of_thresholds_moved_by_hand(store):
    """As `sp.measure` and `sp.compare` have them."""
    arms, moved = collect(store)["arms"], {}
    for arm in arms:
        shard = Store(Location.of(store)).shards(arm=arm, split="test").shard(0)
        probs, labels = shard.probs[..., 1], shard.labels
        count = int((probs > 0.5).sum() / 2 + 0.5)
        predictions = np.zeros(probs.shape, dtype=int)
        for row, of_run in zip(predictions, probs, strict=True):
            row[sorted(range(20), key=lambda i, of_run=of_run: -of_run[i])[:count]] = 1
        moved[arm], kept = sp.measure(predictions, labels=labels), arms[arm]["matched"]
        assert kept["share"] == count / 20
        for name in ("accuracy", "accuracy_sd", "flip_rate"):
            assert kept["metrics"][name][0] == pytest.approx(moved[arm][name].value, rel=1e-5)
    oracle = sp.compare(moved).effect("aswa", "accuracy")
    value = arms["aswa"]["matched"]["effects"]["accuracy"]["value"]
    assert value == pytest.approx(oracle.value, rel=1e-5, abs=1e-9)
    assert arms["none"]["matched"]["effects"] == {}


def test_one_arm_has_figures_without_effects(made_sst, tmp_path):
    """There is nothing to compare it with."""
    del made_sst
    aswa = reproduce(tmp_path / "runs", arms=("aswa",))["arms"]["aswa"]

    assert aswa["effects"] == aswa["explanations"]["attention"]["effects"] == {}
    assert aswa["matched"] is None
