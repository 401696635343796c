import numpy as np
import pytest
import torch
from seedproof_reproductions.conll2019.data import encode, prepare
from seedproof_reproductions.conll2019.explaining import (
    Explaining,
    arms_to_explain,
    explain_study,
    token_batch,
)
from seedproof_reproductions.conll2019.recipe import made, study
from seedproof_reproductions.conll2019.results import collect
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.texts import Texts

from seedproof.errors import OptionError
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.location import Location
from seedproof.records.reader import Store

SETTING = Setting(epochs=2, n_train=40, n_dev=20, n_test=20)


@pytest.fixture
def source(made_sst, tmp_path):
    """A finished study of two seeds."""
    del made_sst
    place = tmp_path / "runs"
    study(SETTING, store=place, seeds=2, arms=("none",)).run("serial", progress=False)
    return place


def explained(source, store):
    """The study that explains it, with few samples."""
    how = Explaining(str(source), n_lime=5, n_samples=30)
    return explain_study(SETTING, how, store=store, seeds=2, arms=("none",))


def test_the_models_that_predicted_are_explained(source, tmp_path):
    """Same predictions; gradients of all examples that sum to 1, LIME of some, drawn twice."""
    place = tmp_path / "explained"
    status = explained(source, place).run("serial", progress=False)

    assert status.is_done, status
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
    results = collect(place)
    assert results["name"] == f"{SETTING.name}-explained"
    found = results["arms"]["none"]["explanations"]
    assert found["gradient"]["noise"] is None
    assert found["lime"]["noise"]["explanation_kl"][0] > 0
    assert results["explaining"] == {"n_lime": 5, "n_samples": 30, "n_draws": 2}


def test_explaining_goes_on_and_collects(source, tmp_path):
    """The second time nothing is made, and the same results come out."""
    how = Explaining(str(source), n_lime=5, n_samples=30)

    found = [
        made(
            explain_study(SETTING, how, store=tmp_path / "explained", seeds=2, arms=("none",)),
            SETTING,
            engine="serial",
            progress=False,
        )
        for _ in range(2)
    ]

    assert found[0] == found[1]
    assert set(found[0]["arms"]["none"]["explanations"]) == {"gradient", "lime"}


@pytest.mark.parametrize(
    ("trained", "explained"),
    [
        (("none", "aswa", "naswa", "ema"), ("none", "naswa")),
        (("none", "aswa"), ("none", "aswa")),
        (("naswa",), ("naswa",)),
    ],
)
def test_the_papers_two_are_explained_if_both_are_there(trained, explained):
    """LIME is slow, so that further arms are left out."""
    assert arms_to_explain(trained) == explained


def test_where_the_models_lie_makes_no_difference(tmp_path):
    """A store that was moved has the same runs."""
    plans = [
        [run.run_id for run in explained(tmp_path / name, tmp_path / "x").planned()]
        for name in ("here", "there")
    ]

    assert plans[0] == plans[1]


def test_a_run_without_a_model_is_told(source, tmp_path):
    """A seed that was never trained has nothing to explain."""
    how = Explaining(str(source), n_lime=5, n_samples=30)
    more = explain_study(SETTING, how, store=tmp_path / "more", seeds=3, arms=("none",))

    status = more.run("serial", progress=False)

    assert [run.spec.name for run in status.failed] == ["2"]


def test_records_are_never_changed(source):
    """The store of the models is refused as a place for explanations."""
    with pytest.raises(OptionError, match="store of their own"):
        explained(source, source)


def test_marks_are_no_words(source):
    """Each text has as many words as tokens; its mask has the two marks as well."""
    del source
    prepared = prepare(SETTING)

    batch = token_batch(prepared.test)

    lengths = torch.tensor([len(words) for words in prepared.test.texts.tokens])
    assert torch.equal(batch.is_word.sum(dim=1), lengths)
    assert torch.equal(batch.mask.sum(dim=1), lengths + 2)


def test_pairs_of_texts_are_refused(source):
    """Their explainers would have to leave the second text alone."""
    del source
    pair = Texts(np.arange(1), (("a",),), np.zeros(1, dtype=int), queries=(("b",),))

    with pytest.raises(OptionError, match="Pairs"):
        token_batch(encode(pair, prepare(SETTING).vocabulary))
