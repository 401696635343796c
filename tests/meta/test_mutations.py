"""Rows of `benchmarks/mutations.py` are found in the code, and faults reach the functions."""

import importlib.util
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from seedproof.metrics.block_statistic import Residuals, Shape
from seedproof.stats.looks import look_at
from support.gated import gated_packages

FILE = Path(__file__).parents[2] / "benchmarks" / "mutations.py"


@pytest.fixture(scope="module")
def mutations():
    spec = importlib.util.spec_from_file_location("mutations_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_each_row_is_found_exactly_once(mutations):
    """Where code has moved, aim its rows anew: `python benchmarks/mutations.py --aim`."""
    assert mutations.lost_rows() == []


def test_there_are_enough_rows_and_none_twice(mutations):
    rows = Counter((row.function, row.old, row.new) for row in mutations.MUTATIONS)

    assert len(rows) >= 60
    assert set(rows.values()) == {1}


@pytest.mark.parametrize(
    "change",
    [
        {"function": "stats.looks:no_such_function"},
        {"function": "stats.no_such_module:look_at"},
        {"old": "no such fragment"},
        {"old": "n", "new": "m"},  # many times
        {"new": "if n <= n_runs"},  # nothing changes
        {"test": "tests/unit/stats/no_such_file.py"},
    ],
)
def test_a_row_that_does_not_fit_is_lost(mutations, change):
    row = mutations.Mutation(
        "stats.looks:look_at", "if n <= n_runs", "if n < n_runs", "tests/unit/stats/test_looks.py"
    )
    assert mutations.lost_rows(rows=[row]) == []

    assert len(mutations.lost_rows(rows=[replace(row, **change)])) == 1


@pytest.mark.parametrize(
    ("fault", "call", "expected"),
    [
        (("stats.looks:look_at", "n <= n_runs", "n < n_runs"), lambda: look_at(5), None),
        (
            ("metrics.block_statistic:Shape.df", "max(min(self.n - 1, df), 1.0)", "7.0"),
            lambda: Shape(3).df,
            7.0,
        ),
        (
            ("metrics.block_statistic:Residuals.n_clusters", "len(self.whole)", "9"),
            lambda: Residuals(3, (), ()).n_clusters,
            9,
        ),
    ],
)
def test_a_fault_is_in_the_function_wherever_it_was_imported(mutations, fault, call, expected):
    """Also behind a property."""
    row = mutations.Mutation(*fault, test="")
    module, _, names = row.function.partition(":")
    target = sys.modules[f"seedproof.{module}"]
    for name in names.split("."):
        target = vars(target)[name]
    code = mutations._function_of(target)
    before, usual = code.__code__, call()
    try:
        mutations.apply(row)
        assert call() == expected
    finally:
        code.__code__ = before
    assert call() == usual != expected


def test_new_packages_are_gated(tmp_path):
    """Those that are exempt are listed; of some, only parts are."""
    for name in ("api", "stats", "rows", "comparison", "comparison/gate", "comparison/arms"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()

    gated = gated_packages(tmp_path, {"api", "comparison/arms", "comparison/*.py", "*.py"})

    assert gated == ["comparison/gate", "rows", "stats"]


def test_stats_gate_and_decide_are_gated():
    assert {"stats", "comparison/gate", "comparison/decide"} <= set(gated_packages())
