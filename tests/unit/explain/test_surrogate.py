import numpy as np
import pytest
from lime.lime_base import LimeBase
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances

from seedproof.errors import OptionError
from seedproof.explain.surrogate import Surrogate, sample_weights
from seedproof.testing.errors import WithFields


def a_neighborhood(seed, n_words, n_samples=150, n_runs=4):
    """Random samples, and predictions that depend on words, on pairs of words and on noise."""
    rng = np.random.default_rng(seed)
    kept = rng.random((n_samples, n_words)) < rng.random((n_samples, 1))
    kept[0] = True
    weights = rng.normal(size=(n_words, n_runs))
    pairs = (kept[:, :-1] & kept[:, 1:]) @ rng.normal(size=(n_words - 1, n_runs))
    noise = rng.normal(scale=0.1, size=(n_samples, n_runs))
    return kept, 1 / (1 + np.exp(-(kept @ weights) - pairs - noise))


def by_lime(kept, values, *, kernel_width, n_words, method):
    """The weights of words by the `lime` package, one run at a time."""

    def kernel(distances):
        return np.sqrt(np.exp(-(distances**2) / kernel_width**2))

    distances = pairwise_distances(kept.astype(float), kept[:1].astype(float), "cosine") * 100
    weights = np.zeros((values.shape[1], kept.shape[1]))
    for run_idx in range(values.shape[1]):
        _, words, _, _ = LimeBase(kernel, random_state=0).explain_instance_with_data(
            kept.astype(float), values, distances.ravel(), run_idx, n_words, method
        )
        for place, weight in words:
            weights[run_idx, place] = weight
    return weights


METHODS = {"auto": "auto", "forward": "forward_selection", "highest-weights": "highest_weights"}


@pytest.mark.parametrize("kernel_width", [25.0, 5.0])
@pytest.mark.parametrize("n_words", [2, 9, 30])
def test_weights_of_all_words_equal_lime(n_words, kernel_width):
    """With `feature_selection="none"`."""
    kept, values = a_neighborhood(n_words, n_words)

    ours = Surrogate(kernel_width=kernel_width).fit(kept, values)

    expected = by_lime(kept, values, kernel_width=kernel_width, n_words=n_words, method="none")
    np.testing.assert_allclose(ours, expected, atol=1e-10)  # both exact up to rounding


@pytest.mark.parametrize("selection", METHODS)
@pytest.mark.parametrize("n_chosen", [1, 4, 6, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_selected_words_equal_lime(selection, n_chosen, seed):
    """Each run has its own words, and others have the weight 0."""
    kept, values = a_neighborhood(seed, n_words=12)

    ours = Surrogate(n_words=n_chosen, selection=selection).fit(kept, values)

    expected = by_lime(kept, values, kernel_width=25, n_words=n_chosen, method=METHODS[selection])
    np.testing.assert_allclose(ours, expected, atol=1e-10)  # both exact up to rounding
    assert ((ours != 0).sum(axis=1) == n_chosen).all()


def test_limit_above_the_number_of_words_changes_nothing():
    """All words get a weight."""
    kept, values = a_neighborhood(0, n_words=5)

    limited = Surrogate(n_words=10).fit(kept, values)

    np.testing.assert_array_equal(limited, Surrogate().fit(kept, values))


def test_each_run_is_fit_independently():
    """Runs share samples and nothing else."""
    kept, values = a_neighborhood(3, n_words=12)
    for surrogate in (Surrogate(), Surrogate(n_words=3), Surrogate(n_words=8)):
        together = surrogate.fit(kept, values)

        alone = [surrogate.fit(kept, values[:, [run]])[0] for run in range(values.shape[1])]

        np.testing.assert_allclose(together, alone, atol=1e-12)  # the order of sums


def test_weight_of_one_word_by_hand():
    """Two samples with weights 1 and w and one word: β = m/(m+1), where m = w/(1+w) of y's step."""
    kept = np.array([[True], [False]])
    values = np.array([[0.9], [0.1]])
    w = np.exp(-((100 / 25) ** 2) / 2)  # no word kept: distance 100
    m = w / (1 + w)

    weight = Surrogate().fit(kept, values)

    assert weight[0, 0] == pytest.approx(0.8 * m / (m + 1), rel=1e-12)


def test_sample_weights_by_hand():
    """A quarter of the words kept: the cosine is 1/2, the distance 50, the weight √exp(−4)."""
    kept = np.array([[True] * 4, [True, False, False, False], [False] * 4])

    weights = sample_weights(kept, kernel_width=25.0)

    np.testing.assert_allclose(weights, [1, np.exp(-2), np.exp(-8)], rtol=1e-14)


def test_only_one_of_two_collinear_words_is_selected():
    """The second explains nothing more, so another comes before it."""
    kept, values = a_neighborhood(5, n_words=4, n_runs=1)
    kept[:, 3] = kept[:, 0]
    values = kept[:, [0]] * 1.0 + 0.2 * kept[:, [1]]

    weights = Surrogate(n_words=2, selection="forward").fit(kept, values)

    assert set(np.flatnonzero(weights[0])) == {0, 1}


def test_weights_equal_ridge_of_scikit_learn():
    """With sample weights and an intercept, on values far from 0."""
    kept, values = a_neighborhood(8, n_words=10)
    values = 1000 + values

    ours = Surrogate().fit(kept, values)

    weights = sample_weights(kept, 25.0)
    expected = Ridge(alpha=1.0).fit(kept.astype(float), values, sample_weight=weights).coef_
    np.testing.assert_allclose(ours, expected, atol=1e-9)  # values of 1000 lose three digits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel_width", 0.0),
        ("kernel_width", float("nan")),
        ("n_words", 0),
        ("n_words", 2.5),
        ("selection", "lasso"),
    ],
)
def test_bad_option_is_refused(name, value):
    """The error has its name and value."""
    with pytest.raises(OptionError, check=WithFields(**{name: value})):
        Surrogate(**{name: value})
