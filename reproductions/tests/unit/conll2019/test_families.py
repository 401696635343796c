import pytest

import seedproof as sp
from seedproof_reproductions.conll2019.families import compared_families, compared_rivals, open_arms
from seedproof_reproductions.conll2019.recipe import study
from seedproof_reproductions.conll2019.settings import Setting

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


def test_a_further_arm_does_not_widen_the_papers_intervals(trained):
    """With EMA in the store, ASWA has the interval that it has without, and that of all."""
    four, three = trained(ARMS), trained(ARMS[:3])

    families = compared_families(open_arms(four, ARMS, split="test"))

    separate, together = sp.compare(three), sp.compare(four)
    alone, of_all = families.alone, families.of_all
    assert set(alone) == set(ARMS)
    assert alone["none"].effects == {}
    assert alone["aswa"].effects["flip_rate"] == separate.effect("aswa", "flip_rate")
    assert alone["ema"].effects["flip_rate"] == together.effect("ema", "flip_rate")
    assert (
        alone["naswa"].explanations["attention"] == separate.arm("naswa").explanations["attention"]
    )
    assert set(of_all) == {"aswa", "naswa"}
    assert dict(of_all["aswa"].effects) == dict(together.arm("aswa").effects)
    assert alone["aswa"].effects["accuracy"].high < of_all["aswa"].effects["accuracy"].high


def test_the_papers_arms_are_compared_with_each_other(trained):
    """NASWA against ASWA is one comparison; without a further arm there is no second reading."""
    place = trained(ARMS[:3])
    sides = open_arms(place, ARMS[:3], split="test")

    families, rivals = compared_families(sides), compared_rivals(sides)

    assert (set(families.alone), families.of_all) == (set(ARMS[:3]), {})
    oracle = sp.compare(place, baseline="aswa").arm("naswa")
    ours, theirs = (arm.explanations["attention"]["explanation_kl"] for arm in (rivals, oracle))
    assert ours.value == pytest.approx(theirs.value)
    assert ours.high / ours.low < theirs.high / theirs.low  # theirs is one of two
    assert compared_rivals(sides[:2]) is None


@pytest.mark.parametrize("arms", [("aswa", "naswa"), ("none",)])
def test_without_a_baseline_and_another_arm_nothing_is_compared(tmp_path, arms):
    """The store is not even opened."""
    families = compared_families(open_arms(tmp_path, arms, split="test"))
    assert families.alone == families.of_all == {}
