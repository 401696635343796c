import pytest

import seedproof as sp
from seedproof.papers.conll2019.families import compared_arms, compared_rivals
from seedproof.papers.conll2019.recipe import study
from seedproof.papers.conll2019.settings import Setting

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
    """With EMA in the store, ASWA has the interval that it has without; EMA has that of all."""
    four, three = trained(ARMS), trained(ARMS[:3])

    found = compared_arms(four, ARMS, split="test")

    alone, together = sp.compare(three), sp.compare(four)
    assert set(found) == {"aswa", "naswa", "ema"}
    assert found["aswa"].effects["flip_rate"] == alone.effect("aswa", "flip_rate")
    assert found["ema"].effects["flip_rate"] == together.effect("ema", "flip_rate")
    assert found["aswa"].effects["accuracy"].high < together.effect("aswa", "accuracy").high
    assert found["naswa"].explanations["attention"] == alone.arm("naswa").explanations["attention"]


def test_the_papers_two_are_compared_with_each_other(trained):
    """NASWA against ASWA is one comparison, whatever else was trained."""
    place = trained(ARMS[:3])

    found = compared_rivals(place, ARMS[:3], split="test")

    oracle = sp.compare(place, baseline="aswa").arm("naswa")
    mine, theirs = (one.explanations["attention"]["explanation_kl"] for one in (found, oracle))
    assert mine.value == pytest.approx(theirs.value)
    assert mine.high / mine.low < theirs.high / theirs.low  # theirs is one of two
    assert compared_rivals(place, ("none", "aswa"), split="test") is None


def test_without_a_baseline_nothing_is_compared(tmp_path):
    """The store is not even opened."""
    assert compared_arms(tmp_path, ("aswa", "naswa"), split="test") == {}
