"""Rank agreement against scipy and against loops over pairs."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from seedproof.metrics.block_statistic import Agreement
from seedproof.metrics.numbers import ranks as module
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.ranks import Order, Ranks, kendall, spearman
from seedproof.metrics.statistic import ValueOnly
from seedproof.records.answer_settings import AnswerSettings
from seedproof.stats.intervals import estimate

PLAIN = AnswerSettings()


def drawn(seed):
    """Return numbers of several runs that agree in part, some with ties."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 6), rng.integers(4, 12)
    numbers = rng.normal(size=shape[1]) + rng.random() * rng.normal(size=shape)
    return np.round(numbers, 1) if rng.random() < 0.4 else numbers


def ranked(numbers, settings=PLAIN, *, cuts=()):
    """Return the figures of numbers that are added in parts."""
    first, *others = np.split(np.arange(numbers.shape[1]), cuts)
    families = []
    for rows in (first, *others):
        family = Ranks(len(numbers), settings)
        blocks = rows % 7
        family.update(NumberBatch(numbers[:, rows], blocks=blocks, first=int(rows[0])))
        families.append(family)
    for family in families[1:]:
        families[0].merge(family)
    return families[0].result()


def slow_tau(first, second):
    """Return tau-b by a loop over pairs of examples."""
    pairs = list(combinations(range(len(first)), 2))
    signs = [(np.sign(first[i] - first[j]), np.sign(second[i] - second[j])) for i, j in pairs]
    product = sum(a * b for a, b in signs)
    return product / np.sqrt(sum(a * a for a, _ in signs) * sum(b * b for _, b in signs))


def slow_rho(first, second):
    """Return the correlation of ranks, counted one by one."""

    def rank(values):
        return [sum((x < y) + (x == y) / 2 for x in values) for y in values]

    return np.corrcoef(rank(first), rank(second))[0, 1]


def mean_over_pairs(numbers, correlation):
    return np.mean([correlation(a, b) for a, b in combinations(numbers, 2)])


@pytest.mark.parametrize(("kernel", "slow"), [(kendall, slow_tau), (spearman, slow_rho)])
def test_agreement_is_that_of_a_loop_also_without_each_run(kernel, slow):
    for seed in range(500):
        numbers = drawn(seed)
        n_runs, n_examples = numbers.shape
        if not np.ptp(numbers, axis=1).all():
            continue
        agreement = kernel(Order.of(numbers), np.arange(n_examples)).agreement(
            n_examples, has_runs=True
        )

        pairs = {(a, b): slow(numbers[a], numbers[b]) for a, b in combinations(range(n_runs), 2)}
        assert agreement.value == pytest.approx(np.mean(list(pairs.values())), abs=1e-9)
        if n_runs == 2 or isinstance(agreement, ValueOnly):
            continue
        for run, left in enumerate(agreement.without):
            expected = np.mean([value for pair, value in pairs.items() if run not in pair])
            assert np.tanh(left) == pytest.approx(expected, abs=1e-9)


def test_agreement_is_that_of_scipy():
    numbers = np.random.default_rng(0).normal(size=300) + np.random.default_rng(1).normal(
        size=(4, 300)
    )

    given = ranked(numbers)

    taus = mean_over_pairs(numbers, lambda a, b: kendalltau(a, b).statistic)
    assert given["rank_tau"].value == pytest.approx(taus)
    rhos = mean_over_pairs(numbers, lambda a, b: spearmanr(a, b).statistic)
    assert given["rank_rho"].value == pytest.approx(rhos)


def test_blocks_pull_as_leaving_them_out_does():
    numbers = np.random.default_rng(2).normal(size=400) + np.random.default_rng(3).normal(
        size=(3, 400)
    )
    blocks = np.arange(400) % 40
    for kernel, tolerance in ((spearman, 1e-9), (kendall, 0.1)):  # the latter is linearized
        whole = kernel(Order.of(numbers), blocks)
        for block in range(5):
            kept = blocks != block
            rest = kernel(Order.of(numbers[:, kept]), blocks[kept])
            expected = (whole.sums - rest.sums) * kept.sum()
            spread = np.abs(whole.pulls).mean()
            assert whole.pulls[:, block] == pytest.approx(expected, abs=tolerance * spread)


def test_sample_does_not_depend_on_the_parts(monkeypatch):
    monkeypatch.setattr(module, "MOST_EXAMPLES", 64)
    numbers = np.random.default_rng(4).normal(size=1000) + np.random.default_rng(5).normal(
        size=(5, 1000)
    )
    whole = {name: estimate(x) for name, x in ranked(numbers).items()}

    for cuts in ([3, 900], [10, 20, 30], [500]):
        in_parts = {name: estimate(x) for name, x in ranked(numbers, cuts=cuts).items()}
        assert in_parts == whole  # the same examples in the same order: exact
    assert whole["rank_tau"].low < 1 / 3 < whole["rank_tau"].high


def test_trials_and_pairs_of_runs_have_intervals_over_examples():
    numbers = np.random.default_rng(6).normal(size=(4, 90))

    trials = ranked(numbers, AnswerSettings(are_trials=True))

    assert {estimate(x).over for x in trials.values()} == {"examples"}
    assert {estimate(x).over for x in ranked(numbers[:2]).values()} == {"examples"}
    assert {estimate(x).over for x in ranked(numbers).values()} == {"runs × examples"}


def test_equal_orders_agree_fully_and_outcomes_have_none():
    numbers = np.arange(30.0) + np.arange(4)[:, np.newaxis]

    assert [x.value for x in ranked(numbers).values()] == pytest.approx([1.0, 1.0])
    assert not any(isinstance(x, Agreement) for x in ranked(numbers).values())
    assert ranked((numbers > 15).astype(float)) == {}
    assert ranked(np.ones((3, 20)) * 2.0) == {}
