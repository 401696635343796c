import numpy as np

from seedproof.measurement.explanations import Curves
from seedproof_reproductions.thesis2019.results import CURVE, plain_curve
from seedproof_reproductions.thesis2019.settings import TWO_CLASSES

NEGATIVE, POSITIVE = TWO_CLASSES


def made_curves(*classes):
    """Curves of ten bins, each with its place; other classes have other numbers."""
    bins = np.arange(10) + 100 * np.arange(len(classes))[:, None]
    return Curves(classes, bins, {CURVE: bins / 8}, {CURVE: bins / 16})


def test_curve_is_that_of_the_positive_class():
    curve = plain_curve(made_curves("other", POSITIVE), POSITIVE)

    assert curve["counts"] == list(range(100, 110))
    assert curve["means"] == [count / 8 for count in range(100, 110)]


def test_curve_by_the_probability_of_the_other_class_is_read_from_its_end():
    """An example with a probability of 0.05 for one of two classes has 0.95 for the other."""
    curve = plain_curve(made_curves(NEGATIVE), POSITIVE)

    assert curve["counts"] == list(range(9, -1, -1))
    assert curve["errors"][0] == 9 / 16
