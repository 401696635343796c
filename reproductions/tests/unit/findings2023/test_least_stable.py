import numpy as np
import pytest
from scipy.stats import entropy
from seedproof_reproductions.findings2023.least_stable import cross_fitted, entropies_over, high_in

from seedproof.comparison.arms.least_sure import LeastSure
from seedproof.metrics.batch import Batch
from seedproof.testing.dynamics_simulation import DynamicsSimulation

# Both ways to halve eight runs leave two of each answer in every half.
SPLIT = [0, 0, 1, 1, 0, 0, 1, 1]
# Every other run, and the second half, have one of four that differs; the rest agrees.
LAST = [0, 0, 0, 0, 0, 0, 0, 1]
SURE = [0] * 8


def runs(*examples):
    """What runs predict, given the answers to each example."""
    return np.array(examples).T


def two_arms(rng, *, n_runs=20, n_examples=400, apart=0.0, noise=(1.0, 1.0)):
    """Control and arm; how hard an example is differs between them as far as they are `apart`."""
    common = rng.normal(1.0, 1.5, n_examples)
    found = []
    for scale in noise:
        margin = common + apart * rng.normal(size=n_examples)
        luck = 0.2 * rng.normal(size=(n_runs, 1)) + scale * rng.normal(size=(n_runs, n_examples))
        found.append((margin + luck < 0).astype(np.int64))
    return found


def test_entropies_are_those_of_counts():
    """Of all runs, and of those that are left without each of them."""
    predictions = runs(SPLIT, LAST, SURE)

    found = entropies_over(predictions)

    assert found.values == pytest.approx([np.log(2), entropy([7, 1]), 0.0])
    for run_idx in range(8):
        left = np.delete(predictions, run_idx, axis=0)
        counts = [np.unique(column, return_counts=True)[1] for column in left.T]
        assert found.without[run_idx] == pytest.approx([entropy(one) for one in counts])
    assert entropies_over(predictions[:2]).without is None


def test_high_is_above_75_to_25():
    """Six of eight to two have 0.562, seven to one 0.377."""
    six = [0, 0, 0, 0, 0, 0, 1, 1]

    assert high_in(runs(SPLIT, six, LAST, SURE)).tolist() == [True, True, False, False]


def test_examples_are_measured_on_runs_that_did_not_choose_them():
    """By hand: the example is chosen in all four ways, and half of them see one answer of four."""
    found = cross_fitted(runs(SPLIT, SURE), runs(LAST, SURE), is_paired=True)

    assert found.value == pytest.approx(entropy([3, 1]) * 2 / (np.log(2) * 4))
    assert found.low < found.value < found.high


def test_who_is_not_paired_is_measured_on_all_runs():
    """By hand: the arm's eight runs, drawn four at a time: half of the draws have the last one."""
    found = cross_fitted(runs(SPLIT, SURE), runs(LAST, SURE), is_paired=False)

    assert found.value == pytest.approx(entropy([3, 1]) / 2 / np.log(2))


def test_the_arm_may_choose_as_well():
    """The halves that see the last run choose the example; the other halves agree on it."""
    found = cross_fitted(runs(SPLIT, SURE), runs(LAST, SURE), is_paired=True, by_arm=True)

    assert found.value == 0.0


@pytest.mark.parametrize("is_paired", [True, False])
def test_the_value_is_that_of_compare(is_paired):
    """Whose reduction has no interval."""
    control, arm = two_arms(np.random.default_rng(0), noise=(1.0, 0.6))
    arm = arm if is_paired else arm[:13]
    oracle = LeastSure(len(control), len(arm), tuple(range(len(arm))) if is_paired else None)
    oracle.update(Batch(control, n_classes=2), Batch(arm, n_classes=2))

    found = cross_fitted(control, arm, is_paired=is_paired)

    assert found.value == pytest.approx(1 - oracle.result().reduction)
    assert found.verdict == "steadier"


@pytest.mark.parametrize("n_runs", [3, 8])
def test_nothing_is_said_where_nothing_is_chosen(n_runs):
    """Fewer than four runs cannot be halved; steady ones have no high entropy."""
    steady = np.zeros((n_runs, 5), dtype=np.int64)

    assert cross_fitted(steady, steady, is_paired=True) is None


def test_four_runs_have_no_interval_over_runs():
    """A half of two has no run to leave out."""
    found = cross_fitted(runs(SPLIT[1:5]), runs(SPLIT[1:5]), is_paired=True)

    assert found.verdict == "too few runs"


def test_arms_alike_show_no_cut_unlike_the_published_way():
    """Chosen and measured on the same ten runs, they seem to be cut by a tenth."""
    rng = np.random.default_rng(1)
    naive, fitted = [], []
    for _ in range(20):
        control, arm = two_arms(rng, n_runs=10)
        high = high_in(control)
        naive.append(
            entropies_over(arm).values[high].sum() / entropies_over(control).values[high].sum()
        )
        fitted.append(cross_fitted(control, arm, is_paired=True).value)

    assert np.mean(naive) < 0.92
    assert np.mean(fitted) == pytest.approx(1.0, abs=0.02)


def test_whoever_chooses_seems_less_steady():
    """Two arms that are equally steady, but not on the same examples."""
    rng = np.random.default_rng(2)
    by_control, by_arm = [], []
    for _ in range(10):
        control, arm = two_arms(rng, apart=0.8)
        by_control.append(cross_fitted(control, arm, is_paired=True).value)
        by_arm.append(cross_fitted(control, arm, is_paired=True, by_arm=True).value)

    assert np.mean(by_control) < 0.9
    assert np.mean(by_arm) == pytest.approx(1 / np.mean(by_control), rel=0.1)


def test_intervals_cover_the_truth():
    """Arms of one kind have the ratio 1: at least 91 of 100 intervals must say so."""
    simulation = DynamicsSimulation(n_runs=32, n_examples=250, run_sd=0.3)
    rng = np.random.default_rng(3)
    n_covered = 0
    for _ in range(100):
        _, predictions = simulation.make_runs(32, rng)
        found = cross_fitted(predictions[:20], predictions[20:], is_paired=False)
        n_covered += found.low <= 1.0 <= found.high

    assert n_covered >= 91  # 95 expected, with an sd of 2
