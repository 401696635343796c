"""A study whose runs ignore their examples: an error where right answers differ."""

import numpy as np
import pytest

import seedproof as sp

N_EXAMPLES = 200


def found(values, **options):
    """Return severity and runs of the check, before and after measuring; None if it is absent."""
    loaded = sp.Predictions.load(values, **options)
    of_input, of_result = (
        [(x.severity, x.runs) for x in checks if x.name == "constant-answers"]
        for checks in (loaded.checks, sp.measure(loaded).checks)
    )
    assert of_input == of_result
    return of_input[0] if of_input else None


def labels_with(n_others):
    """Return labels of one class, but a few of another."""
    return np.array([1] * n_others + [0] * (N_EXAMPLES - n_others))


@pytest.mark.parametrize("answers", [[3] * 4, [0, 1, 2, 3]], ids=["same", "unlike"])
def test_runs_that_each_give_one_class_are_named(answers):
    values = np.repeat(np.array(answers)[:, np.newaxis], N_EXAMPLES, axis=1)
    labels = np.random.default_rng(0).integers(0, 10, N_EXAMPLES)

    assert found(values, labels=labels) == ("error", ("0", "1", "2", "3"))


def test_probabilities_with_one_largest_class_are_named():
    probs = np.random.default_rng(0).dirichlet(np.ones(4), (6, N_EXAMPLES))
    probs[..., 2] += 2
    labels = np.random.default_rng(1).integers(0, 4, N_EXAMPLES)

    assert found(probs / probs.sum(axis=-1, keepdims=True), labels=labels) is not None


@pytest.mark.parametrize(("n_others", "is_found"), [(9, False), (10, True)])
def test_few_other_labels_may_be_missed_by_healthy_runs(n_others, is_found):
    values = np.zeros((5, N_EXAMPLES), dtype=int)

    assert (found(values, labels=labels_with(n_others)) is not None) == is_found


def test_one_run_with_two_answers_is_enough_for_silence():
    values = np.zeros((5, N_EXAMPLES), dtype=int)
    values[4, 0] = 1

    assert found(values, labels=labels_with(100)) is None


def test_unknown_labels_do_not_count():
    values = np.zeros((5, N_EXAMPLES), dtype=int)

    assert found(values) is None


@pytest.mark.parametrize(("n_others", "is_found"), [(9, False), (10, True)])
def test_runs_that_each_give_one_number_are_named_if_targets_differ(n_others, is_found):
    values = np.repeat([[0.5], [0.5], [0.7]], N_EXAMPLES, axis=1)
    targets = 0.25 * labels_with(n_others)

    assert (found(values, targets=targets) is not None) == is_found


def test_outcomes_without_targets_may_all_be_the_same():
    assert found(np.ones((5, N_EXAMPLES))) is None


@pytest.mark.parametrize(("n_others", "is_found"), [(9, False), (10, True)])
def test_runs_that_each_give_one_text_are_named_if_references_differ(n_others, is_found):
    values = np.array([["I cannot say."] * N_EXAMPLES] * 3, dtype=object)
    references = [f"Number {label}" for label in labels_with(n_others)]

    assert (found(values, references=references) is not None) == is_found


def test_the_right_answers_of_texts_that_vary_are_no_finding():
    """All wrong answers are equal, and all right ones, which have one code, are not."""
    references = [f"Number {place}" for place in range(N_EXAMPLES)]
    texts = [x if place % 2 else "I cannot say." for place, x in enumerate(references)]
    values = np.array([texts] * 3, dtype=object)

    assert found(values, references=references) is None


def test_no_gate_passes():
    labels = np.random.default_rng(0).integers(0, 10, N_EXAMPLES)
    values = np.repeat(np.arange(8)[:, np.newaxis] % 2, N_EXAMPLES, axis=1)
    options = {"max": {"flip_rate": 1.0}, "labels": labels}

    assert sp.gate(values, **options).outcome == "investigate"
    assert sp.gate(values, **options, allow=["constant-answers"]).outcome == "pass"
