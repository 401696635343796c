"""Judges who grade every answer: parts of the variance, and intervals over judges."""

import numpy as np
import pytest
from scipy.stats import t as student

from seedproof.metrics.calibration import N_BLOCKS
from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.means import Means
from seedproof.metrics.numbers.spread import Spread
from seedproof.metrics.numbers.variance import Variances
from seedproof.records.levels import number_settings_of, settings_of
from seedproof.stats.contrast import compared
from seedproof.stats.covariance import crosses
from seedproof.stats.intervals import estimate

JUDGES = "Ann", "Bob", "Eve"
N_EXAMPLES = 40


def settings(n_trials, judges=JUDGES, outer="trial"):
    if n_trials == 1:
        return number_settings_of(["judge"], [(judge,) for judge in judges])
    repeats = [(str(trial), judge) for trial in range(n_trials) for judge in judges]
    return settings_of([outer, "judge"], repeats)


def grades(n_trials, *, strictness=0.5, seed=0):
    """Grades with the axes (trials, judges, examples)."""
    rng, n_judges = np.random.default_rng(seed), len(JUDGES)
    answers = rng.normal(0, 1, N_EXAMPLES) + rng.normal(0, 0.8, (n_trials, 1, N_EXAMPLES))
    strict = strictness * rng.normal(0, 1, (1, n_judges, 1))
    return answers + strict + rng.normal(0, 0.9, (n_trials, n_judges, N_EXAMPLES))


def measured(family, numbers, chosen):
    n_repeats = numbers.shape[0] * numbers.shape[1]
    tree = Tree.of(chosen, n_repeats)
    accumulator = family(tree.n_runs, chosen)
    batch = NumberBatch(
        numbers.reshape(n_repeats, -1), blocks=np.arange(N_EXAMPLES) % N_BLOCKS, tree=tree
    )
    values = accumulator.values(batch)
    accumulator.add(batch, values)
    return accumulator, values


@pytest.mark.parametrize("n_trials", [1, 3])
def test_interval_of_the_mean_is_over_judges_and_examples(n_trials):
    """q²·V of judges, with two degrees of freedom, and V of examples less what both count."""
    numbers = grades(n_trials)
    family, _ = measured(Means, numbers, settings(n_trials))

    mean = estimate(family.result()["mean"])

    by_judge = numbers.mean(axis=0)  # (judges, examples)
    of_judges = by_judge.mean(axis=1).var(ddof=1) / 3
    of_examples = by_judge.mean(axis=0).var(ddof=1) / N_EXAMPLES
    rest = by_judge - by_judge.mean(axis=1, keepdims=True) - by_judge.mean(axis=0) + by_judge.mean()
    # The jackknife of each example holds its deviation from the mean of all, strictness included.
    both = (np.square(by_judge - by_judge.mean(axis=0)).sum() / 6) / N_EXAMPLES**2
    assert both >= np.square(rest).sum() / (2 * (N_EXAMPLES - 1) * 3 * N_EXAMPLES)
    squared = student.ppf(0.975, 2) ** 2 * of_judges
    shape_df = family.result()["mean"].drawn_shape.df
    q = student.ppf(0.975, min(N_EXAMPLES - 1, shape_df))
    half_width = np.sqrt(squared + max(q**2 * (of_examples - both), 0.0))
    # Skewed examples lengthen one side of the part of examples by a little.
    assert mean.high - mean.low == pytest.approx(2 * half_width, rel=0.02)
    assert mean.over == "judges × examples"


def test_judges_named_anew_in_each_trial_are_drawn_with_it():
    """The same grades, by other judges in each trial: the interval is over examples alone."""
    repeats = [(str(trial), f"{judge}{trial}") for trial in range(3) for judge in JUDGES]
    nested = settings_of(["trial", "judge"], repeats)
    numbers = grades(3)

    of_same, of_others = (
        estimate(measured(Means, numbers, x)[0].result()["mean"]) for x in (settings(3), nested)
    )

    assert (settings(3).levels.judges, nested.levels.judges) == (JUDGES, ())
    assert of_others.over == "examples"
    assert of_same.high - of_same.low > 1.5 * (of_others.high - of_others.low)


def test_pairs_of_numbers_have_an_interval_over_judges():
    """Without judge j, they are those of the others alone."""
    numbers = grades(3)
    family, values = measured(Spread, numbers, settings(3))
    two, _ = measured(Spread, numbers[:, 1:], settings(3, JUDGES[1:]))

    without_first = values["mean_difference"].without_judge[0].mean()

    assert without_first == pytest.approx(two.result()["mean_difference"].value)
    assert estimate(family.result()["mean_difference"]).over == "judges × examples"


