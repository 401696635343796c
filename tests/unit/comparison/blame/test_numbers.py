"""Parts of the uncertainty of a mean, and the effect of more repeats."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from seedproof.comparison.blame.numbers import blame_numbers
from seedproof.errors import InputError, TooFewRunsError
from seedproof.measurement.engines import measuring_engine
from seedproof.records.answer_settings import AnswerSettings, Levels
from seedproof.records.shards import NumberShards

SIZES = (6, 3, 2)
NAMES = ("run", "run_example", "trial", "trial_example", "judge", "judge_example", "example")
PLAIN = AnswerSettings()


def source(numbers, settings=PLAIN):
    names = [str(repeat) for repeat in range(len(numbers))]
    return NumberShards(names, pa.array(np.arange(numbers.shape[1])), numbers, settings=settings)


def levels(*sizes):
    codes = np.array(list(product(*map(range, sizes)))).T
    names = ("run", "trial", "judge")[: len(sizes)]
    return AnswerSettings(levels=Levels(names, tuple(map(tuple, codes.tolist()))))


def drawn(rng, sds, n_examples=40):
    """Return numbers with a part of each level, of examples and of each with examples."""
    numbers = sds["example"] * rng.normal(size=n_examples) + np.zeros((*SIZES, 1))
    for depth, name in enumerate(("run", "trial", "judge"), start=1):
        shape = (*SIZES[:depth], *[1] * (len(SIZES) - depth))
        numbers = numbers + sds[name] * rng.normal(size=(*shape, 1))
        numbers = numbers + sds[f"{name}_example"] * rng.normal(size=(*shape, n_examples))
    return numbers.reshape(-1, n_examples)


def test_standard_error_is_the_spread_of_means_over_studies():
    """Of all parts together, which are near those that were drawn."""
    rng = np.random.default_rng(0)
    sds = dict(zip(NAMES, (0.3, 1.0, 0.2, 0.8, 0.1, 0.5, 1.5), strict=True))
    studies = [drawn(rng, sds) for _ in range(120)]

    blamed = [blame_numbers(source(study, levels(*SIZES))) for study in studies]

    spread = np.std([study.mean() for study in studies], ddof=1)
    errors = [result.standard_error**2 for result in blamed]
    # The spread of 120 means is known to 6.5 %.
    assert np.sqrt(np.mean(errors)) == pytest.approx(spread, rel=0.2)
    for name, sd in sds.items():
        metric = "variance_residual" if name == "judge_example" else f"variance_{name}"
        parts = [part for result in blamed for part in result.parts if part.metric == metric]
        # Cutting at 0 makes small parts a little larger.
        assert np.mean([part.sd**2 for part in parts]) == pytest.approx(sd**2, rel=0.15, abs=0.03)


def test_twice_as_many_of_the_only_part_narrow_by_its_root():
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=2000) + 1e-6 * rng.normal(size=(4, 2000))

    result = blame_numbers(source(numbers, AnswerSettings(are_trials=True)))

    assert result.sizes == {"trial": 4, "example": 2000}
    assert result.parts[0].metric == "variance_example"
    assert result.parts[0].of_mean == pytest.approx(1.0)
    assert result.standard_error == pytest.approx(numbers.mean(axis=0).std() / 2000**0.5, rel=0.01)
    first, second = result.more
    assert (first.unit, second.unit) == ("example", "trial")
    assert first.narrower == pytest.approx(1 - 0.5**0.5)
    assert second.narrower == pytest.approx(0.0, abs=1e-6)


def test_shares_add_up_and_engines_agree():
    numbers = drawn(np.random.default_rng(2), dict.fromkeys(NAMES, 1.0))
    engine = measuring_engine("processes", workers=2)
    serial = blame_numbers(source(numbers, levels(*SIZES)))
    parallel = blame_numbers(source(numbers, levels(*SIZES)), engine=engine)

    assert serial.to_json() == parallel.to_json()
    assert sum(part.of_mean for part in serial.parts) == pytest.approx(1.0)
    assert sum(part.share.value for part in serial.parts) == pytest.approx(1.0)
    order = [part.of_mean for part in serial.parts]
    assert order == sorted(order, reverse=True)


def test_numbers_without_variance_are_refused():
    with pytest.raises(InputError):
        blame_numbers(source(np.ones((5, 20))))
    with pytest.raises(TooFewRunsError):
        blame_numbers(source(np.random.default_rng(0).normal(size=(4, 20)), levels(1, 4)))
