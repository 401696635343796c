"""Soft labels from labels and models: by hand, and compared with numpy."""

import weakref

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import (
    ClassesError,
    DtypeError,
    EmptyInputError,
    OptionError,
    ProbabilityError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.stabilize import ensemble, mixed, raised, smoothed
from seedproof.testing.errors import WithFields


def draw(n_models, *, seed=0, n_examples=7, n_classes=4):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), size=(n_models, n_examples))


def test_power_one_half_flattens():
    """√.64 : √.36 is 4 : 3; the exponent is the inverse of the usual temperature."""
    q = raised([[0.64, 0.36], [0.0, 1.0], [0.5, 0.5]], power=0.5)

    expected = torch.tensor([[4 / 7, 3 / 7], [0.0, 1.0], [0.5, 0.5]], dtype=torch.float64)
    torch.testing.assert_close(q, expected, rtol=0, atol=1e-16)
    assert q.dtype == torch.float64
    assert q[0, 0] < 0.64


def test_power_two_sharpens_and_one_changes_nothing():
    """.64² : .36² is 256 : 81."""
    assert raised([[0.64, 0.36]], power=2)[0, 0].item() == pytest.approx(256 / 337, abs=1e-16)
    assert raised([[0.64, 0.36]], power=1)[0, 0].item() == pytest.approx(0.64, abs=1e-16)


