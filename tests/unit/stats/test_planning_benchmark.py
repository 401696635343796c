"""The benchmark of planned studies: it judges as `sp.compare` does, and its truth is that of draws."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.stats.families import shared_level
from seedproof.stats.intervals import PLAIN

PATH = Path(__file__).parents[3] / "benchmarks" / "planning.py"


@pytest.fixture(scope="module")
def planning():
    """Return the benchmark as a module."""
    spec = importlib.util.spec_from_file_location("planning_benchmark", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.N_POPULATION = 20_000
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("place", [0, 4, 5, 9])
def test_studies_are_judged_as_compare_does(planning, place):
    """Three arms, with examples and with clusters."""
    design = replace(planning.DESIGNS[place], n_examples=300)
    batches = design.draw(6, 3, np.random.default_rng(1))
    clusters = design.clusters(300)
    arms = {
        f"arm {i - 1}": sp.Predictions.from_arrays(
            batch.predictions, labels=batch.labels, clusters=clusters
        )
        for i, batch in enumerate(batches)
    }
    report = sp.compare(
        arms, baseline="arm -1", primary=design.metric, metrics=["flip_rate", "accuracy"]
    )

    rows = planning.contrasts(design, batches)

    for index, row in enumerate(rows):
        other = report.arm(f"arm {index}").contrasts[design.metric]
        ends, expected = ((x.effect(PLAIN).low, x.effect(PLAIN).high) for x in (row, other))
        assert ends == pytest.approx(expected, rel=1e-12)  # clusters are added in another order
    assert shared_level(rows, PLAIN).tail < PLAIN.tail


@pytest.mark.parametrize("place", [0, 5])
def test_a_row_has_power_and_its_error(planning, place):
    planning.N_ARMS = (1,)

    (row,) = planning.rows_of(planning.DESIGNS[place], 3, np.random.default_rng(2))

    assert row.count("|") == 7
    assert "±" in row
