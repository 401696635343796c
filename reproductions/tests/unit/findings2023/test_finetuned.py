"""The encoder trained with a head: the real MiniLM on a few made requests."""

from dataclasses import replace

import pytest
import torch

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.data import prepare
from seedproof_reproductions.findings2023.fitting import Cost, fit
from seedproof_reproductions.findings2023.gold import train_on_gold
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import (
    gold_training,
    soft_targets,
    taught_labels,
)

SETTING = Setting("massive", "finetune", epochs=2, batch_size=8, n_train=15, n_test=15)
pytestmark = pytest.mark.full


@pytest.fixture
def prepared(made_massive):
    """Fifteen requests to train on, and as many to test on."""
    del made_massive
    return prepare(SETTING)


def test_prediction_does_not_depend_on_the_batch(prepared):
    """Utterances of equal length are attended together, and returned in their order."""
    model = fit(prepared, CONTROL, replace(SETTING, epochs=1), Sources.shared(0)).model

    together = model.predict(prepared.test.inputs)
    alone = torch.cat([model.predict(row[None]) for row in prepared.test.inputs])

    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_training_on_gold_labels_equals_that_of_each_arm(prepared):
    """Bit for bit, also from the cache; sources advance, global generators do not."""
    before, first, second = torch.get_rng_state(), Sources.shared(0), Sources.shared(0)
    gold = train_on_gold(prepared, SETTING, CONTROL, first, is_traced=True)

    for average in ("none", "swa", "ema"):
        own = fit(prepared, replace(CONTROL, average=average), SETTING, Sources.shared(0))
        assert torch.equal(gold.test[average], own.predict(prepared.test.inputs, average))
        assert torch.equal(gold.train[average], own.predict(prepared.train.inputs, average))
    assert torch.equal(torch.get_rng_state(), before)
    ema = replace(CONTROL, average="ema")
    again = train_on_gold(prepared, SETTING, ema, second, is_traced=True)
    assert first.state == second.state != Sources.shared(0).state
    assert again.costs == gold.costs
    for values, others in ((again.test, gold.test), (again.soft, gold.soft)):
        assert values.keys() == others.keys()
        assert all(torch.equal(values[name], others[name]) for name in others)
    assert torch.equal(again.traced, gold.traced)


def test_trainings_on_gold_labels_are_distinguished(prepared, tmp_path):
    """By randomness, setting and trace; what is the same is trained once."""

    def predicted(sources=0, *, is_traced=False, **changed):
        setting = replace(SETTING, epochs=1, **changed)
        given = prepared, setting, CONTROL, Sources.shared(sources)
        return train_on_gold(*given, is_traced=is_traced)

    first, *others = predicted(), predicted(1), predicted(batch_size=7), predicted(is_traced=True)

    assert not torch.equal(first.test["none"], others[0].test["none"])
    assert not torch.equal(first.test["none"], others[1].test["none"])
    assert torch.equal(first.test["none"], others[2].test["none"])
    assert (len(first.traced), len(others[2].traced)) == (0, 1)
    assert len([*tmp_path.rglob("gold-*.pt")]) == 4
    predicted()
    assert len([*tmp_path.rglob("gold-*.pt")]) == 4


@pytest.mark.parametrize("name", ["tgtss-every-10", "tgtss-free"])
def test_teacher_observed_with_others_gives_the_same_labels(prepared, name):
    """As a teacher trained for this arm only, and at the same cost."""
    soft, setting = ARMS[name].soft, replace(SETTING, epochs=5)

    gold = train_on_gold(prepared, setting, CONTROL, Sources.shared(0), is_traced=False)
    labels, total = gold.taught(soft)
    alone = Cost()
    sources = [Sources.shared(0)]
    own = taught_labels(prepared, setting, CONTROL, soft, sources=sources, cost=alone)

    assert torch.equal(labels, own)
    assert total == pytest.approx(alone.total)
    is_gold = torch.nn.functional.one_hot(prepared.train.labels, prepared.data.n_classes)
    assert not torch.equal(labels, is_gold.float())


def test_runs_share_a_teacher_and_the_ensemble_of_controls(prepared, make_run):
    """Labels are the same for all runs; a fresh teacher differs."""
    setting = replace(SETTING, epochs=1)
    arms = {name: ARMS[name] for name in ("tgtss-free", "tgtss-every-10-shared")}
    few = ARMS["ensemble-controls"]
    arms["ensemble-controls"] = replace(few, soft=replace(few.soft, n_teachers=2))

    def labels(arm, index, cost=None):
        return soft_targets(make_run(index), prepared, setting, arm, cost or Cost())

    is_shared = {name: torch.equal(labels(arm, 0), labels(arm, 1)) for name, arm in arms.items()}
    assert is_shared == {
        "tgtss-free": False, "tgtss-every-10-shared": True, "ensemble-controls": True,
    }  # fmt: skip
    controls = [gold_training(make_run(i), prepared, setting, CONTROL) for i in (0, 1)]
    mean = (controls[0].train["none"] + controls[1].train["none"]) / 2
    flat = mean**0.5 / (mean**0.5).sum(1, keepdim=True)
    cost = Cost()
    torch.testing.assert_close(labels(arms["ensemble-controls"], 3, cost), flat)
    of_teacher = controls[0].costs["training"] + 15 * controls[0].costs["serving"]
    assert cost.total == pytest.approx(2 * of_teacher)


def test_data_is_read_once_per_folder(prepared, data_folder, monkeypatch):
    """Another folder in the same process has other data."""
    other = data_folder.rename(data_folder.with_name("other"))
    monkeypatch.setenv("SEEDPROOF_DATA", str(other))

    second = prepare(SETTING)

    assert second is not prepared
    assert prepare(SETTING) is second
    assert second.train.utterances.texts == prepared.train.utterances.texts
