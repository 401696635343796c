"""The page in a real browser: drawn, quiet, searchable, safe, accessible."""

import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.report.figures import build_figures

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictions.csv"
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
OWN_TEXT = "a secret"
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
    "150-classes": lambda: sp.measure(_probs(1, 6, 400, 150), labels=_labels(1, 400, 150)),
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
IN_CI = ("two-classes", "150-classes", "two-runs", "200-runs", "one-class")


@pytest.fixture(scope="session", params=SHAPES if FULL else IN_CI)
def shape(request):
    """A report of every shape of data."""
    return _measured(request.param)


@pytest.fixture(scope="session")
def usual():
    """The report of the example: ten runs, two classes, labels and probabilities."""
    return _measured("two-classes")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_shape_is_drawn_quietly_and_accessibly(shape, open_page, assert_sound, width, scheme):
    """Every chart is drawn, nothing is logged or requested, nothing overflows, axe is content."""
    opened = open_page(shape, width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)


def test_search_narrows_the_table(usual, open_page):
    """What is typed filters the examples, and the count says so."""
    page = open_page(usual).page

    page.fill("#search", "1102")

    rows = page.locator(ROWS)
    assert rows.count() == 1
    assert re.findall(r"\d+", page.locator("#count").inner_text()) == ["1", "1"]


def test_a_header_sorts_and_sorts_back(usual, open_page):
    """A click sorts by the column, a second one the other way."""
    page = open_page(usual).page
    button = page.locator("th button[data-key=sd]")

    button.click()
    falling = page.locator(f"{ROWS} td:last-child").all_inner_texts()
    button.click()
    rising = page.locator(f"{ROWS} td:last-child").all_inner_texts()

    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(rising)
    assert page.locator("th[aria-sort=ascending] button").get_attribute("data-key") == "sd"


def test_more_rows_on_demand(usual, open_page):
    """Twelve rows first, twenty more at a click."""
    page = open_page(usual).page

    n_first = page.locator(ROWS).count()
    page.click("#more")

    assert (n_first, page.locator(ROWS).count()) == (12, 32)


def test_hostile_words_stay_words(open_page, assert_sound):
    """Ids, classes, runs and texts full of markup are shown as they are, and run nothing."""
    names = [f"{EVIL}{i}" for i in range(4)]
    rows = [
        {"run": f"{EVIL}{r}", "example": names[e], "label": EVIL, "prediction": p, "text": EVIL}
        for r, votes in enumerate(["aabb", "abab", "aaab"])
        for e, p in enumerate(EVIL if v == "a" else "</script>" for v in votes)
    ]
    report = sp.measure(pa.Table.from_pylist(rows))

    opened = open_page(report, show=["text"])

    assert EVIL in opened.page.locator("#examples").inner_text()
    assert_sound(opened)


def test_texts_are_absent_unless_asked_for(open_page):
    """Without `show` a text is not even in the file."""
    rows = [
        {"run": r, "example": e, "prediction": str((r + e) % 2), "text": OWN_TEXT}
        for r in range(3)
        for e in range(4)
    ]

    opened = open_page(sp.measure(pa.Table.from_pylist(rows)))

    assert OWN_TEXT not in opened.page.content()


def test_a_phone_folds_all_but_the_first_sections(usual, open_page):
    """Findings stay readable as titles; a press opens one and draws its charts."""
    page = open_page(usual, width=390).page
    folds = page.locator(".fold[aria-expanded=false]")
    n_folded = folds.count()

    page.click("#calibration .fold")
    page.wait_for_selector("#c-reliability_0 svg path")

    assert n_folded == 3
    assert folds.count() == 2


def test_dark_and_light_at_a_press(usual, open_page):
    """The button turns the page over and says what it will do next."""
    page = open_page(usual, scheme="dark").page
    assert page.evaluate("document.documentElement.classList.contains('dark')")

    before = page.inner_text("#theme")
    page.click("#theme")

    assert not page.evaluate("document.documentElement.classList.contains('dark')")
    assert page.inner_text("#theme") not in {"", before}


def _figure(report, name):
    return next(figure for figure in build_figures(report.measurement) if figure.name == name)


def test_charts_are_read_with_arrow_keys(usual, open_page):
    """A focused chart says its values one after the other."""
    page = open_page(usual).page

    page.focus("#c-accuracy_by_run")
    page.keyboard.press("ArrowRight")
    first = page.inner_text("#c-accuracy_by_run + .reading")
    page.keyboard.press("End")
    last = page.inner_text("#c-accuracy_by_run + .reading")

    numbers = _figure(usual, "accuracy_by_run").numbers
    assert [int(number) for number in re.findall(r"\d+", first)[:2]] == [1, 10]
    assert [int(number) for number in re.findall(r"\d+", last)[:2]] == [10, 10]
    assert all(cell in first for cell in numbers[0])
    assert all(cell in last for cell in numbers[-1])


def test_the_policy_forbids_eval_and_everything_outside(usual, open_page):
    """The page cannot evaluate text as code, even if some was smuggled in."""
    page = open_page(usual).page

    policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")

    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_print_is_light_and_short(usual, open_page, tmp_path):
    """Printed from a dark page: a PDF of a few light pages."""
    page = open_page(usual, scheme="dark").page
    page.emulate_media(media="print")

    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.pdf(path=str(tmp_path / "report.pdf"), prefer_css_page_size=True)

    n_pages = (tmp_path / "report.pdf").read_bytes().count(b"/Type /Page\n")
    assert background == "rgb(255, 255, 255)"
    assert 1 <= n_pages <= 6