def slow_parts(x):
    """Return the parts of trials, judges and examples by loops over all numbers."""
    n_trials, n_judges, n = x.shape
    mean, e = x.mean(), x.mean(axis=(0, 1))
    j, te, je = x.mean(axis=(0, 2)), x.mean(axis=1), x.mean(axis=0)
    of_examples = n_trials * n_judges * np.square(e - mean).sum() / (n - 1)
    trial_example = judge_example = rest = 0.0
    t = x.mean(axis=(1, 2))
    tj = x.mean(axis=2)
    for i in range(n):
        for a in range(n_trials):
            trial_example += n_judges * (te[a, i] - t[a] - e[i] + mean) ** 2
            for b in range(n_judges):
                fitted = te[a, i] + je[b, i] + tj[a, b] - t[a] - j[b] - e[i] + mean
                rest += (x[a, b, i] - fitted) ** 2
        for b in range(n_judges):
            judge_example += n_trials * (je[b, i] - j[b] - e[i] + mean) ** 2
    rest /= (n_trials - 1) * (n_judges - 1) * (n - 1)
    trial_example /= (n_trials - 1) * (n - 1)
    judge_example /= (n_judges - 1) * (n - 1)
    of_judges = n_trials * n * np.square(j - mean).sum() / (n_judges - 1)
    return {
        "variance_trial_example": (trial_example - rest) / n_judges,
        "variance_judge": (of_judges - judge_example) / (n_trials * n),
        "variance_judge_example": (judge_example - rest) / n_trials,
        "variance_example": (of_examples - trial_example - judge_example + rest)
        / (n_trials * n_judges),
        "variance_residual": rest,
    }


def test_parts_are_those_of_the_crossed_analysis_of_variance():
    numbers = grades(4, seed=2)
    family, _ = measured(Variances, numbers, settings(4))

    parts = {part.name: float(part.variance[0, 0]) for part in family.parts()}

    assert parts == pytest.approx(slow_parts(numbers))


def test_parts_of_runs_and_judges_are_recovered():
    """With many runs, judges and examples, the parts are those that were drawn."""
    rng = np.random.default_rng(4)
    shape = 60, 50, N_EXAMPLES
    sds = {"run": 0.6, "judge": 0.5, "run_judge": 0.3, "residual": 0.7}
    numbers = (
        rng.normal(0, sds["run"], (60, 1, 1))
        + rng.normal(0, sds["judge"], (1, 50, 1))
        + rng.normal(0, sds["run_judge"], (60, 50, 1))
        + rng.normal(0, sds["residual"], shape)
    )
    family, _ = measured(Variances, numbers, settings(60, [str(i) for i in range(50)], "run"))

    parts = {part.name.removeprefix("variance_"): part.value for part in family.parts()}

    # Standard errors of variances from 50 units are a fifth of their size.
    assert {name: parts[name] ** 0.5 for name in sds} == pytest.approx(sds, rel=0.25)
    assert all(value < 0.01 for name, value in parts.items() if name not in sds)


def test_same_judges_of_two_arms_are_paired():
    """Strictness cancels, and a contrast of arms with other judges contains it."""
    numbers = [grades(3, strictness=3.0, seed=5), grades(3, strictness=3.0, seed=5) + 0.2]
    numbers[1] = numbers[1] + np.random.default_rng(6).normal(0, 0.5, numbers[1].shape)
    widths = []
    for judges in (JUDGES, ("Kim", "Lou", "Max")):
        arms = [
            measured(Means, x, settings(3, y))
            for x, y in zip(numbers, (JUDGES, judges), strict=True)
        ]
        base, arm = (family.result()["mean"] for family, _ in arms)
        cross = crosses(arms[0][1], arms[1][1], is_paired=False)["mean"]
        effect = compared("mean", base, arm, cross=cross, is_paired=False, needs_runs=False)
        widths.append(effect.high - effect.low)
        assert effect.over == "judges × examples"

    gaps = (numbers[1] - numbers[0]).mean(axis=(0, 2))
    of_judges = student.ppf(0.975, 2) * gaps.std(ddof=1) / 3**0.5
    assert widths[0] >= 2 * of_judges
    assert widths[0] < 0.2 * widths[1]
