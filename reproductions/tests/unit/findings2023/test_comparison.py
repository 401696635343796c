from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import entropy

import seedproof as sp
from seedproof.comparison.arms.compare import compare_arms
from seedproof.comparison.arms.high_entropy import HighEntropySums
from seedproof.comparison.arms.judge import judge_each
from seedproof.metrics.batch import Batch
from seedproof.records.location import Location
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.findings2023.comparison import (
    compare_once,
    cross_fitted,
    entropies_over,
    high_in,
)
from seedproof_reproductions.runs import arms_of

# Both ways to halve eight runs leave two of each answer in every half.
SPLIT = [0, 0, 1, 1, 0, 0, 1, 1]
# Every other run, and the second half, have one of four that differs; the rest agrees.
LAST = [0, 0, 0, 0, 0, 0, 0, 1]
SURE = [0] * 8


@pytest.fixture
def sides(tmp_path):
    """Five runs of two arms and four of a third; 40 examples of three classes."""

    def train(run):
        if (run.arm, run.name) == ("b", "4"):
            raise RuntimeError(run.arm)
        probs = run.rng("data").dirichlet([4.0 if run.arm == "a" else 1.0, 0.5, 0.5], size=40)
        run.log_predictions("test", probs=probs, labels=[0, 1] * 20)

    study = sp.Study("made", train, seeds=5, arms=("none", "a", "b"), store=tmp_path / "store")
    study.run("serial", progress=False)
    return arms_of(tmp_path / "store", baseline="none", split="test")


def test_one_pass_compares_each_arm_alone_and_among_all(sides, tmp_path):
    """The effects are bit-identical to those of two comparisons, for paired and unpaired runs."""
    figures = compare_once(sides)

    oracle = judge_each(compare_arms(sides, Location.of(tmp_path)).arms, PLAIN.divided(2))
    for side, arm in zip(sides[1:], oracle, strict=True):
        arms = compare_arms([sides[0], side], Location.of(tmp_path)).arms
        alone = judge_each(arms, PLAIN)[0]
        compared = figures[side.name]
        assert {n: asdict(e) for n, e in compared.effects.items()} == {
            n: asdict(e) for n, e in alone.effects.items()
        }
        assert compared.high_entropy == alone.high_entropy
        assert dict(compared.of_all) == dict(arm.effects)
        assert compared.metrics == arm.measurement.metrics
    for some in (sides, sides[:1]):
        first = compare_once(some)["none"]
        assert first.effects == first.of_all == {}
        assert first.metrics["accuracy"].value > 0


def runs(*examples):
    """Predictions of runs, given those of each example."""
    return np.array(examples).T


def two_arms(rng, n_runs=20, n_examples=400):
    """Control and arm; the arm has less noise."""
    common = rng.normal(1.0, 1.5, n_examples)
    arms = []
    for scale in (1.0, 0.6):
        luck = 0.2 * rng.normal(size=(n_runs, 1)) + scale * rng.normal(size=(n_runs, n_examples))
        arms.append((common + luck < 0).astype(np.int64))
    return arms


def test_entropies_follow_from_counts():
    """Of all runs, and of all runs but one; high is above the entropy of 75 to 25."""
    six = [0, 0, 0, 0, 0, 0, 1, 1]
    predictions = runs(SPLIT, six, LAST, SURE)

    entropies = entropies_over(predictions)

    for votes, values in [
        (predictions, entropies.values),
        *((np.delete(predictions, i, axis=0), entropies.without[i]) for i in range(8)),
    ]:
        counts = [np.unique(column, return_counts=True)[1] for column in votes.T]
        assert values == pytest.approx([entropy(of_example) for of_example in counts])
    assert entropies_over(predictions[:2]).without is None
    assert high_in(predictions).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # The example is chosen in all four ways, and half of them see one answer of four.
        ({"is_paired": True}, entropy([3, 1]) * 2 / (np.log(2) * 4)),
        # The arm's eight runs, drawn four at a time: half of the draws have the last one.
        ({"is_paired": False}, entropy([3, 1]) / 2 / np.log(2)),
        # The halves that see the last run choose the example; the other halves agree on it.
        ({"is_paired": True, "by_arm": True}, 0.0),
    ],
)
def test_examples_are_measured_on_runs_that_did_not_select_them(options, expected):
    """Computed by hand."""
    effect = cross_fitted(runs(SPLIT, SURE), runs(LAST, SURE), **options)

    assert effect.value == pytest.approx(expected)


@pytest.mark.parametrize("is_paired", [True, False])
def test_value_equals_that_of_compare(is_paired):
    """The reduction of `compare` has no interval."""
    control, arm = two_arms(np.random.default_rng(0))
    arm = arm if is_paired else arm[:13]
    oracle = HighEntropySums(len(control), len(arm), tuple(range(len(arm))) if is_paired else None)
    oracle.update(Batch(control, n_classes=2), Batch(arm, n_classes=2))

    effect = cross_fitted(control, arm, is_paired=is_paired)

    assert effect.value == pytest.approx(1 - oracle.result().reduction)
    assert effect.low < effect.value < effect.high < 1
    # Three runs cannot be halved; a half of two has no run to leave out.
    assert cross_fitted(control[:3], arm[:3], is_paired=is_paired) is None
    few = cross_fitted(control[:4], arm[:4], is_paired=is_paired)
    assert few.verdict == "too few runs"


def test_intervals_cover_the_truth():
    """Arms of one kind have the ratio 1: at least 91 of 100 intervals must include it."""
    rng = np.random.default_rng(3)
    n_covered = 0
    for _ in range(100):
        margin = np.where(rng.random(250) < 0.5, 5.0, rng.normal(1.5, 1.5, 250))
        final = margin + 0.3 * rng.normal(size=(32, 1)) + 1.2 * rng.normal(size=(32, 250))
        predictions = np.where(final > 0, 0, 1 + (final < -2))
        effect = cross_fitted(predictions[:20], predictions[20:], is_paired=False)
        n_covered += effect.low <= 1.0 <= effect.high

    assert n_covered >= 91  # 95 expected, with an sd of 2
