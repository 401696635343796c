"""The page of a measurement in a real browser."""

import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"
ROWS = "#examples tbody tr"


def _probs(seed, n_runs, n_examples, n_classes):
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(1, n_examples, n_classes))
    raised = np.exp(logits + rng.normal(size=(n_runs, n_examples, n_classes)))
    return raised / raised.sum(axis=2, keepdims=True)


def _labels(seed, n_examples, n_classes):
    return np.random.default_rng(seed).integers(0, n_classes, n_examples)


SHAPES = {
    "two-classes": lambda: sp.measure(str(EXAMPLE)),
    "150-classes": lambda: sp.measure(
        _probs(1, 6, 400, 150),
        labels=_labels(1, 400, 150),
        slices={"<b>" + "column" * 9: [f"<i>{'value' * 20}{i % 30}" for i in range(400)]},
    ),
    "labels-only": lambda: sp.measure(_probs(2, 8, 300, 4).argmax(2), labels=_labels(2, 300, 4)),
    "no-labels": lambda: sp.measure(_probs(3, 8, 300, 3)),
    "two-runs": lambda: sp.measure(_probs(4, 2, 300, 2), labels=_labels(4, 300, 2)),
    "200-runs": lambda: sp.measure(_probs(5, 200, 200, 3), labels=_labels(5, 200, 3)),
    "no-flips": lambda: sp.measure(np.repeat(_probs(6, 1, 50, 2), 4, axis=0)),
    "many-examples": lambda: sp.measure(_probs(7, 5, 20_000, 3), labels=_labels(7, 20_000, 3)),
    "one-class": lambda: sp.measure(np.zeros((3, 20), dtype=int)),
}


@cache
def _measured(name):
    return SHAPES[name]()


# CI opens the shapes that differ most; SEEDPROOF_FULL=1 opens all.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
IN_CI = ("two-classes", "150-classes", "two-runs", "one-class")


@pytest.fixture(scope="session", params=SHAPES if FULL else IN_CI)
def shape(request):
    """Reports of different shapes of data."""
    return _measured(request.param)


@pytest.fixture(scope="session")
def usual():
    """The report of the example: ten runs, two classes, labels and probabilities."""
    return _measured("two-classes")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_page_of_every_shape_is_sound(shape, open_page, assert_sound, width, scheme):
    """Every chart is drawn."""
    opened = open_page(shape, width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)


def test_search_filters_the_table(usual, open_page):
    """The count changes, too."""
    page = open_page(usual).page

    page.fill("#search", "1102")

    rows = page.locator(ROWS)
    assert rows.count() == 1
    assert re.findall(r"\d+", page.locator("#count").inner_text()) == ["1", "1"]


def test_click_on_a_header_sorts(usual, open_page):
    """A second click reverses the order."""
    page = open_page(usual).page
    button = page.locator("th button[data-key=sd]")

    button.click()
    falling = page.locator(f"{ROWS} td:last-child").all_inner_texts()
    button.click()
    rising = page.locator(f"{ROWS} td:last-child").all_inner_texts()

    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(rising)
    assert page.locator("th[aria-sort=ascending] button").get_attribute("data-key") == "sd"


def test_button_shows_more_rows(usual, open_page):
    """Twelve rows first, twenty more after a click."""
    page = open_page(usual).page

    n_first = page.locator(ROWS).count()
    page.click("#more")

    assert (n_first, page.locator(ROWS).count()) == (12, 32)


def test_phone_folds_all_but_the_first_sections(usual, open_page):
    """A press on a title opens its section and draws the charts."""
    page = open_page(usual, width=390).page
    folds = page.locator(".fold[aria-expanded=false]")
    n_folded = folds.count()

    page.click("#calibration .fold")
    page.wait_for_selector("#c-reliability_0 svg path")

    assert n_folded == 4
    assert folds.count() == 3


def test_button_switches_between_dark_and_light(usual, open_page):
    """Its label changes, too."""
    page = open_page(usual, scheme="dark").page
    assert page.evaluate("document.documentElement.classList.contains('dark')")

    before = page.inner_text("#theme")
    page.click("#theme")

    assert not page.evaluate("document.documentElement.classList.contains('dark')")
    assert page.inner_text("#theme") not in {"", before}


def test_arrow_keys_read_the_values_of_a_chart(usual, open_page):
    """One after the other, in a line below the chart."""
    page = open_page(usual).page

    page.focus("#c-accuracy_by_run")
    page.keyboard.press("ArrowRight")
    first = page.inner_text("#c-accuracy_by_run + .reading")
    page.keyboard.press("End")
    last = page.inner_text("#c-accuracy_by_run + .reading")

    numbers = usual.figure("accuracy_by_run").figure.numbers
    assert [int(number) for number in re.findall(r"\d+", first)[:2]] == [1, 10]
    assert [int(number) for number in re.findall(r"\d+", last)[:2]] == [10, 10]
    assert all(cell in first for cell in numbers[0])
    assert all(cell in last for cell in numbers[-1])


def test_policy_forbids_eval_and_requests(usual, open_page):
    """The page cannot evaluate text as code."""
    page = open_page(usual).page

    policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")

    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_page_prints_light_and_short(usual, open_page, assert_prints_well):
    """From a dark page."""
    assert_prints_well(open_page(usual, scheme="dark").page)
