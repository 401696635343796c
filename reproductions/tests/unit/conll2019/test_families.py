import pytest
from seedproof_reproductions.conll2019.families import compared_families, compared_rivals, open_arms
from seedproof_reproductions.conll2019.recipe import study
from seedproof_reproductions.conll2019.settings import Setting

import seedproof as sp

# Small batches, for NASWA must have steps to leave out.
SETTING = Setting(epochs=1, batch_size=4, n_train=60, n_dev=20, n_test=20)
ARMS = ("none", "aswa", "naswa", "ema")


@pytest.fixture
def trained(made_sst, tmp_path):
    """A finished study of some arms, three seeds each."""
    del made_sst

    def train(arms):
        place = tmp_path / "-".join(arms)
        study(SETTING, store=place, seeds=3, arms=arms).run("serial", progress=False)
        return place

    return train


def families(place, arms):
    """What each arm changes, by both readings."""
    return compared_families(open_arms(place, arms, split="test"))


def test_a_further_arm_does_not_widen_the_papers_intervals(trained):
    """With EMA in the store, ASWA has the interval that it has without, and that of all beside."""
    four, three = trained(ARMS), trained(ARMS[:3])

    found = families(four, ARMS)

    alone, together = sp.compare(three), sp.compare(four)
    asked = found.asked
    assert set(asked) == set(ARMS)
    assert asked["none"].effects == {}
    assert asked["aswa"].effects["flip_rate"] == alone.effect("aswa", "flip_rate")
    assert asked["ema"].effects["flip_rate"] == together.effect("ema", "flip_rate")
    assert asked["naswa"].explanations["attention"] == alone.arm("naswa").explanations["attention"]
    assert set(found.of_all) == {"aswa", "naswa"}
    assert dict(found.of_all["aswa"].effects) == dict(together.arm("aswa").effects)
    assert asked["aswa"].effects["accuracy"].high < found.of_all["aswa"].effects["accuracy"].high


def test_the_papers_arms_alone_are_compared_once(trained):
    """There is no further arm, and no second reading."""
    found = families(trained(ARMS[:3]), ARMS[:3])

    assert set(found.asked) == set(ARMS[:3])
    assert found.of_all == {}


def test_the_papers_two_are_compared_with_each_other(trained):
    """NASWA against ASWA is one comparison, whatever else was trained."""
    place = trained(ARMS[:3])

    sides = open_arms(place, ARMS[:3], split="test")
    found = compared_rivals(sides)

    oracle = sp.compare(place, baseline="aswa").arm("naswa")
    mine, theirs = (one.explanations["attention"]["explanation_kl"] for one in (found, oracle))
    assert mine.value == pytest.approx(theirs.value)
    assert mine.high / mine.low < theirs.high / theirs.low  # theirs is one of two
    assert compared_rivals(sides[:2]) is None


def test_without_a_baseline_nothing_is_compared(tmp_path):
    """The store is not even opened."""
    for arms in (("aswa", "naswa"), ("none",)):
        found = families(tmp_path, arms)
        assert found.asked == found.of_all == {}
