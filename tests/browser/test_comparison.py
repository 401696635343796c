"""The page of a comparison in a real browser."""

import os
from functools import cache

import numpy as np
import pytest

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.report.comparison.report import ComparisonReport

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def _arms(noises, *, n_runs=8, n_examples=300, n_classes=2):
    """Probabilities of each arm around shared logits, and labels."""
    rng = np.random.default_rng(1)
    logits = 2.2 * rng.normal(size=(n_examples, n_classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    arms = {}
    for name, noise in noises.items():
        raised = np.exp(logits + noise * rng.normal(size=(n_runs, n_examples, n_classes)))
        arms[name] = raised / raised.sum(axis=2, keepdims=True)
    return arms, labels


LONG = {f"roberta-large-with-a-long-name-{i}": 0.2 + 0.1 * i for i in range(10)}


def _shapes():
    two = {"none": 0.9, "aswa": 0.4}
    arms, labels = _arms({**two, "again": 0.9})
    costs = {"none": {"seconds": 61.0}, "aswa": {"seconds": 63.0}, "again": {"seconds": 610.0}}
    yield "three-arms", arms, {"labels": labels, "reference": "aswa", "costs": costs}
    arms, labels = _arms({"none": 0.9, **LONG})
    costs = {name: {"seconds": 60.0 + 50 * i} for i, name in enumerate(arms)}
    yield "ten-arms", arms, {"labels": labels, "costs": costs}
    arms, labels = _arms(two, n_classes=150)
    yield "150-classes", arms, {"labels": labels}
    arms, labels = _arms(two, n_classes=4)
    yield "labels-only", {k: v.argmax(2) for k, v in arms.items()}, {"labels": labels}
    yield "no-labels", _arms(two, n_classes=3)[0], {}
    arms, labels = _arms(two, n_runs=2)
    yield "two-runs", arms, {"labels": labels}
    arms, labels = _arms(two)
    yield "unequal", {"none": arms["none"], "aswa": arms["aswa"][:5]}, {"labels": labels}
    yield "no-flips", dict.fromkeys(two, np.zeros((4, 40), dtype=int)), {}
    names = {EVIL: 0.9, f"{EVIL}2": 0.4, "__proto__": 0.3, "var(--x) \\ '": 0.5}
    arms, labels = _arms(names, n_runs=5, n_examples=80)
    yield (
        "hostile",
        arms,
        {
            "labels": labels,
            "classes": [EVIL, "</script>"],
            "costs": {k: {"seconds": i} for i, k in enumerate(arms, 1)},
        },
    )


SHAPES = {name: (arms, options) for name, arms, options in _shapes()}


def _compare(folder, name):
    arms, options = SHAPES[name]
    options = dict(options)
    costs, reference = options.pop("costs", {}), options.pop("reference", None)
    sides = [
        ArmData(
            arm,
            ArrayShards(values, **options),
            tuple(map(str, range(len(values)))),
            costs.get(arm, {}),
        )
        for arm, values in arms.items()
    ]
    return ComparisonReport(compare_arms(sides, Location.of(folder), reference=reference))


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """The comparison of a shape, made once."""
    return cache(lambda name: _compare(tmp_path_factory.mktemp("arms"), name))


# CI opens the shapes that differ most; SEEDPROOF_FULL=1 opens all.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
IN_CI = ("three-arms", "two-runs", "no-flips", "hostile")


@pytest.fixture(scope="session", params=SHAPES if FULL else IN_CI)
def shape(request, compared):
    """Comparisons of different shapes of data."""
    return compared(request.param)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_page_of_every_shape_is_sound(shape, open_page, assert_sound, width, scheme):
    """Every chart is drawn, and the texts next to the marks fit their rows."""
    opened = open_page(shape, width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)
    n_spilled = opened.page.evaluate(
        "[...document.querySelectorAll('.said li')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
    )
    assert n_spilled == 0


def test_verdicts_are_level_with_their_marks(compared, open_page):
    """Each line of text is at the height of its row in the chart."""
    page = open_page(compared("three-arms")).page

    tops = page.evaluate(
        """() => {
          const block = document.querySelector(".block");
          const marks = [...block.querySelectorAll(".mark-symbol path")];
          const middle = (e) => { const box = e.getBoundingClientRect(); return box.top + box.height / 2; };
          return [marks.map(middle), [...block.querySelectorAll(".said li")].map(middle)];
        }"""
    )

    assert len(tops[0]) == len(tops[1]) == 2
    assert tops[0] == pytest.approx(tops[1], abs=4)  # pixels, of a row of 38


def test_arrow_keys_read_the_effects_of_a_chart(compared, open_page):
    """One after the other, in a line below the chart."""
    page = open_page(compared("three-arms")).page

    page.focus("#c-forest_flip_rate")
    page.keyboard.press("ArrowRight")

    line = page.inner_text("#c-forest_flip_rate + .reading")
    (first, cell), (second, _) = compared("three-arms").view().blocks[0].cells
    assert all(part in line for part in (first, cell.change, cell.verdict))
    assert second not in line


def test_page_prints_light_and_short(compared, open_page, assert_prints_well):
    """From a dark page."""
    assert_prints_well(open_page(compared("three-arms"), scheme="dark").page)
