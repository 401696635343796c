"""The page of a comparison in a real browser: drawn, quiet, safe, accessible."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.comparison.arms.compare import Side, compare_sides
from seedproof.records.arrays import ArrayShards
from seedproof.records.location import Location
from seedproof.report.comparison.report import ComparisonReport

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def _arms(noises, *, n_runs=8, n_examples=300, n_classes=2):
    """Probabilities of each arm around shared logits, and labels."""
    rng = np.random.default_rng(1)
    logits = 2.2 * rng.normal(size=(n_examples, n_classes))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    found = {}
    for name, noise in noises.items():
        raised = np.exp(logits + noise * rng.normal(size=(n_runs, n_examples, n_classes)))
        found[name] = raised / raised.sum(axis=2, keepdims=True)
    return found, labels


LONG = {f"roberta-large-with-a-long-name-{i}": 0.2 + 0.1 * i for i in range(10)}


def _shapes():
    two = {"none": 0.9, "aswa": 0.4}
    arms, labels = _arms({**two, "again": 0.9})
    costs = {"none": {"seconds": 61.0}, "aswa": {"seconds": 63.0}, "again": {"seconds": 610.0}}
    yield "three-arms", arms, {"labels": labels, "gold": "aswa", "costs": costs}
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
    costs, gold = options.pop("costs", {}), options.pop("gold", None)
    sides = [
        Side(
            arm,
            ArrayShards(values, **options),
            tuple(map(str, range(len(values)))),
            costs.get(arm, {}),
        )
        for arm, values in arms.items()
    ]
    return ComparisonReport(compare_sides(sides, Location.of(folder), gold=gold))


# CI opens the shapes that differ most; SEEDPROOF_FULL=1 opens all.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
IN_CI = ("three-arms", "ten-arms", "two-runs", "no-flips", "hostile")


@pytest.fixture(scope="session", params=SHAPES if FULL else IN_CI)
def shape(request, tmp_path_factory):
    """A comparison of every shape of data."""
    return _compare(tmp_path_factory.mktemp("arms"), request.param)


class Opened:
    """A page with what it said and asked for while it was opened."""

    def __init__(self, page):
        self.page = page
        self.messages = []
        self.requests = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: self.messages.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def open_page(browser, tmp_path):
    """Write a comparison's page, open it, and wait for its charts."""
    contexts = []

    def opened(report, *, width=1280, scheme="light", show=()):
        path = tmp_path / "comparison.html"
        report.to_html(path, show=show, command="seedproof compare runs/")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.goto(path.as_uri())
        found.page.wait_for_function("document.body.dataset.charts !== undefined", timeout=30_000)
        return found

    yield opened
    for context in contexts:
        context.close()


def _serious(page, axe):
    """What axe-core calls serious or critical; it runs outside the page's own policy."""
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": axe})
    found = session.send(
        "Runtime.evaluate",
        {
            "expression": "axe.run().then(r => JSON.stringify(r.violations))",
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    violations = json.loads(found["result"]["value"])
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in violations
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_shape_is_drawn_quietly_and_accessibly(shape, open_page, axe, width, scheme):
    """Every chart is drawn, nothing is logged or requested, nothing overflows, axe is content."""
    opened = open_page(shape, width=width, scheme=scheme)

    page = opened.page
    page.evaluate(
        "document.querySelectorAll('.fold[aria-expanded=false]').forEach(fold => fold.click())"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg path'))"
    )
    assert opened.messages == []
    assert len(opened.requests) == 1  # the file itself
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("img").count() == 0
    assert _serious(page, axe) == []


def test_verdicts_stand_beside_their_marks(open_page, tmp_path):
    """Each line of words is as high as the row of the chart that it tells."""
    page = open_page(_compare(tmp_path, "three-arms")).page

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


def test_no_line_of_a_verdict_covers_the_next(open_page, tmp_path):
    """Words beside the marks fit their rows, also where they say what would show."""
    page = open_page(_compare(tmp_path, "ten-arms")).page

    spilled = page.evaluate(
        "[...document.querySelectorAll('.said li')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
    )

    assert spilled == 0


def test_hostile_texts_stay_texts(open_page, axe):
    """A user's own column is shown as it is, and runs nothing."""
    rows = [
        {
            "run": f"{EVIL}{r}",
            "example": f"{EVIL}{e}",
            "prediction": EVIL if v == "a" else "b",
            "text": EVIL,
        }
        for r, votes in enumerate(["aabb", "abab", "aaab"])
        for e, v in enumerate(votes)
    ]
    calm = [row | {"prediction": EVIL} for row in rows]
    report = sp.compare([pa.Table.from_pylist(rows), pa.Table.from_pylist(calm)])

    opened = open_page(report, show=["text"])

    assert opened.messages == []
    assert len(opened.requests) == 1
    assert EVIL in opened.page.locator(".moved").first.inner_text()
    assert opened.page.locator("img").count() == 0
    assert _serious(opened.page, axe) == []


def test_texts_are_absent_unless_asked_for(open_page):
    """Without `show` a text is not even in the file."""
    rows = [
        {"run": r, "example": e, "prediction": str((r + e) % 2), "text": "a secret"}
        for r in range(3)
        for e in range(4)
    ]
    table = pa.Table.from_pylist(rows)

    opened = open_page(sp.compare([table, table]))

    assert "a secret" not in opened.page.content()


def test_charts_are_read_with_arrow_keys(open_page, tmp_path):
    """A focused chart says its effects one after the other."""
    page = open_page(_compare(tmp_path, "three-arms")).page

    page.focus("#c-forest_flip_rate")
    page.keyboard.press("ArrowRight")

    said = page.inner_text("#c-forest_flip_rate + .reading")
    assert said.startswith("1 of 2: arm aswa, change −")
    assert said.endswith("verdict steadier")


def test_print_is_light_and_short(open_page, tmp_path):
    """Printed from a dark page: a PDF of a few light pages."""
    page = open_page(_compare(tmp_path, "three-arms"), scheme="dark").page
    page.emulate_media(media="print")

    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.pdf(path=str(tmp_path / "comparison.pdf"), prefer_css_page_size=True)

    n_pages = (tmp_path / "comparison.pdf").read_bytes().count(b"/Type /Page\n")
    assert background == "rgb(255, 255, 255)"
    assert 1 <= n_pages <= 6
