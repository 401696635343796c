import pickle
from dataclasses import replace

import pytest
from seedproof_reproductions.conll2019.recipe import reproduce, study, train
from seedproof_reproductions.conll2019.settings import Setting

from seedproof.errors import RunError, SeedproofError, UnknownNameError
from seedproof.records.location import Location
from seedproof.records.reader import Store

SETTING = Setting(epochs=1, n_train=40, n_dev=20, n_test=20)


def test_the_training_travels_by_name():
    """Runs are made in fresh processes, which find the function by its name."""
    assert pickle.loads(pickle.dumps(train)) is train  # noqa: S301 - our own


def test_a_setting_decides_the_runs(tmp_path):
    """Another setting has other runs; another number of seeds shares those of the first."""
    plans = [
        {run.run_id for run in study(setting, store=tmp_path, seeds=seeds).planned()}
        for setting, seeds in ((SETTING, 2), (SETTING, 3), (Setting(), 2))
    ]

    assert plans[0] < plans[1]
    assert not plans[0] & plans[2]


def test_an_unknown_arm_is_refused_before_anything_is_made(tmp_path):
    """The message lists the stabilizers."""
    with pytest.raises(UnknownNameError, match="switch-ema"):
        study(SETTING, store=tmp_path / "runs", arms=("none", "awsa"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("made_sst")
def test_a_run_keeps_predictions_attention_and_scalars(tmp_path):
    """Everything that the results need is in the store, and the weights are beside it."""
    found = reproduce(
        SETTING,
        store=tmp_path / "runs",
        seeds=2,
        arms=("none", "aswa"),
        engine="serial",
        progress=False,
    )

    records = Store(Location.of(tmp_path / "runs"))
    assert len(records.runs) == 4
    for run in records.runs:
        assert set(run.scalars) == {
            "dev_auc",
            "test_accuracy",
            "test_loss",
            "train_loss",
            "train_loss_last_epoch",
            "epoch_chosen",
            "n_train",
            "n_dev",
            "forward_passes",
            "seconds",
        }
        assert run.scalars["epoch_chosen"] == 1
        assert (run.scalars["n_train"], run.scalars["n_dev"]) == (40, 20)
        # An epoch of train and dev, then train and test once more.
        assert run.scalars["forward_passes"] == 40 + 20 + 40 + 20
        kinds = {tuple(part.path.split("/")[:2]) for part in run.parts}
        assert kinds == {("predictions", "test"), ("explanations", "test")}
        assert list((tmp_path / "runs" / "runs" / run.run_id).glob("checkpoints/*/chosen.pt"))
    assert list(found["arms"]) == ["none", "aswa"]


def test_data_is_checked_before_any_run(data_folder, tmp_path):
    """A file that lacks its columns is told of once, and no store is begun."""
    (data_folder / "sst").mkdir()
    (data_folder / "sst" / "sst_dataset.csv").write_text("text\na\n", encoding="utf-8")

    with pytest.raises(SeedproofError, match="label"):
        reproduce(SETTING, store=tmp_path / "runs", seeds=2, engine="serial", progress=False)
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("made_sst")
def test_finished_runs_need_no_data(tmp_path, monkeypatch):
    """What is in the store is collected on a machine that has none."""
    asked = {"store": tmp_path / "runs", "seeds": 2, "arms": ("none",), "engine": "serial"}
    first = reproduce(SETTING, **asked, progress=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("SEEDPROOF_DATA", str(tmp_path / "empty"))

    assert reproduce(SETTING, **asked, progress=False) == first


@pytest.mark.usefixtures("made_sst")
def test_a_run_that_fails_is_an_error(tmp_path):
    """Vectors of another size fail in every run, and the message says where to look."""
    with pytest.raises(RunError, match=r"2 run\(s\) failed.*--tracebacks"):
        reproduce(
            replace(SETTING, n_dimensions=50),
            store=tmp_path / "runs",
            seeds=2,
            arms=("none",),
            engine="serial",
            progress=False,
        )
