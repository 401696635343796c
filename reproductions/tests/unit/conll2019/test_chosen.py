import shutil

import numpy as np
import pytest
from seedproof_reproductions.conll2019.chosen import load_chosen
from seedproof_reproductions.conll2019.data import prepare
from seedproof_reproductions.conll2019.recipe import study
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.training import evaluate

from seedproof.errors import NotFoundError
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.testing.trainings import one_thread

SETTING = Setting(epochs=2, n_train=40, n_dev=20, n_test=20)


@pytest.fixture
def store(made_sst, tmp_path):
    """A finished study of two arms and two seeds."""
    del made_sst
    study(SETTING, store=tmp_path / "runs", seeds=2, arms=("none", "aswa")).run(
        "serial", progress=False
    )
    return tmp_path / "runs"


def test_the_chosen_model_is_the_one_that_predicted(store):
    """It gives the recorded probabilities again, in every arm and under every seed."""
    prepared = prepare(SETTING)
    records = Store(Location.of(store))

    for arm in ("none", "aswa"):
        runs = [run for run in records.runs if run.arm == arm]
        recorded = records.shards(arm=arm, split="test").shard(0).probs
        for place, run in enumerate(runs):
            with one_thread():
                again = evaluate(load_chosen(store, run, prepared), prepared.test).probs
            # Records hold probabilities in single precision, as the model gives them.
            np.testing.assert_allclose(again, recorded[place], atol=1e-6)


def test_weights_that_are_gone_are_told(store):
    """Records alone cannot bring them back."""
    run = Store(Location.of(store)).runs[0]
    shutil.rmtree(store / "runs" / run.run_id / "checkpoints")

    with pytest.raises(NotFoundError, match="weights of run '0'"):
        load_chosen(store, run, prepare(SETTING))
