import numpy as np
import pyarrow as pa
import pytest
from seedproof_reproductions.findings2023.single_runs import Answers, mean_wavering, wavering_ratio

from seedproof.measurement.dynamics.reading import Traces
from seedproof.testing.dynamics_simulation import DynamicsSimulation, watched_of


def answers(entropies, predictions=None, *, traced=None, n_steps=10, first_id=0):
    """Runs of an arm, some of which were traced."""
    entropies = np.asarray(entropies, dtype=float)
    n_traced, n = entropies.shape
    if predictions is None:
        predictions = np.zeros((n_traced, n), dtype=np.int64)
    watched = watched_of(entropies, predictions, traced)
    ids = pa.array(range(first_id, first_id + n))
    return Answers(predictions, Traces(watched, ids, {}, (n_steps, n_steps), (), ()))


CONTROL = answers([[0.2, 0.4, 0.0, 0.6], [0.4, 0.4, 0.2, 0.6], [0.3, 0.4, 0.1, 0.6]])
ARM = answers([[0.1, 0.2, 0.0, 0.3], [0.2, 0.2, 0.1, 0.3], [0.15, 0.2, 0.05, 0.3]])


def test_the_mean_is_over_examples_and_traced_runs():
    """By hand: 1.2, 1.6 and 1.4 over four examples each."""
    found = mean_wavering(CONTROL)

    assert found.value == pytest.approx(4.2 / 12)
    assert found.low < found.value < found.high
    assert found.over == "runs × examples"


def test_the_ratio_is_that_of_the_means():
    """Half as much everywhere; runs alone make the interval, for examples are paired."""
    found = wavering_ratio(CONTROL, ARM)

    assert found.value == pytest.approx(0.5)
    # Means of 0.3, 0.35 and 0.4: with one left out 0.375, 0.35, 0.325 of each arm; t(2) = 4.303.
    left = np.log([0.375, 0.35, 0.325])
    half_width = 4.3027 * np.sqrt(2 * 2 * left.var())
    assert found.low == pytest.approx(0.5 * np.exp(-half_width), rel=1e-4)
    assert found.high == pytest.approx(0.5 * np.exp(half_width), rel=1e-4)


def test_the_ratio_may_be_of_some_examples():
    """By hand: the first two have 0.3 and 0.4 in the control, 0.25 and 0.2 in the arm."""
    arm = answers([[0.2, 0.2, 0.9, 0.9], [0.3, 0.2, 0.9, 0.9], [0.25, 0.2, 0.9, 0.9]])

    found = wavering_ratio(CONTROL, arm, np.array([True, True, False, False]))

    assert found.value == pytest.approx(0.45 / 0.7)


@pytest.mark.parametrize(
    "other",
    [
        Answers(np.zeros((3, 4), dtype=np.int64), None),
        answers(np.ones((3, 4)), n_steps=20),
        answers(np.ones((3, 4)), first_id=7),
    ],
)
def test_what_cannot_be_compared_has_no_ratio(other):
    """Nobody was traced; they were looked at twice as often; they are other examples."""
    assert wavering_ratio(CONTROL, other) is None


def test_no_chosen_example_has_no_ratio():
    """There is nothing to divide by."""
    assert wavering_ratio(CONTROL, ARM, np.zeros(4, dtype=bool)) is None


def test_two_traced_runs_have_an_interval_over_examples_alone():
    """Which is no verdict on runs."""
    few = answers([[0.1, 0.2, 0.0, 0.3], [0.2, 0.2, 0.1, 0.3]])

    assert wavering_ratio(CONTROL, few).verdict == "too few runs"
    assert mean_wavering(few).over == "examples"


def test_the_others_are_those_that_were_not_traced():
    """All runs, if none was."""
    predictions = np.arange(5)[:, None] * np.ones((1, 2), dtype=np.int64)
    some = answers(np.ones((2, 2)), predictions, traced=np.array([1, 3]))

    assert some.not_traced[:, 0].tolist() == [0, 2, 4]
    assert (some.n_traced, some.n_steps) == (2, 10)
    none = Answers(predictions, None)
    assert len(none.not_traced) == 5
    assert (none.n_traced, none.n_steps) == (0, None)


def test_intervals_cover_the_truth():
    """Ten runs of the control and three of an arm of the same kind: at least 91 of 100."""
    simulation = DynamicsSimulation(n_runs=13, n_examples=200)
    rng = np.random.default_rng(4)
    n_covered = 0
    for _ in range(100):
        entropies, predictions = simulation.make_runs(13, rng)
        both = (answers(entropies[part], predictions[part]) for part in (slice(10), slice(10, 13)))
        found = wavering_ratio(*both)
        n_covered += found.low <= 1.0 <= found.high

    assert n_covered >= 91  # 95 expected at least, with an sd of 2