def test_power_one_half_is_a_softmax_at_temperature_two():
    """1e-15 is rounding."""
    logits = torch.randn((6, 5), generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    q = raised(logits.softmax(dim=1), power=0.5)

    torch.testing.assert_close(q, (logits / 2.0).softmax(dim=1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("power", [0.5, 1.0, 40.0, 1e6])
def test_tiny_probabilities_do_not_underflow(power):
    tiny = [[1e-300, 5e-324, 0.0], [2e-200, 2e-200, 1e-210]]

    q = raised(tiny, power=power)

    assert torch.isfinite(q).all()
    assert q.sum(dim=1).tolist() == pytest.approx([1.0, 1.0], abs=1e-15)
    assert q[0, 2] == 0.0
    assert q[1, 0] == q[1, 1]


@given(
    row=st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda row: max(row) > 1e-3),
    power=st.floats(0.05, 8),
)
def test_order_of_classes_stays_and_rows_sum_to_one(row, power):
    """1e-12 is the rounding of six powers."""
    q = raised([row], power=power)[0].numpy()

    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    order = np.argsort(row, kind="stable")
    assert (np.diff(q[order]) >= 0).all()


def test_read_only_arrays_and_lists_are_accepted():
    probs = draw(1)[0]
    probs.flags.writeable = False

    q = raised(probs, power=0.5)

    assert torch.equal(q, raised(probs.tolist(), power=0.5))
    assert torch.equal(q, raised(torch.tensor(probs, requires_grad=True), power=0.5))


def test_smoothing_spreads_over_all_classes():
    """α = 0.4 of 4 classes: 0.1 each, and 0.7 for the gold one, not 0.6."""
    q = smoothed([2, 0], n_classes=4, alpha=0.4)

    expected = torch.tensor([[0.1, 0.1, 0.7, 0.1], [0.7, 0.1, 0.1, 0.1]], dtype=torch.float64)
    torch.testing.assert_close(q, expected, rtol=0, atol=1e-16)


def test_ensemble_is_the_mean_raised_to_a_power():
    """Against numpy; 1e-15 is rounding."""
    probs = draw(20)

    q = ensemble(list(probs), power=0.5)

    roots = np.sqrt(probs.mean(axis=0))
    np.testing.assert_allclose(q, roots / roots.sum(axis=1, keepdims=True), rtol=0, atol=1e-15)


def test_ensemble_holds_one_model_at_a_time():
    probs, alive = draw(5), []

    def models():
        for model_probs in probs:
            given = torch.from_numpy(model_probs.copy())
            alive.append(weakref.ref(given))
            assert sum(ref() is not None for ref in alive) == 1
            yield given

    q = ensemble(models(), power=1)

    np.testing.assert_allclose(q, probs.mean(axis=0), rtol=0, atol=1e-15)


def test_ensemble_does_not_change_its_input():
    first = torch.from_numpy(draw(1)[0])
    kept = first.clone()

    ensemble([first, first, first])

    assert torch.equal(first, kept)


def test_mixture_of_labels_and_the_deployed_model():
    """A quarter of the model, three quarters of the label."""
    q = mixed([1, 0], [[0.8, 0.2], [0.4, 0.6]], weight=0.25)

    expected = torch.tensor([[0.2, 0.8], [0.85, 0.15]], dtype=torch.float64)
    torch.testing.assert_close(q, expected, rtol=0, atol=1e-15)


def test_weight_0_gives_the_labels_and_1_the_model():
    """To the bit."""
    probs = torch.from_numpy(draw(1)[0])
    labels = probs.argmin(dim=1)

    assert torch.equal(mixed(labels, probs, weight=0.0), torch.eye(4, dtype=torch.float64)[labels])
    assert torch.equal(mixed(labels, probs, weight=1.0), probs)


NAN, INF = float("nan"), float("inf")
HALVES = [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("function", "arguments", "settings", "error", "fields"),
    [
        (raised, [[[0.0, 0.0], [0.1, 0.9], [0.0, 0.0]]], {"power": 0.5}, ProbabilityError, {"n_empty": 2}),
        (raised, [HALVES], {"power": 0.0}, OptionError, {"power": 0.0}),
        (raised, [HALVES], {"power": -1.0}, OptionError, {"power": -1.0}),
        (raised, [HALVES], {"power": NAN}, OptionError, {"power": NAN}),
        (raised, [HALVES], {"power": INF}, OptionError, {"power": INF}),
        (raised, [[[0.5, -0.1]]], {"power": 0.5}, ProbabilityError, {"probability": -0.1}),
        (raised, [[[0.5, NAN]]], {"power": 0.5}, ProbabilityError, {"probability": pytest.approx(NAN, nan_ok=True)}),
        (raised, [[[0.5, INF]]], {"power": 0.5}, ProbabilityError, {"probability": INF}),
        (raised, [[0.5, 0.5]], {"power": 0.5}, ShapeError, {"shape": (2,)}),
        (smoothed, [[0]], {"n_classes": 2, "alpha": -0.1}, OptionError, {"option": "alpha", "number": -0.1}),
        (smoothed, [[0]], {"n_classes": 2, "alpha": 1.1}, OptionError, {"option": "alpha", "number": 1.1}),
        (smoothed, [[0]], {"n_classes": 2, "alpha": NAN}, OptionError, {"option": "alpha", "number": NAN}),
        (smoothed, [[0, 3]], {"n_classes": 3, "alpha": 0.1}, UnknownLabelError, {"label": 3, "highest": 2}),
        # Other losses skip −100.
        (smoothed, [[-100]], {"n_classes": 3, "alpha": 0.1}, UnknownLabelError, {"label": -100}),
        (smoothed, [[0.0, 1.0]], {"n_classes": 3, "alpha": 0.1}, DtypeError, {"argument": "labels", "dtype": torch.float64}),
        (smoothed, [[True]], {"n_classes": 3, "alpha": 0.1}, DtypeError, {"argument": "labels", "dtype": torch.bool}),
        (smoothed, [["book", "cancel"]], {"n_classes": 3, "alpha": 0.1}, DtypeError, {"argument": "labels", "label": "book"}),
        (smoothed, [[[0]]], {"n_classes": 3, "alpha": 0.1}, ShapeError, {"argument": "labels", "shape": (1, 1)}),
        (smoothed, [[0]], {"n_classes": 1, "alpha": 0.1}, ClassesError, {"n_classes": 1}),
        (ensemble, [[]], {}, EmptyInputError, {}),
        (ensemble, [[draw(1)[0], draw(1, n_examples=6)[0]]], {}, ShapeError, {"n_models": 1, "shape": (6, 4)}),
        (ensemble, [[[[0.7, 0.7]]]], {}, ProbabilityError, {"sum": 1.4, "tolerance": 0.001}),
        (mixed, [[0, 1], HALVES], {"weight": 0.5}, ShapeError, {"shape": (1, 2), "n_examples": 2, "n_classes": 2}),
        (mixed, [[0], HALVES], {"weight": 2}, OptionError, {"option": "weight", "number": 2}),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(function, arguments, settings, error, fields):
    with pytest.raises(error, check=WithFields(**fields)):
        function(*arguments, **settings)
