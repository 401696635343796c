import numpy as np
import pytest

from seedproof.errors import OptionError
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof_reproductions.conll2019.explaining import Explaining, arms_to_explain, explain_study
from seedproof_reproductions.conll2019.recipe import complete, study
from seedproof_reproductions.conll2019.settings import Setting

SETTING = Setting(epochs=2, n_train=40, n_dev=20, n_test=20)


def explained(source, store, seeds=2):
    """The study that explains another, with few samples."""
    explaining = Explaining(str(source), n_lime=5, n_samples=30)
    return explain_study(SETTING, explaining, store=store, seeds=seeds, arms=("none",))


@pytest.mark.usefixtures("made_sst")
def test_explained_models_are_those_that_predicted(tmp_path):
    """Predictions are equal; gradients sum to 1; LIME explains some examples, with two draws."""
    source, place = tmp_path / "runs", tmp_path / "explained"
    study(SETTING, store=source, seeds=2, arms=("none",)).run("serial", progress=False)
    results = complete(explained(source, place), SETTING, engine="serial", follow=None)

    before, after = (Store(Location.of(path)) for path in (source, place))
    np.testing.assert_array_equal(
        *(records.shards(arm="none", split="test").shard(0).probs for records in (before, after))
    )
    gradient, lime = (
        open_explanations(after, arm="none", split="test", method=method).shard(0)
        for method in ("gradient", "lime")
    )
    assert len(gradient) == 20
    # Records hold single precision.
    np.testing.assert_allclose(gradient.scores.sum(axis=1), 20, rtol=1e-5)
    assert lime.n_draws.tolist() == [2] * 5
    assert results["name"] == f"{SETTING.name}-explained"
    assert results["explaining"] == {"n_lime": 5, "n_samples": 30, "n_draws": 2}
    methods = results["arms"]["none"]["explanations"]
    assert methods["gradient"]["noise"] is None
    assert methods["lime"]["noise"]["explanation_kl"][0] > 0
    # The third seed was never trained; records are never changed.
    status = explained(source, place, seeds=3).run("serial", progress=False)
    assert [run.spec.name for run in status.failed] == ["2"]
    with pytest.raises(OptionError):
        explained(source, source)


def test_only_none_and_naswa_are_explained_if_both_were_trained():
    """LIME is slow, so other arms are left out."""
    assert arms_to_explain(("none", "aswa", "naswa", "ema")) == ("none", "naswa")
    assert arms_to_explain(("none", "aswa")) == ("none", "aswa")
