"""Weighted metrics of numbers against slow loops over runs and examples."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.errors import Errors, Explained
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.passes import Passes
from seedproof.metrics.numbers.spread import Spread
from seedproof.metrics.numbers.variance import Variances
from seedproof.records.answer_settings import AnswerSettings
from seedproof.stats.covariance import crosses
from seedproof.stats.intervals import estimate

N_CASES = 500


def batches(n_cases=N_CASES, *, is_pass_or_fail=False):
    """Yield weighted numbers of two to seven runs; some targets are unknown."""
    for seed in range(n_cases):
        rng = np.random.default_rng(seed)
        n_runs, n_examples = rng.integers(2, 8), rng.integers(3, 12)
        numbers = rng.standard_normal((n_runs, n_examples)) + rng.choice([0.0, 100.0])
        if is_pass_or_fail:
            numbers = (rng.random(numbers.shape) < 0.5).astype(np.float64)
        targets = rng.standard_normal(n_examples)
        targets[rng.random(n_examples) < 0.2] = np.nan
        targets[:2] = 0.0, 1.0
        weights = np.exp(rng.standard_normal(n_examples))
        yield NumberBatch(numbers, targets, weights=weights)


def results(family, batch):
    """Return the figures of a family, with the batch added in two parts."""
    settings = AnswerSettings()
    batch = replace(batch, tree=Tree.of(settings, batch.n_runs))
    first, second = (family(batch.n_runs, settings) for _ in range(2))
    for part, rows in ((first, slice(2)), (second, slice(2, None))):
        part.update(
            NumberBatch(
                batch.numbers[:, rows],
                batch.targets[rows],
                None if batch.blocks is None else batch.blocks[rows],
                tree=batch.tree,
                weights=None if batch.weights is None else batch.weights[rows],
            )
        )
    first.merge(second)
    return first.result(), first.detail()


def mean(values, weights):
    """Return the weighted mean by a loop."""
    pairs = list(zip(values, weights, strict=True))
    return sum(w * x for x, w in pairs) / sum(w for _, w in pairs)


def variance(values, weights):
    """Return the linearized variance of the weighted mean by a loop."""
    center, size = mean(values, weights), sum(weights)
    n = size**2 / sum(w**2 for w in weights)
    squares = sum((w * (x - center)) ** 2 for x, w in zip(values, weights, strict=True))
    return squares / size**2 * n / (n - 1)


def test_mean_with_its_variances():
    for batch in batches():
        numbers, weights, n_runs = batch.numbers, batch.weights, batch.n_runs
        figures, detail = results(Means, batch)

        statistic = figures["mean"]
        of_examples = numbers.mean(axis=0)
        assert statistic.value == pytest.approx(mean(of_examples, weights))
        assert statistic.example_variance == pytest.approx(variance(of_examples, weights), rel=1e-5)
        assert statistic.n_drawn == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
        by_run = [mean(row, weights) for row in numbers]
        np.testing.assert_allclose(detail["mean_by_run"], by_run)
        noise = sum(
            (w / weights.sum()) ** 2 * np.var(column, ddof=1)
            for w, column in zip(weights, numbers.T, strict=True)
        )
        assert estimate(figures["mean_sd_independent"]).value == pytest.approx(noise**0.5)
        if n_runs > 2:
            left = [mean(np.delete(numbers, run, 0).mean(0), weights) for run in range(n_runs)]
            np.testing.assert_allclose(statistic.without, left)
            assert statistic.interaction_variance == pytest.approx(noise / n_runs)


def test_spread_on_a_typical_example():
    for batch in batches():
        figures, _ = results(Spread, batch)
        variances = [np.var(column, ddof=1) for column in batch.numbers.T]
        gaps = [
            np.mean([abs(a - b) for a, b in combinations(column, 2)]) for column in batch.numbers.T
        ]

        assert estimate(figures["example_sd"]).value == pytest.approx(
            mean(variances, batch.weights) ** 0.5
        )
        assert figures["mean_difference"].value == pytest.approx(mean(gaps, batch.weights))


def test_errors_of_examples_with_a_target():
    for batch in batches():
        is_known = ~np.isnan(batch.targets)
        errors, weights = (batch.numbers - batch.targets)[:, is_known], batch.weights[is_known]
        figures, detail = results(Errors, batch)

        assert figures["mae"].value == pytest.approx(mean(np.abs(errors).mean(0), weights))
        assert figures["bias"].value == pytest.approx(mean(errors.mean(0), weights))
        roots = [mean(np.square(row), weights) ** 0.5 for row in errors]
        np.testing.assert_allclose(detail["rmse_by_run"], roots)


def test_share_of_the_variance_that_is_explained():
    for batch in batches():
        is_known = ~np.isnan(batch.targets)
        targets, weights = batch.targets[is_known], batch.weights[is_known]
        errors = np.square(batch.numbers[:, is_known] - targets)
        of_targets = mean(np.square(targets - mean(targets, weights)), weights)
        figures, _ = results(Explained, batch)

        by_run = [1 - mean(row, weights) / of_targets for row in errors]
        assert figures["r2"].value == pytest.approx(np.mean(by_run))


def test_passes():
    for batch in batches(100, is_pass_or_fail=True):
        figures, detail = results(Passes, batch)
        n_passed = batch.numbers.sum(axis=0)

        both = n_passed * (n_passed - 1) / (batch.n_runs * (batch.n_runs - 1))
        assert figures["pass^2"].value == pytest.approx(mean(both, batch.weights))
        # Counts of examples have no weights.
        assert figures["solid_share"].value == pytest.approx(np.mean(n_passed == batch.n_runs))
        assert detail["passed_counts"].sum() == batch.n_examples


def test_shares_of_trials_count_each_example_once():
    """Value and interval are those without weights."""
    settings = AnswerSettings(are_trials=True)
    for batch in batches(20, is_pass_or_fail=True):
        families = [Passes(batch.n_runs, settings) for _ in range(2)]
        families[0].update(batch)
        families[1].update(NumberBatch(batch.numbers))
        weighted, plain = (family.result() for family in families)

        for name in ("solid_share", "flaky_share", "broken_share"):
            assert estimate(weighted[name]) == estimate(plain[name])


def test_parts_of_the_variance_are_unbiased():
    """Components drawn with known variances, over examples with uneven weights."""
    rng = np.random.default_rng(0)
    n_runs, n_examples, settings = 6, 60, AnswerSettings()
    weights = np.exp(rng.standard_normal(n_examples))
    parts = []
    for _ in range(400):
        numbers = (
            2.0 * rng.standard_normal(n_examples)
            + 0.5 * rng.standard_normal((n_runs, 1))
            + rng.standard_normal((n_runs, n_examples))
        )
        family = Variances(n_runs, settings)
        tree = Tree.of(settings, n_runs)
        family.update(NumberBatch(numbers, tree=tree, weights=weights))
        parts.append([float(part.variance[0, 0]) for part in family.parts()])

    # Within three standard errors of 400 studies.
    error = np.std(parts, axis=0) / 400**0.5
    assert (np.abs(np.mean(parts, axis=0) - [0.25, 4.0, 1.0]) < 3 * error).all()


def test_covariance_of_two_arms():
    for batch, other in zip(batches(), batches(), strict=True):
        rng = np.random.default_rng(1)
        arm = replace(other, numbers=other.numbers + rng.standard_normal(other.numbers.shape))
        family = Means(batch.n_runs, AnswerSettings())
        values = [family.values(side) for side in (batch, arm)]

        cross = crosses(values[0], values[1], is_paired=False)["mean"]

        first, second = (side.numbers.mean(axis=0) for side in (batch, arm))
        weights = batch.weights
        # Var(a + b) = Var(a) + Var(b) + 2 Cov(a, b)
        apart = variance(first, weights) + variance(second, weights)
        expected = (variance(first + second, weights) - apart) / 2
        covariance = cross.example_covariance(mean(first, weights), mean(second, weights))
        assert covariance == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_integer_weights_give_the_means_of_repeated_examples():
    for batch in batches(100):
        counts = np.random.default_rng(2).integers(1, 4, batch.n_examples)
        weighted = replace(batch, weights=counts.astype(np.float64))
        repeated = NumberBatch(
            np.repeat(batch.numbers, counts, axis=1), np.repeat(batch.targets, counts)
        )
        for family in (Means, Spread, Errors):
            figures, expected = (results(family, x)[0] for x in (weighted, repeated))
            for name in set(figures) - {"mean_sd_independent", "mean_sd_excess"}:
                assert estimate(figures[name]).value == pytest.approx(
                    estimate(expected[name]).value
                )
