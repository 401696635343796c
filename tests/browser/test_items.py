"""Pages of runs that give ranked lists, sets or texts, in a real browser."""

import os
from functools import cache

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.items.exposure import exposures

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LABELS = ("anger", "fear", "joy", "love", "a label of a rather long name that has to be broken")
N_EXAMPLES = 60


def _rankings(n_runs=6, *, noise=0.6, seed=1, name="film {}"):
    rng = np.random.default_rng(seed)
    scores = np.random.default_rng(0).normal(size=(N_EXAMPLES, 25))
    noisy = scores + noise * rng.normal(size=(n_runs, *scores.shape))
    noisy += 0.5 * rng.normal(size=(n_runs, 1, 25))  # runs favor some items
    top = np.argsort(-noisy, axis=2)[:, :, :12]
    right = np.argsort(-scores, axis=1)[:, 1:4]
    named = np.array([name.format(item) for item in range(25)])
    return named[top].tolist(), {"kind": "rankings", "relevant": named[right].tolist()}


def _sets(n_runs=6, *, noise=0.6, seed=1, labels=LABELS):
    rng = np.random.default_rng(seed)
    scores = np.random.default_rng(0).normal(size=(N_EXAMPLES, len(labels)))
    noisy = scores + noise * rng.normal(size=(n_runs, *scores.shape))

    def named(values):
        return [[labels[i] for i in np.flatnonzero(row > 0)] for row in values]

    return [named(of_run) for of_run in noisy], {"kind": "sets", "labels": named(scores)}


def _texts(n_runs=6, *, right=0.5, seed=1, text="a secret of {}"):
    rng = np.random.default_rng(seed)
    answers = [
        [
            text.format("Paris" if rng.random() < right else f"Lyon {rng.integers(3)}")
            for _ in range(N_EXAMPLES)
        ]
        for _ in range(n_runs)
    ]
    return answers, {"references": [text.format("Paris")] * N_EXAMPLES}


def _measured(given, **more):
    answers, options = given
    return sp.measure(answers, **options, **more)


def _compared(make, old, new):
    (base, options), (arm, _) = make(**old), make(**new, seed=2)
    return sp.compare({"old": base, "new": arm}, **options)


def _versions(make, old, new):
    (before, options), (after, _) = make(**old), make(**new, seed=2)
    return sp.compare_versions(before, after, **options)


HOSTILE = {"slices": {EVIL: [EVIL, "constructor"] * (N_EXAMPLES // 2)}}
SHAPES = {
    "rankings": lambda: _measured(_rankings()),
    "rankings-of-40-runs": lambda: _measured(_rankings(40)),
    "rankings-hostile": lambda: _measured(_rankings(name=f"{EVIL}{{}}"), **HOSTILE),
    "rankings-arms": lambda: _compared(_rankings, {"noise": 0.8}, {"noise": 0.2}),
    "rankings-versions": lambda: _versions(_rankings, {"noise": 0.8}, {"noise": 0.2}),
    "sets": lambda: _measured(_sets()),
    "sets-hostile": lambda: _measured(_sets(labels=(EVIL, "</script>", "joy")), **HOSTILE),
    "sets-arms": lambda: _compared(_sets, {"noise": 0.8}, {"noise": 0.2}),
    "sets-versions": lambda: _versions(_sets, {"noise": 0.8}, {"noise": 0.2}),
    "texts": lambda: _measured(_texts()),
    "texts-arms": lambda: _compared(_texts, {"right": 0.4}, {"right": 0.9}),
    "texts-versions": lambda: _versions(_texts, {"right": 0.4}, {"right": 0.9}),
}
# CI opens the shapes that differ most; SEEDPROOF_FULL=1 opens all.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
IN_CI = ("rankings", "rankings-arms", "sets-hostile", "sets-versions", "texts")


@cache
def _report(name):
    return SHAPES[name]()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", SHAPES if FULL else IN_CI)
def test_page_of_every_shape_is_sound(name, width, scheme, open_page, assert_sound):
    """Every chart is drawn."""
    opened = open_page(_report(name), width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)


@pytest.mark.parametrize(("width", "n_beside"), [(1280, 6), (390, 3)])
def test_lists_of_several_runs_are_next_to_each_other(width, n_beside, open_page):
    """Items that are new or at another rank are marked, and right ones have a check mark."""
    report = _report("rankings")
    opened = open_page(report, width=width)
    opened.unfold()

    first = opened.page.locator(".items tbody tr").first
    columns = first.locator("td:has(.item)")
    tops = [columns.nth(i).bounding_box()["y"] for i in range(columns.count())]
    assert len(tops) == 6
    assert sum(abs(top - tops[0]) < 2 for top in tops) == n_beside
    line = report.view().items[0]
    for run in range(6):
        texts = columns.nth(run).locator(".item").all_inner_texts()
        assert [text.removesuffix(" ✓") for text in texts] == list(line.items[run][:10])
        assert sum("✓" in text for text in texts) == len(
            set(line.right) & set(line.items[run][:10])
        )
        marks = [x.get_attribute("class") for x in columns.nth(run).locator(".item").all()]
        moved = [
            "new" if item not in line.items[0] else "at-other-rank"
            for rank, item in enumerate(line.items[run][:10])
            if line.items[0][rank] != item
        ]
        assert [mark.split()[1] for mark in marks if "same" not in mark] == moved


def test_exposure_has_a_line_for_each_item_that_varies(open_page):
    report = _report("rankings")
    opened = open_page(report)
    opened.unfold()

    texts = opened.page.locator("#c-exposure svg text").all_text_contents()
    items = {exposure.item for exposure in exposures(report.measurement)}
    assert len(items) > 5
    assert items <= set(texts)


def test_labels_of_an_example_are_a_strip(open_page):
    """The darker, the more runs give the label."""
    report = _report("sets")
    opened = open_page(report)
    opened.unfold()

    line = report.view().items[0]
    first = opened.page.locator(".items tbody tr").first
    shares = {}
    for item in first.locator(".item").all():
        name, _, share = item.inner_text().removesuffix(" ✓").rpartition(" ")
        shares[name] = int(share.split("/")[0])
        assert f"share-{5 * shares[name] // 6}" in item.get_attribute("class")
    given = {label for of_run in line.items for label in of_run}
    assert {name: n for name, n in shares.items() if n} == {
        label: sum(label in of_run for of_run in line.items) for label in given
    }


def test_texts_are_a_diff_only_if_they_are_shown(open_page, assert_sound):
    """Answers may be private."""
    report = _report("texts")
    assert "a secret" not in open_page(report).page.content()

    opened = open_page(report, width=390, scheme="dark", show=["text"])

    opened.unfold()
    first = opened.page.locator(".answers .texts").first
    assert "a secret" in first.inner_text()
    assert first.locator("ins").count() >= 1
    assert first.locator("del").count() >= 1
    assert_sound(opened)


def test_markup_in_texts_is_shown_as_text(open_page, assert_sound):
    opened = open_page(_measured(_texts(text=f"{EVIL} {{}}")), show=["text"])

    assert EVIL in opened.page.locator(".answers").inner_text()
    assert_sound(opened)
