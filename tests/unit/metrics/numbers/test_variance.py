"""Parts of the variance against slow analyses of variance, for all runs and with one left out."""

import numpy as np
import pytest

from seedproof.metrics.block_statistic import VarianceShare
from seedproof.metrics.calibration import blocks_of
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.moments import Moments
from seedproof.metrics.numbers.variance import Variances, parts_of
from seedproof.metrics.statistic import ValueOnly
from seedproof.records.answer_settings import AnswerSettings, Levels
from seedproof.stats.intervals import estimate

PLAIN = AnswerSettings()


def slow_parts(numbers):
    """Return the parts of runs, examples and the rest by the textbook's analysis of variance."""
    n_runs, n_examples = numbers.shape
    mean, of_runs, of_examples = numbers.mean(), numbers.mean(axis=1), numbers.mean(axis=0)
    between_runs = n_examples * sum((x - mean) ** 2 for x in of_runs) / (n_runs - 1)
    between_examples = n_runs * sum((x - mean) ** 2 for x in of_examples) / (n_examples - 1)
    rest = 0.0
    for run in range(n_runs):
        for example in range(n_examples):
            gap = numbers[run, example] - of_runs[run] - of_examples[example] + mean
            rest += gap**2 / ((n_runs - 1) * (n_examples - 1))
    return {
        "variance_run": (between_runs - rest) / n_examples,
        "variance_example": (between_examples - rest) / n_runs,
        "variance_residual": rest,
    }


def nested(numbers, codes):
    """Return the numbers of trials by run, as a list of arrays (trials, examples)."""
    runs, _ = codes
    return [numbers[np.flatnonzero(np.array(runs) == run)] for run in dict.fromkeys(runs)]


def slow_levels(numbers, codes):
    """Return the parts of runs and of trials in them, with loops over units."""
    runs = nested(numbers, codes)
    n_examples = numbers.shape[1]
    several = [run for run in runs if len(run) > 1]
    trial_means = np.mean([np.var(run.mean(axis=1), ddof=1) for run in several])
    residual = np.mean([slow_parts(run)["variance_residual"] for run in several])
    trial = trial_means - residual / n_examples
    share = np.mean([1 / len(run) for run in runs])
    outer = slow_parts(np.array([run.mean(axis=0) for run in runs]))
    return {
        "variance_run": outer["variance_run"] - share * trial,
        "variance_run_example": outer["variance_residual"] - share * residual,
        "variance_trial": trial,
        "variance_example": outer["variance_example"],
        "variance_residual": residual,
    }


def parts(numbers, blocks, settings=PLAIN):
    """Return the parts of numbers that are added in two pieces."""
    tree = Tree.of(settings, len(numbers))
    moments, cut = Moments.empty(tree.n_units), numbers.shape[1] // 3
    for rows in (slice(0, cut), slice(cut, None)):
        if len(blocks[rows]):
            moments += Moments.of(tree.numbers(numbers[:, rows]), blocks[rows])
    return parts_of(moments.left_out(), tree)


def check(numbers, blocks):
    """Compare all parts with those of a slow loop, and with each run and block left out."""
    filled, sizes = np.unique(blocks), np.bincount(blocks)
    scale = 1e-9 * np.ptp(numbers) ** 2 + 1e-7 * np.spacing(np.abs(numbers).max())
    given = parts(numbers, blocks)
    runs, of_runs = np.arange(len(numbers)), numbers.mean(axis=1).var(ddof=1)
    for row, run in enumerate([None, *runs][: len(given[0].square)]):
        for column, block in enumerate([None, *filled]):
            if block is not None and numbers.shape[1] - sizes[block] < 2:
                continue
            rest = numbers[runs != run][:, blocks != block]
            expected = slow_parts(rest)
            # The variance of the means of runs is never that without one of them.
            expected["variance_run"] = of_runs - expected["variance_residual"] / rest.shape[1]
            for part in given:
                actual = part.variance[row, column]
                assert actual == pytest.approx(expected[part.name], rel=1e-6, abs=scale)


def test_parts_are_those_of_the_textbook():
    for seed in range(500):
        rng = np.random.default_rng(seed)
        shape = rng.integers(2, 7), rng.integers(3, 7)
        numbers = (
            rng.normal(size=shape) + rng.normal(size=(shape[0], 1)) + rng.normal(size=shape[1])
        )
        numbers = numbers * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3])
        blocks = rng.integers(0, 3, shape[1])
        check(numbers, blocks)


