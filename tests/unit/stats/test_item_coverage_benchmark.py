"""The benchmark of lists and sets measures and compares as the product does."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from seedproof.records.schema import Kind

PLACE = Path(__file__).parents[3] / "benchmarks" / "item_coverage.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("item_coverage_benchmark", PLACE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", [Kind.RANKINGS, Kind.SETS])
def test_studies_have_every_figure(benchmark, kind, monkeypatch):
    """With clusters of examples; a study of the true size is near the truth."""
    monkeypatch.setattr(benchmark, "N_TRUE_STUDIES", 4)
    benchmark.true_values.cache_clear()
    design = benchmark.Design(kind, n_runs=5, n_examples=400, cluster_size=10)
    (source,) = design.draw(np.random.default_rng(0))

    estimates = benchmark.measured(design, source)

    for name, truth in benchmark.true_values(kind).items():
        value, low, high = estimates[name]
        assert low <= value <= high
        assert value == pytest.approx(truth, rel=0.2)
    arms, versions = benchmark.false_alarms(design, 2, seed=0)
    assert 0.0 <= arms <= 1.0
    assert 0.0 <= versions <= 1.0
    benchmark.true_values.cache_clear()
