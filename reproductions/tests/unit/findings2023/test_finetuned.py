"""The encoder trained with a head: the real MiniLM on a few made requests."""

from dataclasses import replace

import pytest
import torch

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.data import prepare
from seedproof_reproductions.findings2023.fitting import Cost, fit
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import taught_labels, train_on_gold

SETTING = Setting("massive", "finetune", epochs=2, batch_size=8, n_train=15, n_test=15)
pytestmark = pytest.mark.full


@pytest.fixture
def prepared(made_massive):
    """Fifteen requests to train on, and as many to test on."""
    del made_massive
    return prepare(SETTING)


def test_prediction_does_not_depend_on_the_batch(prepared):
    """Utterances are batched by length with padding, and returned in their order."""
    model = fit(prepared, CONTROL, replace(SETTING, epochs=1), Sources.shared(0)).model

    together = model.predict(prepared.test.inputs)
    alone = torch.cat([model.predict(row[None]) for row in prepared.test.inputs])

    torch.testing.assert_close(together, alone, atol=0.01, rtol=0.01)


def test_shared_training_on_gold_labels_equals_that_of_each_arm(prepared):
    """Bit for bit; a second arm reuses it; sources advance, global generators do not."""
    before, first, second = torch.get_rng_state(), Sources.shared(0), Sources.shared(0)
    gold = train_on_gold(prepared, SETTING, CONTROL, first)

    for average in ("none", "swa", "ema"):
        arm = replace(CONTROL, average=average)
        own = fit(prepared, arm, SETTING, Sources.shared(0))
        assert torch.equal(*(t.predict(prepared.test.inputs, average) for t in (gold.trained, own)))
    assert train_on_gold(prepared, SETTING, replace(CONTROL, average="ema"), second) is gold
    assert first.state == second.state != Sources.shared(0).state
    other = train_on_gold(prepared, SETTING, CONTROL, Sources.shared(1))
    probs, other_probs = (g.trained.predict(prepared.test.inputs, "none") for g in (gold, other))
    assert not torch.equal(probs, other_probs)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["tgtss-every-10", "tgtss-free"])
def test_teacher_observed_with_others_gives_the_same_labels(prepared, name):
    """As a teacher trained for this arm only, and at the same cost."""
    soft, setting = ARMS[name].soft, replace(SETTING, epochs=5)

    labels, cost = train_on_gold(prepared, setting, CONTROL, Sources.shared(0)).soft[soft]
    alone = Cost()
    sources = [Sources.shared(0)]
    own = taught_labels(prepared, setting, CONTROL, soft, sources=sources, cost=alone)

    assert torch.equal(labels, own)
    assert cost.total == pytest.approx(alone.total)
    gold = torch.nn.functional.one_hot(prepared.train.labels, prepared.data.n_classes)
    assert not torch.equal(labels, gold.float())


def test_data_is_read_once_per_folder(prepared, data_folder, monkeypatch):
    """Another folder in the same process has other data."""
    other = data_folder.rename(data_folder.with_name("other"))
    monkeypatch.setenv("SEEDPROOF_DATA", str(other))

    second = prepare(SETTING)

    assert second is not prepared
    assert prepare(SETTING) is second
    assert second.train.utterances.texts == prepared.train.utterances.texts
