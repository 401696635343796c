"""Functions of arrays return the values of a report."""

import subprocess
import sys

import numpy as np
import pytest

import seedproof as sp
from seedproof import metrics
from seedproof.errors import DtypeError, ShapeError, TooFewRunsError
from support import oracles

N_RUNS, N_EXAMPLES, N_CLASSES = 5, 20_000, 3


@pytest.fixture(scope="module")
def data():
    """Probabilities of more than one batch, and labels."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(N_CLASSES), size=(N_RUNS, N_EXAMPLES))
    return probs, rng.integers(0, N_CLASSES, N_EXAMPLES)


@pytest.mark.parametrize("name", ["flip_rate", "net_flip_rate", "ambiguity", "discrepancy"])
def test_flips_equal_a_report(data, name):
    """The same sums in the same batches."""
    predictions = data[0].argmax(axis=2)

    assert getattr(metrics, name)(predictions) == sp.measure(predictions)[name].value


def test_figures_with_labels_equal_a_report(data):
    """Accuracies, probabilities and calibration, to the last digits."""
    probs, labels = data
    rounded = probs.astype(np.float32)
    report = sp.measure(rounded, labels=labels)
    predictions = rounded.argmax(axis=2)

    values = {
        "label_entropy": metrics.label_entropy(predictions),
        "accuracy_sd": metrics.accuracy_sd(predictions, labels),
        "probability_sd": metrics.probability_sd(rounded, labels),
        "predictive_kl": metrics.predictive_kl(rounded),
        "predictive_js": metrics.predictive_js(rounded),
        "ece": metrics.ece(rounded, labels),
        "ece_corrected": metrics.ece_corrected(rounded, labels),
    }

    expected = {name: report[name].value for name in values}
    assert values == pytest.approx(expected, rel=1e-12)


def test_names_work_like_indices(data):
    """Classes may be strings."""
    predictions, labels = data[0].argmax(axis=2)[:, :100], data[1][:100]
    names = np.array(["no", "maybe", "yes"])

    assert metrics.accuracy_sd(names[predictions], names[labels]) == metrics.accuracy_sd(
        predictions, labels
    )


def test_calibration_errors_equal_the_loops(data):
    """The plain one as published, and the one without the part that chance adds."""
    probs, labels = data[0].astype(np.float32), data[1]
    confidence = probs.max(axis=2).astype(np.float64)
    right = probs.argmax(axis=2) == labels

    plain = np.mean(
        [oracles.slow_calibration_errors(*run)[0] for run in zip(confidence, right, strict=True)]
    )
    corrected = np.mean(
        [oracles.slow_debiased_error(*run) for run in zip(confidence, right, strict=True)]
    )

    assert metrics.ece(probs, labels) == pytest.approx(plain, abs=1e-12)
    assert metrics.ece_corrected(probs, labels) == pytest.approx(max(corrected, 0.0), abs=1e-12)


def test_churn_is_the_mean_over_pairs():
    """One run each, or several."""
    assert metrics.churn([0, 1, 1], [0, 1, 0]) == pytest.approx(1 / 3)
    assert metrics.churn([[0, 1], [0, 0]], [[0, 1]]) == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: metrics.flip_rate([0, 1]), ShapeError),
        (lambda: metrics.flip_rate([[0.5, 0.5], [0.1, 0.9]]), ShapeError),
        (lambda: metrics.flip_rate([[0, 1]]), TooFewRunsError),
        (lambda: metrics.predictive_kl([[0, 1], [1, 1]]), ShapeError),
        (lambda: metrics.ece(np.full((2, 2, 2), 0.5), [0, 2]), DtypeError),
        (lambda: metrics.accuracy_sd([[0, 1], [1, 1]], [0]), ShapeError),
        (lambda: metrics.churn([0, 1], [0, 1, 1]), ShapeError),
    ],
)
def test_bad_input_is_refused(call, error):
    """With an error of seedproof, not of numpy."""
    with pytest.raises(error):
        call()


def test_only_numpy_is_loaded():
    """Nothing that reads files or draws charts."""
    code = (
        "import sys; from seedproof.metrics import flip_rate; flip_rate([[0, 1], [1, 1]]); "
        "sys.exit(bool({'pyarrow', 'scipy', 'duckdb', 'rich'} & sys.modules.keys()))"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
