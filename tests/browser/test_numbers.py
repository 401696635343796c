"""The page of runs that give a number for each example, in a real browser."""

import os
from functools import cache

import numpy as np
import pytest

import seedproof as sp

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def _scores(n_runs, n_examples, *, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(50, 20, n_examples)
    return means + rng.gamma(2, 3, n_examples) * rng.normal(size=(n_runs, n_examples)), means


def _regression(n_runs, n_examples):
    numbers, targets = _scores(n_runs, n_examples)
    return sp.measure(numbers, targets=targets, tolerance="5%", thresholds=[30.0, 60.0])


def _hostile():
    numbers, targets = _scores(4, 40)
    names = [f"{EVIL}{i}" for i in range(40)]
    slices = {EVIL: [EVIL, "constructor"] * 20}
    return sp.measure(numbers, targets=targets, ids=names, slices=slices)


SHAPES = {
    "regression": lambda: _regression(6, 200),
    "many-examples": lambda: _regression(5, 5000),
    "60-runs": lambda: _regression(60, 100),
    "outcomes": lambda: sp.measure((_scores(5, 60)[0] > 50).astype(float)),
    "equal": lambda: sp.measure(np.ones((3, 20))),
    "hostile": _hostile,
}
# CI opens the shapes that differ most; SEEDPROOF_FULL=1 opens all.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
IN_CI = ("regression", "outcomes", "hostile")


@cache
def _measured(name):
    return SHAPES[name]()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", SHAPES if FULL else IN_CI)
def test_page_of_every_shape_is_sound(name, width, scheme, open_page, assert_sound):
    """Every chart is drawn."""
    opened = open_page(_measured(name), width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)


def test_least_stable_example_comes_with_all_of_its_numbers(open_page):
    """A tick for each number, and one for the target."""
    report = _measured("regression")
    first = open_page(report).page.locator(".strips tbody tr").first

    example = report.view().numbers[0]
    assert first.locator("th").inner_text() == example.example
    assert first.locator("line:not(.axis):not(.target)").count() == len(set(example.numbers))
    assert first.locator("line.target").count() == 1
