"""Randomness of estimators that `random_state` controls, or does not."""

import random  # noqa: TID251 - the leak that must be found

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from seedproof.integrations.sklearn_seeds import ENTROPY, GENERATORS, THREADS, check_random_state


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    return rng.normal(size=(80, 4)) + y[:, None], y


class Leaky(ClassifierMixin, BaseEstimator):
    """Random weights from a source of choice, plus those of `random_state`."""

    def __init__(self, source="", n_jobs=None, random_state=None):
        self.source = source
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):  # noqa: N803 - scikit-learn's own name
        self.classes_ = np.unique(y)
        extra = {
            "": lambda: 0.0,
            "numpy": np.random.random,  # noqa: TID251 - the leak that must be found
            "python": random.random,
            "entropy": lambda: np.random.default_rng().random(),
            "threads": lambda: 0.0 if self.n_jobs == 1 else np.random.default_rng().random(),
        }
        own = np.random.default_rng(self.random_state).random(X.shape[1])
        self.weights_ = own + extra[self.source]()
        return self

    def decision_function(self, X):  # noqa: N803 - same
        return X @ self.weights_

    def predict(self, X):  # noqa: N803 - same
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.mark.parametrize(
    ("source", "leaks"),
    [
        ("", ()),
        ("numpy", (GENERATORS["numpy"],)),
        ("python", (GENERATORS["python"],)),
        ("entropy", (ENTROPY,)),
        ("threads", (THREADS,)),
    ],
)
def test_leaks_are_named(data, source, leaks):
    control = check_random_state(Leaky(source, n_jobs=2), *data)
    assert (control.leaks, control.is_controlled) == (leaks, not leaks)
    assert control.is_random
    assert all(leak in str(control) for leak in leaks)


def test_leak_of_a_step_without_random_state(data):
    """A step that draws from the global generator is found, whatever the last step is."""
    noise = FunctionTransformer(lambda x: x + np.random.normal(size=x.shape))  # noqa: NPY002, TID251
    control = check_random_state(make_pipeline(noise, GaussianNB()), *data)
    assert control.leaks == (GENERATORS["numpy"],)
    assert control.random_states == ()
    assert not control.is_random


def test_forest_is_controlled(data):
    control = check_random_state(RandomForestClassifier(5, n_jobs=2), *data)
    assert (control.is_controlled, control.is_random) == (True, True)
    assert control.random_states == ("random_state",)


@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression(), StandardScaler()])
def test_estimators_without_randomness(data, estimator):
    control = check_random_state(estimator, *data)
    assert (control.is_controlled, control.is_random) == (True, False)


def test_global_generators_are_left_alone(data):
    before = np.random.get_state()[1].tolist()  # noqa: TID251, NPY002 - what must not change
    check_random_state(Leaky("numpy"), *data)
    assert np.random.get_state()[1].tolist() == before  # noqa: TID251, NPY002 - same
