"""Bias and coverage of entropy figures in a few simulated studies."""

import os
import runpy
from pathlib import Path

import numpy as np
import pytest

from support import entropy
from support.entropy import DESIGNS, TWO_ARMS, corrected_entropy, reductions

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "entropy.py"
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
N_STUDIES = 400 if FULL else 60


@pytest.mark.parametrize("name", ["normal margins", "88 % right, wrong classes even"])
@pytest.mark.parametrize("n_runs", [5, 10])
def test_corrected_entropy_at_many_classes(name, n_runs):
    """The bias is at most 15 %, and intervals cover the truth."""
    result = corrected_entropy(
        DESIGNS[name],
        n_classes=150,
        n_runs=n_runs,
        n_examples=500,
        n_studies=N_STUDIES,
        rng=np.random.default_rng(1),
    )

    assert abs(result.bias) < 0.15
    assert abs(result.bias) < abs(result.jackknife)
    # Four standard errors of a share of 0.95 from 60 studies are 0.11.
    assert result.coverage >= 0.95 - 0.11


@pytest.mark.parametrize("name", ["no effect", "entropy halved, paired, clusters of 20"])
def test_reductions_are_covered(name):
    result = reductions(
        TWO_ARMS[name],
        n_runs=10,
        n_examples=400,
        n_studies=N_STUDIES,
        rng=np.random.default_rng(2),
    )

    assert min(result.coverage) >= 0.95 - 0.11


def test_benchmark_prints_both_tables(monkeypatch, capsys):
    """Each design has a row per size."""
    monkeypatch.setattr(entropy, "N_POPULATION", 100)
    monkeypatch.setattr(entropy, "N_POPULATIONS", 2)
    main = runpy.run_path(str(BENCHMARK))["main"]

    main(["--studies", "2", "--examples", "60"])

    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    n_designs = sum(
        design.least_classes <= n_classes
        for design in DESIGNS.values()
        for n_classes in (2, 10, 150)
    )
    assert len(rows) == 2 + 2 * n_designs + 2 * len(TWO_ARMS)