def test_parts_of_trials_in_runs_are_those_of_a_loop():
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n_trials = rng.integers(1, 4, rng.integers(2, 7))
        n_trials[:2] = 2  # so that a run with several trials is left if another is left out
        runs = np.repeat(np.arange(len(n_trials)), n_trials)
        trials = np.concatenate([np.arange(n) for n in n_trials])
        order = rng.permutation(len(runs))
        codes = tuple(runs[order].tolist()), tuple(trials[order].tolist())
        numbers = rng.normal(size=(len(runs), 5)) + rng.normal(size=5)
        settings = AnswerSettings(levels=Levels(("run", "trial"), codes))

        given = parts(numbers, rng.integers(0, 2, 5), settings)

        expected = slow_levels(numbers, codes)
        assert [part.name for part in given] == list(expected)
        for part in given:
            assert part.variance[0, 0] == pytest.approx(expected[part.name], rel=1e-9, abs=1e-12)


def study(n_runs=8, n_examples=400, *, run=0.5, example=2.0, noise=1.0, seed=0):
    """Return numbers with parts of known size."""
    rng = np.random.default_rng(seed)
    numbers = run * rng.normal(size=(n_runs, 1)) + example * rng.normal(size=n_examples)
    return numbers + noise * rng.normal(size=(n_runs, n_examples))


def shares(numbers, settings=PLAIN, n_runs=None):
    family = Variances(n_runs or len(numbers), settings)
    blocks = blocks_of(np.arange(numbers.shape[1]))
    family.update(NumberBatch(numbers, blocks=blocks, tree=family.tree))
    return family.result()


def test_shares_add_up_and_are_near_the_truth():
    given = {name: estimate(share) for name, share in shares(study(n_runs=40)).items()}

    assert sum(share.value for share in given.values()) == pytest.approx(1.0)
    total = 0.25 + 4.0 + 1.0
    for name, variance in (("run", 0.25), ("example", 4.0), ("residual", 1.0)):
        share = given[f"variance_{name}"]
        assert share.low < variance / total < share.high
        assert share.over == "runs × examples"


def test_a_negative_part_is_cut_at_zero():
    numbers = study(run=0.0)
    numbers -= 0.5 * (numbers.mean(axis=1, keepdims=True) - numbers.mean())

    share = estimate(shares(numbers)["variance_run"])

    assert (share.value, share.low) == (0.0, 0.0)
    assert 0.0 < share.high < 0.05


@pytest.mark.parametrize("n_runs", [5, 12])
def test_a_share_has_a_width_or_no_interval(n_runs):
    """That a part is 0, or everything, is never certain."""
    numbers = study(n_runs=n_runs, run=0.0)
    numbers -= 0.999 * (numbers.mean(axis=1, keepdims=True) - numbers.mean())

    share = estimate(shares(numbers)["variance_run"])

    assert (share.value, share.low, share.high, share.over) == (0.0, None, None, None)


def test_trials_have_no_part_of_runs():
    given = shares(study(n_runs=3, run=0.0), AnswerSettings(are_trials=True))

    assert list(given) == ["variance_example", "variance_residual"]
    assert all(estimate(share).over == "examples" for share in given.values())


def test_few_runs_have_shares_without_intervals():
    given = shares(study(n_runs=4))

    assert all(isinstance(share, ValueOnly) for share in given.values())
    assert all(isinstance(share, VarianceShare) for share in shares(study(n_runs=5)).values())


def test_equal_numbers_and_single_examples_have_no_parts():
    assert shares(np.ones((5, 20))) == {}
    assert shares(np.ones((5, 1))) == {}


def test_units_follow_their_codes_in_any_order():
    levels = Levels(("run", "trial", "judge"), ((1, 0, 0, 1, 0), (0, 1, 0, 0, 1), (1, 0, 0, 0, 1)))
    tree = Tree.of(AnswerSettings(levels=levels), 5)

    runs, trials, judges = tree.numbers(np.array([[1.0], [2.0], [3.0], [5.0], [4.0]]))

    assert tree.n_units == (2, 3, 5)
    assert trials.ravel().tolist() == [3.0, 3.0, 3.0]
    assert judges.ravel().tolist() == [3.0, 2.0, 4.0, 5.0, 1.0]
    assert runs.ravel().tolist() == [3.0, 3.0]
    assert tree.runs_of(2).tolist() == [0, 0, 0, 1, 1]
