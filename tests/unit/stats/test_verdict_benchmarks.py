"""The benchmarks of verdicts judge as the gate and `sp.compare` do, and print whole tables."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.stats.intervals import PLAIN
from seedproof.stats.looks import AT_LOOK

FOLDER = Path(__file__).parents[3] / "benchmarks"


def loaded(name):
    """Return a benchmark as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_benchmark", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def verdicts():
    return loaded("verdicts")


@pytest.mark.parametrize("declared", [None, 10])
@pytest.mark.parametrize("ratio", [0.5, 0.7, 1.0, 1.5])
def test_outcomes_are_those_of_the_gate(verdicts, ratio, declared):
    """With clusters, at a look and at a declared number of runs."""
    design = replace(verdicts.DESIGNS["clusters of 20"], n_examples=400)
    batch = verdicts.first_runs(design.draw(np.random.default_rng(3)), 10)
    figure = verdicts.flip_rate(batch, design)
    limit = figure.value / ratio
    given = sp.Predictions.from_arrays(
        batch.predictions, labels=batch.labels, clusters=design.clusters
    )

    report = sp.gate(given, max={"flip_rate": limit}, declared_runs=declared)

    level = AT_LOOK if declared is None else PLAIN
    assert verdicts.outcome(figure, limit, level) == report.outcome


def test_changed_arms_differ_by_the_margin(verdicts):
    """Half a percentage point of accuracy."""
    base = replace(verdicts.USUAL, n_runs=5, n_examples=100)
    arm = verdicts.changed(base, "accuracy")

    truths = [x.truth(np.random.default_rng(1), 50_000)["accuracy"] for x in (base, arm)]

    assert truths[0] - truths[1] == pytest.approx(0.005, abs=2e-4)


def test_spreads_of_every_kind_have_the_same_standard_deviation():
    """So that a ratio of 2 is the truth for all of them."""
    spreads = loaded("spreads")
    rng = np.random.default_rng(4)

    for draw in spreads.KINDS.values():
        values = draw(rng, (400_000,))
        assert (values.mean(), values.std()) == pytest.approx((0.0, 1.0), abs=0.02)
    shares = spreads.rates(spreads.KINDS["normal"], 0.8, 10, 40, rng)
    assert min(shares[0], shares[2]) > 0.8
    assert shares[1] > shares[3]
