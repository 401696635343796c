"""Two runs are one pair: what they show is about them, and no sentence has an interval."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.numbers import WithInterval
from seedproof.report.view import View

N_EXAMPLES = 200
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, N_EXAMPLES)


def of_kind(kind, n_runs):
    """Return runs that differ on some examples, with right answers."""
    rng = np.random.default_rng(1)
    is_drawn = rng.random((n_runs, N_EXAMPLES)) < 0.2
    classes = np.where(is_drawn, rng.integers(0, 3, N_EXAMPLES), LABELS)
    numbers = LABELS + rng.standard_normal((n_runs, N_EXAMPLES))
    probs = rng.dirichlet(np.ones(3), (n_runs, N_EXAMPLES))
    rows = classes.tolist()
    values, options = {
        "classes": (classes, {"labels": LABELS}),
        "probabilities": (probs, {"labels": LABELS}),
        "outcomes": ((classes == LABELS).astype(float), {}),
        "numbers": (numbers, {"targets": LABELS.astype(float), "thresholds": 1.5}),
        "sets": ([[["ab"[x % 2], "c"] for x in row] for row in rows], {"kind": "sets"}),
        "rankings": ([[["abc"[x], "d", "e"] for x in row] for row in rows], {"kind": "rankings"}),
        "texts": (
            [[f"Number {x}" for x in row] for row in rows],
            {"references": [f"Number {x}" for x in LABELS]},
        ),
    }[kind]
    return sp.measure(values, **options)


KINDS = ("classes", "probabilities", "outcomes", "numbers", "sets", "rankings", "texts")


def intervals(view: View):
    """Return the codes of sentences that have an interval."""
    messages = [message for sentence in view.sentences for message in sentence.messages]
    return [
        message.code
        for message in messages
        if any(isinstance(x, WithInterval) for x in message.fields.values())
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_about_two_runs_have_no_interval(kind):
    # The mean says that its interval is over examples.
    assert set(intervals(of_kind(kind, 2).view())) <= {"mean", "pass-rate"}
    assert intervals(of_kind(kind, 5).view())


@pytest.mark.parametrize("kind", KINDS)
def test_key_figures_of_two_runs_say_what_their_intervals_are_over(kind):
    figures = [figure for figure in of_kind(kind, 2).view().key_figures if figure.interval]

    assert figures
    assert all(figure.interval.endswith("over examples") for figure in figures)


def test_two_equal_runs_have_no_bound_on_the_flips_of_others():
    values = np.repeat(LABELS[np.newaxis], 2, axis=0)
    (answers,) = sp.measure(values).view().sentences[0].messages

    assert answers.code == "two-runs-agree"


def test_two_trials_of_one_model_keep_their_interval():
    """They are drawn alike, so that the interval over examples contains their noise."""
    outcomes = (np.random.default_rng(2).random((2, N_EXAMPLES)) < 0.7).astype(float)
    trials = sp.measure(sp.Predictions.from_arrays(outcomes, trials=True)).view()

    assert "outcomes-differ" in intervals(trials)
