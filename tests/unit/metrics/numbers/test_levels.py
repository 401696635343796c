"""Figures of trials in runs, and of judges in trials, against slow loops."""

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from seedproof.measurement.numbers import NumberAccumulators
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.passes import all_of
from seedproof.metrics.numbers.spread import mean_difference, variance_over_runs
from seedproof.records.answer_settings import AnswerSettings, Levels
from seedproof.records.shards import NumberShards
from seedproof.stats.intervals import estimate

NAMES = ("run", "trial", "judge")


def settings(*sizes, rng=None, are_trials=False):
    """Return levels with so many members each, in any order of the repeats."""
    codes = np.array(list(product(*map(range, sizes)))).T
    if rng is not None:
        codes = codes[:, rng.permutation(codes.shape[1])]
    names = NAMES[1:] if are_trials else NAMES
    levels = Levels(names[: len(sizes)], tuple(map(tuple, codes.tolist())))
    return AnswerSettings(levels=levels, are_trials=are_trials)


def slow_pairs(numbers, codes, distance, *, are_trials):
    """Return the mean over pairs of answers of one model, by loops over repeats and examples."""
    codes = list(zip(*codes, strict=True))
    models = {(): 1.0} if are_trials else {code[:1]: 1.0 for code in codes}
    depth = 1 if are_trials else 2
    values = []
    for column in numbers.T:
        of_models = []
        for model in models:
            pairs = [
                distance(column[a], column[b])
                for a, b in combinations(range(len(codes)), 2)
                if codes[a][: len(model)] == codes[b][: len(model)] == model
                and codes[a][:depth] != codes[b][:depth]
            ]
            of_models.append(np.mean(pairs))
        values.append(np.mean(of_models))
    return values


def test_pairs_of_answers_are_those_of_a_loop():
    """With and without each run or trial, for two and three levels."""
    for seed in range(500):
        rng = np.random.default_rng(seed)
        are_trials = bool(rng.random() < 0.4)
        n_levels = 2 if are_trials or rng.random() < 0.5 else 3
        sizes = rng.integers(2, 5), *rng.integers(2, 4, n_levels - 1)
        given = settings(*sizes, rng=rng, are_trials=are_trials)
        tree, codes = Tree.of(given, int(np.prod(sizes))), np.array(given.levels.codes)
        numbers = rng.normal(size=(codes.shape[1], 2))

        for kernel, distance in (
            (mean_difference, lambda a, b: abs(a - b)),
            (variance_over_runs, lambda a, b: (a - b) ** 2 / 2),
        ):
            values = tree.over_pairs(numbers, kernel)
            expected = slow_pairs(numbers, codes, distance, are_trials=are_trials)
            assert values.values.tolist() == pytest.approx(expected)
            if sizes[0] == 2:
                assert values.without is None
                continue
            for unit in range(sizes[0]):
                kept = codes[0] != unit
                expected = slow_pairs(
                    numbers[kept], codes[:, kept], distance, are_trials=are_trials
                )
                left_out = values.without[unit] / values.without_denominator
                assert left_out.tolist() == pytest.approx(expected)


def test_all_of_k_trials_of_one_run_pass():
    rng = np.random.default_rng(0)
    given = settings(3, 4, rng=rng)
    passed = rng.random((12, 50)) < 0.7
    runs = np.array(given.levels.codes[0])

    values = Tree.of(given, 12).over_all(passed, lambda x: all_of(x, 2))

    expected = np.mean([all_of(passed[runs == run], 2).values for run in range(3)], axis=0)
    assert values.values.tolist() == pytest.approx(expected.tolist())


def test_levels_without_repeats_are_dropped():
    given = settings(4, 1, 2)

    assert Tree.of(given, 8).names == ("run", "judge")
    assert Tree.of(settings(4, 1), 4).names == ("run",)


def measured(numbers, given):
    source = NumberShards(
        [str(repeat) for repeat in range(len(numbers))],
        pa.array(np.arange(numbers.shape[1])),
        numbers,
        targets=np.zeros(numbers.shape[1]),
        settings=given,
    )
    accumulators = NumberAccumulators(source)
    accumulators.update(source.shard(0), ())
    return accumulators.result(), accumulators.detail()


def test_figures_of_the_mean_are_those_of_run_means():
    """As if the runs had been averaged over their trials before."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(6, 1)).repeat(4, axis=0) + rng.normal(size=(24, 80))
    averaged = numbers.reshape(6, 4, 80).mean(axis=1)

    given, detail = measured(numbers, settings(6, 4))
    expected, expected_detail = measured(averaged, AnswerSettings())

    for name in ("mean", "mean_sd", "mean_sd_independent", "mean_sd_excess", "bias"):
        ours, alone = estimate(given[name]), estimate(expected[name])
        assert ours.value == pytest.approx(alone.value)
        assert ours.low == pytest.approx(alone.low)
        assert ours.high == pytest.approx(alone.high)
    assert detail["mean_by_run"] == pytest.approx(expected_detail["mean_by_run"])
    # An error is that of a single answer, not of their mean.
    assert given["mae"].value == pytest.approx(np.abs(numbers).mean())


def test_spread_on_one_example_is_that_of_asking_a_run_again():
    """The quality of whole runs is not part of it."""
    rng = np.random.default_rng(2)
    numbers = 5 * rng.normal(size=(6, 1)).repeat(4, axis=0) + rng.normal(size=(24, 400))

    given, _ = measured(numbers, settings(6, 4))

    assert estimate(given["example_sd"]).value == pytest.approx(1.0, rel=0.05)
    assert estimate(given["mean_sd"]).value > 2.0


@pytest.mark.parametrize("sizes", [(3, 4), (3, 2, 2), (6, 4), (5, 2, 3)])
def test_pass_and_fail_of_levels_have_all_figures(sizes):
    rng = np.random.default_rng(3)
    n_repeats = int(np.prod(sizes))
    passed = (rng.random((n_repeats, 60)) < 0.6).astype(float)

    given, _ = measured(passed, settings(*sizes))

    assert {"mean", "flip_rate", "flaky_share", "variance_trial"} <= given.keys()
    # An answer that several judges grade does not pass or fail.
    assert ("pass^2" in given) == (len(sizes) == 2)
    assert f"pass^{n_repeats}" not in given
    for statistic in given.values():
        figure = estimate(statistic)
        assert np.isfinite(figure.value)
