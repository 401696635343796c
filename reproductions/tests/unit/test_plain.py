import numpy as np
from seedproof_reproductions.plain import plain_array, plain_effects, plain_figures, short

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate


def test_numbers_have_six_digits():
    """What no number says is None, so that JSON can hold it."""
    assert short(0.123456789) == 0.123457
    assert short(1234567.0) == 1234570.0
    assert short(float("inf")) is short(float("nan")) is short(None) is None


def test_arrays_are_nested_lists():
    """Counts stay whole."""
    assert plain_array(np.array([[0.1, np.nan], [1 / 3, 2.0]])) == [[0.1, None], [0.333333, 2.0]]
    assert plain_array(np.array([[1, 2]])) == [[1, 2]]
    assert all(isinstance(one, int) for one in plain_array(np.array([3, 4])))


def test_a_figure_without_an_interval_has_its_value_alone():
    """One number in place of three."""
    found = plain_figures({"a": Estimate(0.5, 0.4, 0.6, "runs"), "b": Estimate(0.5)})

    assert found == {"a": [0.5, 0.4, 0.6], "b": [0.5]}


def test_an_effect_can_be_made_again():
    """From its metric and what is kept, but for the note."""
    effects = {
        "flip_rate": Effect(
            "flip_rate", "ratio", 0.5, 0.25, 0.75, "runs × examples", 1.5, "steadier"
        ),
        "mce": Effect("mce", "difference", 0.5, note="no interval"),
    }

    found = plain_effects(effects)

    assert Effect("flip_rate", **found["flip_rate"]) == effects["flip_rate"]
    assert Effect("mce", **found["mce"]) == Effect("mce", "difference", 0.5)
