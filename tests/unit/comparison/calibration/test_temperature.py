"""Temperatures against a general optimizer, and what they do to probabilities."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize_scalar

from seedproof.comparison.calibration.temperature import (
    COLDEST,
    CalibratedShards,
    fit_temperatures,
    tempered,
)
from seedproof.errors import OptionError
from seedproof.records.shards import TableShards


def softmax(logits):
    """Return probabilities as float32."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


def shards(probs, labels):
    """Return runs in memory, from the axes (runs, examples, classes)."""
    names = [str(name) for name in range(probs.shape[2])]
    runs = [f"run {run}" for run in range(len(probs))]
    ids = pa.array(np.arange(len(labels)))
    return TableShards(runs, names, ids, labels=labels, values=probs, extras=None)


def drawn(rng, n_runs, n_examples, n_classes, sharpness):
    """Draw runs that are `sharpness` times too sure, and labels."""
    truth = rng.normal(size=(n_examples, n_classes))
    drawn = (rng.random((n_examples, 1)) > softmax(truth).cumsum(axis=1)).sum(axis=1)
    labels = np.minimum(drawn, n_classes - 1)
    noise = rng.normal(size=(n_runs, n_examples, n_classes)) / 5
    return softmax(sharpness * (truth + noise)), labels


def loss(probs, labels, temperature):
    """Return the negative log likelihood of the labels."""
    logits = np.log(np.maximum(probs.astype(np.float64), 1e-12)) / temperature
    norm = np.log(np.exp(logits).sum(axis=1))
    return float((norm - logits[np.arange(len(labels)), labels]).sum())


@pytest.mark.parametrize("seed", range(20))
def test_temperatures_are_those_of_a_general_optimizer(seed):
    """Over-confident and under-confident runs, two classes and many."""
    rng = np.random.default_rng(seed)
    sharpness, n_classes = rng.uniform(0.3, 4.0), int(rng.integers(2, 12))
    probs, labels = drawn(rng, 3, 400, n_classes, sharpness)

    fitted = fit_temperatures(shards(probs, labels))

    for run, temperature in zip(probs, fitted.values, strict=True):
        best = minimize_scalar(
            lambda log, run=run: loss(run, labels, np.exp(log)),
            bounds=(np.log(0.05), np.log(50)),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert temperature == pytest.approx(np.exp(best.x), rel=1e-4)
    assert fitted.n_examples == 400
    assert fitted.prior == pytest.approx(np.bincount(labels, minlength=n_classes) / 400)


def test_sharpness_is_found_and_undone():
    """Runs whose logits are three times too large get a temperature near three."""
    probs, labels = drawn(np.random.default_rng(0), 4, 20_000, 3, 3.0)

    source = shards(probs, labels)
    fitted = fit_temperatures(source)
    again = fit_temperatures(CalibratedShards(source, fitted.values))

    assert fitted.values == pytest.approx(3.0, abs=0.3)
    assert again.values == pytest.approx(1.0, abs=1e-4)


def test_a_temperature_changes_no_answer():
    """The order of the classes stays, and rows sum to one; a probability of 0 stays 0."""
    rng = np.random.default_rng(1)
    probs = softmax(3 * rng.normal(size=(500, 5)))
    probs[0] = [0.0, 0.25, 0.75, 0.0, 0.0]

    for temperature in (0.1, 1.0, 7.0):
        scaled = tempered(probs, temperature)
        assert np.array_equal(scaled.argmax(axis=1), probs.argmax(axis=1))
        assert scaled.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        assert scaled[0, [0, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert tempered(probs, 1.0) == pytest.approx(probs, abs=1e-6)


def test_unlabeled_examples_do_not_count():
    """The same temperatures as without them."""
    probs, labels = drawn(np.random.default_rng(2), 2, 300, 4, 2.0)
    some = np.where(np.arange(300) % 3 == 0, -1, labels)

    fitted = fit_temperatures(shards(probs, some))

    alone = fit_temperatures(shards(probs[:, some >= 0], labels[some >= 0]))
    assert fitted.values == pytest.approx(alone.values)
    assert fitted.n_examples == 200


def test_a_run_without_errors_is_at_the_limit():
    """Its likelihood has no maximum."""
    probs, _ = drawn(np.random.default_rng(3), 1, 100, 3, 2.0)
    probs = np.concatenate([probs, probs])

    fitted = fit_temperatures(shards(probs, probs[0].argmax(axis=1)))

    assert fitted.values == pytest.approx([COLDEST, COLDEST])
    assert fitted.at_limit.tolist() == [0, 1]


def test_labels_and_probabilities_are_needed():
    """Each error names what is missing."""
    probs, labels = drawn(np.random.default_rng(4), 2, 50, 3, 1.0)

    with pytest.raises(OptionError):
        fit_temperatures(shards(probs, np.full(50, -1)))
    ids = pa.array(np.arange(50))
    classes = TableShards(
        ["a", "b"], ["0", "1", "2"], ids, labels=labels, values=probs.argmax(axis=2), extras=None
    )
    with pytest.raises(OptionError):
        fit_temperatures(classes)
