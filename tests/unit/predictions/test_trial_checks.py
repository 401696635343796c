"""Numbers of trials that depend on the outcomes, and those that do not."""

import numpy as np
import pytest

from seedproof.predictions.trial_checks import trials_by_outcome

N_TRIALS, N_EXAMPLES = 5, 100


def kept(numbers, counts):
    """The first trials of each example, so many as it has."""
    return np.where(np.arange(len(numbers))[:, np.newaxis] < counts, numbers, np.nan)


def findings(numbers):
    return [check.severity for check in trials_by_outcome(list("abcde"), numbers)]


def outcomes(seed):
    rng = np.random.default_rng(seed)
    rates = rng.beta(2, 1, N_EXAMPLES)
    return rng, rates, (rng.random((N_TRIALS, N_EXAMPLES)) < rates).astype(float)


def test_examples_tried_until_they_pass_are_an_error():
    """The last trial passes wherever the others failed."""
    _, _, passed = outcomes(0)
    until = np.where(passed.any(axis=0), passed.argmax(axis=0) + 1, N_TRIALS)

    assert findings(kept(passed, until)) == ["error"]


def test_scores_tried_until_a_high_one_are_an_error():
    """Scores have no outcome, and a rule for stopping all the same."""
    rng, rates, _ = outcomes(1)
    scores = rates + rng.standard_normal((N_TRIALS, N_EXAMPLES))
    is_high = scores > 1
    until = np.where(is_high.any(axis=0), is_high.argmax(axis=0) + 1, N_TRIALS)

    assert findings(kept(scores, until)) == ["error"]


def test_more_trials_of_hard_examples_are_a_warning():
    """Trials were planned by difficulty: none is selected by its outcome."""
    _, rates, passed = outcomes(4)

    assert findings(kept(passed, np.where(rates < 0.55, 5, 2))) == ["warning"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["outcomes", "heavy tails", "one with more"])
def test_numbers_of_trials_by_chance_are_no_finding(kind, seed):
    """Whatever the numbers are, and if a single failing example has more trials."""
    rng, _, numbers = outcomes(seed)
    counts = rng.integers(1, N_TRIALS + 1, N_EXAMPLES)
    if kind == "heavy tails":
        numbers = rng.standard_t(2, numbers.shape)
    if kind == "one with more":
        numbers, counts = np.ones_like(numbers), np.full(N_EXAMPLES, 2)
        numbers[:, 7], counts[7] = 0.0, N_TRIALS

    assert findings(kept(numbers, counts)) == []


@pytest.mark.parametrize(("n_mixed", "expected"), [(14, []), (15, ["error"])])
def test_level_is_that_of_coin_flips(n_mixed, expected):
    """A pass after a failure has the chance ½ each: 2 · 2⁻ⁿ is below 10⁻⁴ from 15 examples on."""
    numbers = np.array([[0.0], [1.0]]).repeat(n_mixed, axis=1)
    solid = np.array([[1.0], [np.nan]]).repeat(5, axis=1)

    # Of these, 2^-14 is 1.2 · 10⁻⁴ for both sides and 2^-15 is 6.1 · 10⁻⁵.
    severities = findings(np.concatenate([numbers, solid], axis=1))

    assert [severity for severity in severities if severity == "error"] == expected
