"""Speed of two commits in turns: `benchmarks/turns.py`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

FILE = Path(__file__).parents[2] / "benchmarks" / "turns.py"


@pytest.fixture(scope="module")
def turns():
    spec = importlib.util.spec_from_file_location("turns_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("n_turns", [6, 9, 15])
def test_interval_is_that_of_the_sign_test(turns, n_turns):
    """Widest order statistics that leave at most 2.5 % on each side."""
    ratios = np.random.default_rng(n_turns).normal(1.0, 0.05, n_turns)

    ratio = turns.median_ratio(ratios.tolist())

    place = int(stats.binom.ppf(0.025, n_turns, 0.5))
    ordered = np.sort(ratios)
    assert (ratio.low, ratio.high) == (ordered[place - 1], ordered[-place])
    assert ratio.coverage == pytest.approx(1 - 2 * stats.binom.cdf(place - 1, n_turns, 0.5))
    assert ratio.median == np.median(ratios)


def test_nine_turns_leave_out_the_smallest_and_the_largest(turns):
    ratio = turns.median_ratio([1.0, 1.1, 0.9, 1.2, 0.8, 1.3, 0.7, 1.4, 0.6])

    assert (ratio.low, ratio.median, ratio.high) == (0.7, 1.0, 1.3)
    assert ratio.coverage == pytest.approx(1 - 2 * 10 / 512)


def test_few_turns_have_no_interval(turns):
    ratio = turns.median_ratio([1.0, 1.1, 0.9, 1.2, 0.8])

    assert ratio.low is ratio.high is None


def test_cpu_time_of_children_counts_and_a_failure_ends_all(turns, tmp_path):
    """The tiniest command, and one that does not exist."""
    source = FILE.parents[1] / "src"

    assert 0.0 < turns.cpu_seconds(source, ["--version"], tmp_path) < 60.0
    with pytest.raises(SystemExit):
        turns.cpu_seconds(source, ["no-such-verb"], tmp_path)
