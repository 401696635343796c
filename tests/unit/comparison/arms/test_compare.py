"""The pass over all arms."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.errors import OptionError
from seedproof.measurement.measure import measure_shards
from seedproof.metrics.flips import flip_rate
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields

SEEDS = tuple("0123456789")


def probs_of(rng, logits, *, n_runs=10, noise=1.0):
    """Runs that share the examples' logits."""
    noisy = logits + noise * rng.standard_normal((n_runs, *logits.shape))
    raised = np.exp(noisy)
    return raised / raised.sum(axis=2, keepdims=True)


@pytest.fixture
def study():
    """Logits and labels of 300 examples of three classes."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((300, 3))
    return rng, logits, logits.argmax(axis=1)


def arms_of(study, *, rows_per_shard=None, n_other=10, seeds=SEEDS):
    """A baseline and a steadier arm."""
    rng, logits, labels = study
    sources = [
        ArrayShards(probs_of(rng, logits), labels=labels),
        ArrayShards(probs_of(rng, logits, n_runs=n_other, noise=0.3), labels=labels),
    ]
    if rows_per_shard is not None:
        sources[0].rows_per_shard = rows_per_shard
    return [ArmData("none", sources[0], SEEDS), ArmData("calm", sources[1], seeds)]


def test_each_arm_has_the_figures_of_measuring_it_alone(study, tmp_path):
    """To the last bit, if all arms have the same number of runs; only classes are left out."""
    arms = arms_of(study)

    comparison = compare_arms(arms, Location.of(tmp_path))

    for given, arm in zip(arms, (comparison.baseline, *comparison.arms), strict=True):
        alone = measure_shards(given.source, Location.of(tmp_path / "alone.parquet"))
        assert arm.measurement.to_json() == replace(alone, by_class=()).to_json()
        assert arm.measurement.examples().equals(alone.examples())


def test_interval_of_a_ratio_is_the_closed_form(study, tmp_path):
    """Recomputed from dense arrays: seeds left out of both arms, examples as differences."""
    arms = arms_of(study)
    result = compare_arms(arms, Location.of(tmp_path)).arms[0].effects["flip_rate"]

    whole, without = [], []
    for arm in arms:
        predictions = arm.source.shard(0).probs.argmax(axis=2)
        agreement = (predictions[:, None] == predictions[None]).sum(axis=1)
        values = flip_rate(agreement)
        whole.append(values.values)
        without.append(values.without / values.without_denominator)
    means = [values.mean() for values in whole]
    left_out = np.log(without[1].mean(axis=1)) - np.log(without[0].mean(axis=1))
    runs = 9 * left_out.var()
    n = len(whole[0])
    difference = whole[1] / means[1] - whole[0] / means[0]
    examples = difference.var() / (n - 1)
    left_differences = without[1] / means[1] - without[0] / means[0]
    interaction = 9 * left_differences.var(axis=0).sum() / n**2
    # Student's quantile of 9 and the normal one, at 98.75 %: accuracy has the other half.
    half_width = np.sqrt(2.6850108468**2 * runs + 2.2414027276**2 * max(examples - interaction, 0))
    ratio = means[1] / means[0]

    assert result.value == pytest.approx(ratio, rel=1e-12)
    assert result.low == pytest.approx(ratio * np.exp(-half_width), rel=1e-9)
    assert result.high == pytest.approx(ratio * np.exp(half_width), rel=1e-9)
    assert (result.verdict, result.over) == ("steadier", "runs × examples")


def test_shards_do_not_change_the_result(study, tmp_path):
    """Sums of floats may differ in their last digits."""
    whole = compare_arms(arms_of(study), Location.of(tmp_path))
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((300, 3))
    again = (rng, logits, logits.argmax(axis=1))

    cut = compare_arms(arms_of(again, rows_per_shard=64), Location.of(tmp_path))

    assert np.array_equal(whole.arms[0].votes, cut.arms[0].votes)
    assert whole.arms[0].settled.equals(cut.arms[0].settled)
    for name, effect in whole.arms[0].effects.items():
        other = cut.arms[0].effects[name]
        assert other.verdict == effect.verdict
        if effect.value is not None:
            assert other.value == pytest.approx(effect.value, rel=1e-9)
        if effect.low is not None:
            assert other.low == pytest.approx(effect.low, rel=1e-7)


def test_votes_are_counted_by_share_before_and_after(study, tmp_path):
    """Each example is in one cell; rows are the arm, columns the baseline."""
    comparison = compare_arms(arms_of(study), Location.of(tmp_path))
    votes = comparison.arms[0].votes

    agreed = [
        (arm.measurement.examples()["consensus_share"].to_numpy() == 1.0)
        for arm in (comparison.baseline, comparison.arms[0])
    ]
    assert votes.sum() == 300
    assert votes[:, 0].sum() == agreed[0].sum()
    assert votes[0].sum() == agreed[1].sum()
    assert votes[0, 0] == (agreed[0] & agreed[1]).sum()


def test_settled_examples_are_those_whose_flips_fall_most(study, tmp_path):
    """Ten of them, with the votes of both arms."""
    comparison = compare_arms(arms_of(study), Location.of(tmp_path))
    rates = [
        arm.measurement.examples()["flip_rate"].to_numpy()
        for arm in (comparison.baseline, comparison.arms[0])
    ]
    settled = comparison.arms[0].settled

    assert len(settled) == 10
    assert settled["change"].to_pylist() == sorted(rates[1] - rates[0])[:10]
    first = settled.to_pylist()[0]
    assert rates[1][first["example"]] - rates[0][first["example"]] == first["change"]
    counts = [int(part[part.rindex("(") + 1 : -1]) for part in first["votes_before"].split(", ")]
    assert sum(counts) == 10


def test_unequal_numbers_of_runs_are_not_paired_and_their_entropies_rarefied(study, tmp_path):
    """Fourteen runs show more entropy than ten by their number alone."""
    rng, logits, labels = study
    arms = [
        ArmData("ten", ArrayShards(probs_of(rng, logits), labels=labels), SEEDS),
        ArmData("fourteen", ArrayShards(probs_of(rng, logits, n_runs=14), labels=labels)),
    ]

    arm = compare_arms(arms, Location.of(tmp_path)).arms[0]

    assert not arm.is_paired
    assert arm.effects["label_entropy"].verdict == "no difference shown"
    assert arm.measurement.metrics["label_entropy"].value > 0
    assert abs(arm.effects["label_entropy"].value - 1) < 0.12  # 300 examples, one population


def test_shares_of_the_reference_are_ratios_of_gains(study, tmp_path):
    """The reference arm itself has a share of 1."""
    rng, logits, labels = study
    arms = arms_of(study)
    arms.append(
        ArmData("half", ArrayShards(probs_of(rng, logits, noise=0.6), labels=labels), SEEDS)
    )

    comparison = compare_arms(arms, Location.of(tmp_path), reference="calm")

    gains = {arm.name: 1 - arm.effects["label_entropy"].value for arm in comparison.arms}
    assert comparison.arm("calm").share_of_gold == 1.0
    assert comparison.arm("half").share_of_gold == pytest.approx(gains["half"] / gains["calm"])


def test_reference_arm_without_a_gain_gives_no_shares(study, tmp_path):
    """They would be noise."""
    rng, logits, labels = study
    arms = [
        ArmData(name, ArrayShards(probs_of(rng, logits), labels=labels), SEEDS)
        for name in ("none", "best", "other")
    ]

    comparison = compare_arms(arms, Location.of(tmp_path), reference="best")

    assert [arm.share_of_gold for arm in comparison.arms] == [None, None]


@pytest.mark.parametrize("reference", ["none", "missing"])
def test_unknown_reference_arm_is_refused(study, tmp_path, reference):
    """And so is the baseline."""
    with pytest.raises(OptionError, check=WithFields(gold=reference, known=("calm",))):
        compare_arms(arms_of(study), Location.of(tmp_path), reference=reference)


def test_one_arm_alone_is_refused(study, tmp_path):
    """A comparison needs two arms."""
    with pytest.raises(OptionError, check=WithFields(n_arms=1)):
        compare_arms(arms_of(study)[:1], Location.of(tmp_path))


def test_examples_of_equal_change_are_listed_by_id(tmp_path):
    """The first ten, in one shard or in two."""
    before = np.tile(np.arange(100) % 2, (4, 1))
    after = before.copy()
    after[0] = 1 - after[0]

    for rows_per_shard in (100, 50):
        sources = [ArrayShards(before), ArrayShards(after)]
        sources[0].rows_per_shard = rows_per_shard
        arms = [ArmData("none", sources[0]), ArmData("shaken", sources[1])]
        kept = compare_arms(arms, Location.of(tmp_path)).arms[0].unsettled
        assert kept["example"].to_pylist() == list(range(10))
