import pytest

import seedproof as sp
from seedproof.comparison.arms.judge import judge_each
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.conll2019.families import compared_families, compared_rivals
from seedproof_reproductions.conll2019.recipe import study
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.runs import arms_of

# Small batches, for NASWA must have steps to leave out.
SETTING = Setting(epochs=1, batch_size=4, n_train=60, n_dev=20, n_test=20)
ARMS = ("none", "aswa", "naswa", "ema")


def _each(report, arm):
    """An arm of a comparison with every metric judged alone."""
    compared = report.comparison
    return judge_each([compared.arm(arm)], PLAIN.divided(len(compared.arms)))[0]


@pytest.mark.usefixtures("made_sst")
def test_another_arm_does_not_widen_the_intervals_of_the_papers_arms(tmp_path):
    """ASWA has the same interval with EMA in the store, and a wider one over all arms."""
    three, four = tmp_path / "three", tmp_path / "four"
    for place, arms in ((three, ARMS[:3]), (four, ARMS)):
        study(SETTING, store=place, seeds=3, arms=arms).run("serial", progress=False)
    sides = arms_of(three, baseline="none", split="test")

    families = compared_families(arms_of(four, baseline="none", split="test"))
    without, rivals = compared_families(sides), compared_rivals(sides)

    separate, together = sp.compare(three), sp.compare(four)
    alone, of_all = families.alone, families.of_all
    assert set(alone) == set(ARMS)
    assert alone["none"].effects == {}
    assert alone["aswa"].effects["flip_rate"] == _each(separate, "aswa").effects["flip_rate"]
    assert alone["ema"].effects["flip_rate"] == _each(together, "ema").effects["flip_rate"]
    expected = _each(separate, "naswa").explanations["attention"]
    assert alone["naswa"].explanations["attention"] == expected
    assert set(of_all) == {"aswa", "naswa"}
    assert dict(of_all["aswa"].effects) == dict(_each(together, "aswa").effects)
    assert alone["aswa"].effects["accuracy"].high < of_all["aswa"].effects["accuracy"].high
    assert (set(without.alone), without.of_all) == (set(ARMS[:3]), {})
    # NASWA against ASWA is one comparison, where `compare` makes one of two.
    oracle = sp.compare(three, baseline="aswa").arm("naswa")
    kl, kl_of_two = (arm.explanations["attention"]["explanation_kl"] for arm in (rivals, oracle))
    assert kl.value == pytest.approx(kl_of_two.value)
    assert kl.high / kl.low < kl_of_two.high / kl_of_two.low
    assert compared_rivals(sides[:2]) is None
    for few in (sides[:1], []):
        assert compared_families(few) == compared_families(few, match_rates=True) == ({}, {})
