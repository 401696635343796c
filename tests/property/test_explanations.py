"""Invariants of the figures of explanations."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seedproof.metrics.explanations import (
    EXPLANATION_NAMES,
    Explanations,
    RaggedScores,
    explanation_values,
)
from support.explanation_oracles import SLOW_FIGURES

SIMILARITIES = ("explanation_overlap", "explanation_tau", "explanation_rbo")
# Sums over runs and tokens in another order differ in their last digits; KL is a difference of
# sums of order R·23, since the logarithm of the epsilon is -23.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@st.composite
def studies(draw, *, max_runs=6):
    """Scores of several runs for a few examples of different lengths: ties, zeros, both signs."""
    n_runs = draw(st.integers(2, max_runs))
    lengths = draw(st.lists(st.integers(0, 12), min_size=1, max_size=6))
    n_tokens = sum(lengths)
    if draw(st.booleans()):
        whole = arrays(np.int64, (n_runs, n_tokens), elements=st.integers(-4, 4))
        scores = draw(whole).astype(np.float64)
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        usual = rng.normal(0, 2, (1, n_tokens))
        noise = rng.normal(0, draw(st.sampled_from([0.0, 0.1, 2.0])), (n_runs, n_tokens))
        scores = np.exp(usual + noise) * rng.choice([-1, 1], (n_runs, n_tokens))
    return RaggedScores(scores, np.array(lengths))


def assert_same(figures, expected):
    """Every figure of every example."""
    for name in EXPLANATION_NAMES:
        np.testing.assert_allclose(
            figures[name].values, expected[name].values, **CLOSE, err_msg=name
        )


def examples_of(study):
    """Scores of each example, axes (runs, tokens)."""
    return np.split(study.scores, np.cumsum(study.lengths)[:-1], axis=1)


@given(study=studies())
def test_every_figure_equals_its_loop(study):
    """Pairs of runs, one example at a time."""
    figures = explanation_values(study)

    for name, slow in SLOW_FIGURES.items():
        expected = [slow(scores) for scores in examples_of(study) if scores.shape[1]]
        np.testing.assert_allclose(figures[name].values, expected, **CLOSE, err_msg=name)


@given(study=studies(), data=st.data())
def test_order_of_runs_has_no_effect(study, data):
    """Seeds have no order."""
    order = data.draw(st.permutations(range(study.n_runs)))

    other = RaggedScores(study.scores[list(order)], study.lengths)

    assert_same(explanation_values(other), explanation_values(study))


@given(study=studies(), cut=st.integers(0, 6))
def test_batching_has_no_effect(study, cut):
    """Splitting the same examples differently never changes a figure."""
    cut = min(cut, study.n_examples)
    n_tokens = int(study.lengths[:cut].sum())
    parts = [
        RaggedScores(study.scores[:, :n_tokens], study.lengths[:cut]),
        RaggedScores(study.scores[:, n_tokens:], study.lengths[cut:]),
    ]

    whole, in_parts = Explanations(study.n_runs), Explanations(study.n_runs)
    whole.update(study)
    figures = [in_parts.update(part) for part in parts]

    assert in_parts.n_examples == whole.n_examples
    for name, values in explanation_values(study).items():
        together = np.concatenate([part[name].values for part in figures])
        np.testing.assert_allclose(together, values.values, **CLOSE)


@given(study=studies(), powers=st.lists(st.integers(-20, 20), min_size=6, max_size=6))
def test_scaling_the_scores_of_a_run_changes_nothing(study, powers):
    """Explainers have units of their own; a power of two keeps every digit."""
    scale = np.exp2(powers[: study.n_runs])[:, None]

    other = RaggedScores(study.scores * scale, study.lengths)

    assert_same(explanation_values(other), explanation_values(study))


@given(study=studies())
def test_signs_change_nothing(study):
    """A token that speaks against the class is as important as one that speaks for it."""
    other = RaggedScores(np.abs(study.scores), study.lengths)

    assert_same(explanation_values(other), explanation_values(study))


@given(study=studies(max_runs=3), n_runs=st.integers(2, 5))
def test_identical_explanations_have_no_distance(study, n_runs):
    """However odd the explanation."""
    same = RaggedScores(np.repeat(study.scores[:1], n_runs, axis=0), study.lengths)

    for name, values in explanation_values(same).items():
        if name in SIMILARITIES:
            np.testing.assert_allclose(values.values, 1.0, rtol=0, atol=1e-12)
        else:
            assert (values.values == 0.0).all(), name


@given(study=studies())
def test_figures_stay_within_their_bounds(study):
    """With all runs, and with any run left out."""
    n_runs = study.n_runs
    most_js = np.log(n_runs) * n_runs / (n_runs - 1) + 1e-12
    bounds = {"explanation_kl": (0, np.inf), "explanation_js": (0, max(most_js, 2 * np.log(2)))}
    for name, values in explanation_values(study).items():
        low, high = bounds.get(name, (-1.0 if name == "explanation_tau" else 0.0, 1.0))
        for numbers in (values.whole, values.without):
            if numbers is not None:
                assert (numbers >= low).all(), name
                assert (numbers <= high).all(), name


@given(study=studies(), data=st.data())
def test_reordering_the_tokens_changes_only_how_ties_are_broken(study, data):
    """Distances between distributions and tau never see the place of a token."""
    examples = [scores for scores in examples_of(study) if scores.shape[1]]
    if not examples:
        return
    scores = data.draw(st.sampled_from(examples))
    order = list(data.draw(st.permutations(range(scores.shape[1]))))
    length = np.array([scores.shape[1]])

    figures = explanation_values(RaggedScores(scores[:, order], length))
    expected = explanation_values(RaggedScores(scores, length))

    for name in ("explanation_kl", "explanation_js", "explanation_tau"):
        np.testing.assert_allclose(figures[name].values, expected[name].values, **CLOSE)
