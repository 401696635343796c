"""Figures of a pilot."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.comparison.planning.pilot import pilot_of
from seedproof.errors import TooFewRunsError
from seedproof.metrics.flips import Flips
from seedproof.testing.errors import WithFields
from support.simulation import Simulation


def measured(batch):
    """The measurement of a simulated study."""
    return sp.measure(batch.predictions, labels=batch.labels).measurement


def test_the_pilot_has_the_spreads_of_its_runs():
    """Three runs and four examples, by hand.

    Disagreements are 1/4, 2/4 and 3/4, so runs disagree by 3/8, 4/8 and 5/8 on average: a mean of
    1/2 and an sd of 1/8. Accuracies are 4/4, 3/4 and 2/4.
    """
    predictions = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]])

    pilot = pilot_of(sp.measure(predictions, labels=np.zeros(4, dtype=int)).measurement)

    assert (pilot.n_runs, pilot.n_examples) == (3, 4)
    assert pilot.sd.value == pytest.approx(0.25)
    assert pilot.cv.value == pytest.approx(0.25)
    assert pilot.sd.low is pilot.cv.low is None  # fewer than five runs have no interval


@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize("effect", ["quality", "threshold"])
def test_the_example_variance_is_that_of_the_flip_rate(effect, n_classes):
    """As the interval of the flip rate has it."""
    batch = Simulation(8, 300, n_classes, effect=effect).draw(np.random.default_rng(9))
    flips = Flips(batch.n_runs, batch.n_classes)
    flips.update(batch)
    statistic = flips.result()["flip_rate"]
    expected = (statistic.example_variance - statistic.interaction_variance) / statistic.value**2

    pilot = pilot_of(measured(batch))

    assert pilot.example_variance == pytest.approx(expected, rel=1e-9)
    assert pilot.cv.low < pilot.cv.value < pilot.cv.high


def test_runs_that_agree_have_no_variation():
    """And no division by zero."""
    predictions = np.tile(np.array([0, 1, 0, 1]), (4, 1))

    pilot = pilot_of(sp.measure(predictions).measurement)

    assert pilot.sd is None
    assert pilot.cv is None
    assert pilot.example_variance == 0.0


def test_two_runs_are_too_few_for_a_pilot():
    """They have no spread."""
    with pytest.raises(TooFewRunsError, check=WithFields(n_runs=2)):
        pilot_of(sp.measure(np.array([[0, 1], [0, 0]])).measurement)
