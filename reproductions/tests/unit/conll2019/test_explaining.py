import numpy as np
import pytest
import torch

from seedproof.errors import OptionError
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof_reproductions.conll2019.data import encode, prepare
from seedproof_reproductions.conll2019.explaining import (
    Explaining,
    arms_to_explain,
    explain_study,
    token_batch,
)
from seedproof_reproductions.conll2019.recipe import complete, study
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.texts import Texts

SETTING = Setting(epochs=2, n_train=40, n_dev=20, n_test=20)


@pytest.fixture
def source(made_sst, tmp_path):
    """A finished study of two seeds."""
    del made_sst
    place = tmp_path / "runs"
    study(SETTING, store=place, seeds=2, arms=("none",)).run("serial", progress=False)
    return place


def explained(source, store, seeds=2):
    """The study that explains it, with few samples."""
    explaining = Explaining(str(source), n_lime=5, n_samples=30)
    return explain_study(SETTING, explaining, store=store, seeds=seeds, arms=("none",))


def test_the_models_that_predicted_are_explained(source, tmp_path):
    """Same predictions; gradients of all examples that sum to 1, LIME of some, drawn twice."""
    place = tmp_path / "explained"
    options = {"engine": "serial", "progress": False, "follow": None}
    results = complete(explained(source, place), SETTING, **options)

    before, after = (Store(Location.of(path)) for path in (source, place))
    np.testing.assert_array_equal(
        *(records.shards(arm="none", split="test").shard(0).probs for records in (before, after))
    )
    gradient = open_explanations(after, arm="none", split="test", method="gradient").shard(0)
    assert len(gradient) == 20
    # Records hold single precision.
    np.testing.assert_allclose(gradient.scores.sum(axis=1), 20, rtol=1e-5)
    lime = open_explanations(after, arm="none", split="test", method="lime").shard(0)
    assert lime.n_draws.tolist() == [2] * 5
    assert results["name"] == f"{SETTING.name}-explained"
    assert results["explaining"] == {"n_lime": 5, "n_samples": 30, "n_draws": 2}
    methods = results["arms"]["none"]["explanations"]
    assert methods["gradient"]["noise"] is None
    assert methods["lime"]["noise"]["explanation_kl"][0] > 0
    # The second time nothing is made, and the same results come out.
    assert complete(explained(source, place), SETTING, **options) == results


@pytest.mark.parametrize(
    ("trained", "explained"),
    [
        (("none", "aswa", "naswa", "ema"), ("none", "naswa")),
        (("none", "aswa"), ("none", "aswa")),
        (("naswa",), ("naswa",)),
    ],
)
def test_the_papers_two_arms_are_explained_if_both_are_there(trained, explained):
    """LIME is slow, so that further arms are left out."""
    assert arms_to_explain(trained) == explained


def test_a_run_needs_a_model_wherever_the_models_are(source, tmp_path):
    """A store that was moved has the same runs; a seed that was never trained fails."""
    plans = [
        [run.run_id for run in explained(tmp_path / name, tmp_path / "x").planned()]
        for name in ("here", "there")
    ]
    status = explained(source, tmp_path / "more", seeds=3).run("serial", progress=False)

    assert plans[0] == plans[1]
    assert [run.spec.name for run in status.failed] == ["2"]
    with pytest.raises(OptionError):  # records are never changed
        explained(source, source)


@pytest.mark.usefixtures("made_sst")
def test_marks_are_not_words():
    """Each text has as many words as tokens; its mask has two marks more. Pairs are refused."""
    prepared = prepare(SETTING)

    batch = token_batch(prepared.test)

    lengths = torch.tensor([len(words) for words in prepared.test.texts.tokens])
    assert torch.equal(batch.is_word.sum(dim=1), lengths)
    assert torch.equal(batch.mask.sum(dim=1), lengths + 2)
    pair = Texts(np.arange(1), (("a",),), np.zeros(1, dtype=int), queries=(("b",),))
    with pytest.raises(OptionError):
        token_batch(encode(pair, prepared.vocabulary))
