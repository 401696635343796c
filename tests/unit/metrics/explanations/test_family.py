"""All figures of explanations together: ragged lengths, repeats, merging."""

import pickle
import re

import numpy as np
import pytest

from seedproof.metrics.card import card
from seedproof.metrics.explanations import (
    EXPLANATION_NAMES,
    Explanations,
    RaggedScores,
    explanation_values,
    noise_values,
    ragged,
)
from seedproof.stats.intervals import estimate
from support.explanation_oracles import SLOW_FIGURES, slow_noise
from support.oracles import slow_two_way_interval

# KL is a difference of sums of order ten over logarithms of numbers down to 1e-10.
CLOSE = {"rtol": 1e-10, "atol": 1e-11}
SIMILARITIES = {"explanation_overlap", "explanation_tau", "explanation_rbo"}


def joined(examples):
    """One batch of examples with the axes (runs, tokens)."""
    return RaggedScores(
        np.concatenate(examples, axis=1), np.array([scores.shape[1] for scores in examples])
    )


def random_example(rng, n_runs):
    """One ragged case: heavy tails, ties, zeros, signs, flat runs, identical runs."""
    n_tokens = int(rng.integers(1, 30))
    shared = rng.normal(0, 2, n_tokens)
    scores = np.exp(shared + rng.normal(0, rng.choice([0.0, 0.2, 2.0]), (n_runs, n_tokens)))
    scores *= rng.choice([-1, 1], scores.shape)
    match rng.integers(0, 6):
        case 0:
            scores = np.round(scores)  # ties, and zeros
        case 1:
            scores[rng.random(scores.shape) < 0.4] = 0.0
        case 2:
            scores[rng.integers(0, n_runs)] = rng.choice([0.0, 0.5])  # all tokens equal
        case 3:
            scores[-1] = scores[0]
    return scores.astype(rng.choice(["float32", "float64"])).astype(np.float64)


def test_leaving_out_a_run_equals_the_loop_over_the_others():
    """The closed form of the remaining runs is their own figure."""
    rng = np.random.default_rng(7)
    cases = [random_example(rng, 4) for _ in range(60)]

    figures = explanation_values(joined(cases))

    for name, slow in SLOW_FIGURES.items():
        for run_idx in range(4):
            expected = [slow(np.delete(case, run_idx, axis=0)) for case in cases]
            np.testing.assert_allclose(figures[name].without[run_idx], expected, **CLOSE)


def test_intervals_equal_the_loop_that_deletes_one_run_at_a_time():
    """The totals lead to the same interval as starting over without each run."""
    rng = np.random.default_rng(8)
    usual = rng.normal(0, 1, (1, 40, 12))
    data = np.exp(usual + rng.normal(0, 0.7, (5, 40, 12)))
    family = Explanations(5)
    family.update(joined(list(data.transpose(1, 0, 2))))

    for name, statistic in family.result().items():
        if name == "explanation_tau":
            continue  # its interval is made in `measurement.explanations`

        def values(runs, name=name):
            return np.array([SLOW_FIGURES[name](scores) for scores in runs.transpose(1, 0, 2)])

        scale = "logit" if name in SIMILARITIES else "log"
        expected = slow_two_way_interval(values, data, scale=scale)
        interval = estimate(statistic)
        assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-8)
        assert interval.over == "runs × examples"


def test_examples_without_a_token_are_left_out():
    """An empty text has no explanation to compare; the others keep their places."""
    scores = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])

    tau = explanation_values(RaggedScores(scores, np.array([0, 2, 0, 1])))["explanation_tau"]

    assert tau.places.tolist() == [1, 3]
    assert tau.values.tolist() == [-1.0, 1.0]


def test_noise_is_between_draws_of_one_run():
    """Averaged over runs."""
    rng = np.random.default_rng(3)
    draws = [np.exp(rng.normal(size=(3, n_draws, n))) for n, n_draws in ((5, 2), (5, 3), (9, 2))]
    scores = np.concatenate([example.reshape(3, -1) for example in draws], axis=1)
    batch = RaggedScores(scores, np.array([5, 5, 9]), np.array([2, 3, 2]))

    noise = noise_values(batch)

    for name in EXPLANATION_NAMES:
        expected = [slow_noise(example, name) for example in draws]
        np.testing.assert_allclose(noise[name].values, expected, **CLOSE)
        left = [slow_noise(example[1:], name) for example in draws]
        np.testing.assert_allclose(noise[name].without[0], left, **CLOSE)


def test_noise_of_a_deterministic_explainer_is_zero():
    """Both draws are equal."""
    scores = np.tile(np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), 2)
    family = Explanations(2)
    family.update(RaggedScores(scores, np.array([3]), np.array([2])))

    noise = family.noise()

    assert noise["explanation_kl"].value == 0.0
    assert noise["explanation_jaccard_20"].value == 0.0
    assert noise["explanation_tau"].value == pytest.approx(1.0, abs=1e-15)


def test_size_of_blocks_does_not_change_figures(monkeypatch):
    """Small blocks and one large one."""
    rng = np.random.default_rng(5)
    batch = joined([random_example(rng, 3) for _ in range(50)])
    whole = explanation_values(batch)
    monkeypatch.setattr(ragged, "BLOCK_VALUES", 1)

    in_pieces = explanation_values(batch)

    for name in EXPLANATION_NAMES:
        np.testing.assert_allclose(in_pieces[name].values, whole[name].values, **CLOSE)


def test_merged_parts_are_the_whole():
    """Figures and noise; parts may come from other processes."""
    rng = np.random.default_rng(6)
    scores, lengths, n_draws = rng.random((3, 120)), np.full(20, 3), np.full(20, 2)
    whole, part, other = Explanations(3), Explanations(3), Explanations(3)
    whole.update(RaggedScores(scores, lengths, n_draws))
    part.update(RaggedScores(scores[:, :42], lengths[:7], n_draws[:7]))
    other.update(RaggedScores(scores[:, 42:], lengths[7:], n_draws[7:]))

    part.merge(pickle.loads(pickle.dumps(other)))  # noqa: S301 - our own bytes

    assert part.n_examples == part.n_repeated == 20
    for merged, expected in ((part.result(), whole.result()), (part.noise(), whole.noise())):
        for name, statistic in expected.items():
            assert merged[name].value == pytest.approx(statistic.value, rel=1e-12)
            np.testing.assert_allclose(merged[name].without, statistic.without, rtol=1e-12)


def test_size_does_not_grow_with_the_examples():
    """Totals have one number per run."""
    batch = joined([np.random.default_rng(0).random((3, 8))])
    few, many = Explanations(3), Explanations(3)
    few.update(batch)
    for _ in range(200):
        many.update(batch)

    assert len(pickle.dumps(many)) == pytest.approx(len(pickle.dumps(few)), rel=0.03)


@pytest.mark.parametrize("name", EXPLANATION_NAMES)
def test_every_figure_has_a_card(name):
    """It states the direction, the needs and what the interval is over."""
    shown = card(name)

    assert shown.better == ("higher" if name in SIMILARITIES else "lower")
    assert "*Unit:" in shown.text
    needs = re.search(r"Needs: ([\w, ]+)\.\*", shown.text)[1]
    interval = re.search(r"\*\*Interval\.\*\* Over (\w+ × \w+)", shown.text)[1]
    assert (needs, interval) == ("explanations", "runs × examples")
