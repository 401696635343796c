"""Pages of every kind of result in a real browser."""

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.variance_shares import Share, Shares

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"
OWN_TEXT = "a secret"


def _runs(n_runs, *, noise, seed, n_examples=200, n_classes=2):
    truth = np.random.default_rng(0).normal(size=(n_examples, n_classes))
    rng = np.random.default_rng(seed)
    return (2 * truth + noise * rng.normal(size=(n_runs, n_examples, n_classes))).argmax(axis=2)


def _table(predictions, names, *, groups=("forum", "mail"), run="run", text=OWN_TEXT):
    return pa.Table.from_pylist(
        [
            {
                "run": f"{run}{r}",
                "example": f"{names[0]}{i}",
                "prediction": names[answer],
                "label": names[i % len(names)],
                "group": groups[i * len(groups) // len(answers)],
                "text": text,
            }
            for r, answers in enumerate(predictions)
            for i, answer in enumerate(answers)
        ]
    )


def _tables(n_old, n_new, names=("no", "yes"), **more):
    """Predictions of two versions, of which the second is steadier."""
    old = _runs(n_old, noise=1.5, seed=1, n_classes=len(names))
    new = _runs(n_new, noise=0.4, seed=2, n_classes=len(names))
    new[:, :60] = (old[0, :60] + 1) % len(names)
    return [_table(runs, names, **more) for runs in (old, new)]


def _versions(*args, **more):
    return sp.compare_versions(*_tables(*args, **more), slices=["group"])


# A report of two tables, and where its page has the texts of examples.
VERBS = {
    "measure": (lambda old, _: sp.measure(old), "#examples"),
    "compare": (lambda old, new: sp.compare([old, new]), ".moved"),
    "versions": (lambda old, new: sp.compare_versions(old, new, slices=["group"]), "main"),
}


def _blamed():
    first = {"init": Share(0.2, 0.1, 0.3), "order": Share(-0.1, -0.3, 0.1)}
    total = {"init": Share(0.7, 0.6, 0.8), "order": None}
    shares = Shares(0.1, first, total, Share(0.9, 0.5, 1.3), "init")
    return sp.BlameReport(Blame(("init", "order"), 12, 6, 200, shares, {"logits": shares}))


MANY = tuple(f"a class of a rather long name, number {i}" for i in range(40))
MAKERS = {
    "versions": lambda: _versions(6, 6),
    "versions-of-one-run": lambda: _versions(1, 5),
    "versions-of-many-classes": lambda: _versions(3, 3, MANY, groups=MANY),
    "versions-alike": lambda: sp.compare_versions(np.zeros((3, 20), int), np.zeros((3, 20), int)),
    "gate": lambda: sp.gate(
        _runs(5, noise=1.0, seed=1),
        max={"flip_rate": 0.01, "ambiguity": 0.9},
        no_worse=["flip_rate"],
        baseline=_runs(5, noise=1.0, seed=2),
    ),
    "plan": lambda: sp.plan(sd=0.012, detect=0.005, cv=0.2, detect_flip_ratio=0.5),
    "side-by-side": lambda: sp.SideBySide(
        {f"an arm of a long name {i}": sp.measure(_runs(4, noise=i, seed=i)) for i in range(1, 8)},
        left_out=["alone"],
    ),
    "blame": _blamed,
}


@cache
def _made(name):
    return MAKERS[name]()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("name", MAKERS)
def test_page_of_every_result_is_sound(name, width, scheme, open_page, assert_sound):
    """Every chart is drawn."""
    opened = open_page(_made(name), width=width, scheme=scheme)

    opened.unfold()
    assert_sound(opened)


def test_page_starts_with_the_headline_and_the_sentences(open_page):
    """They are those of the overview."""
    report = _made("versions")
    page = open_page(report).page

    assert page.locator("h1").inner_text() == report._overview(()).headline
    texts = page.locator(".verdicts dd").all_inner_texts()
    assert len(texts) == len(report._overview(()).sentences)
    assert report.steadiness.verdict == "steadier"


@pytest.mark.parametrize("verb", VERBS)
def test_markup_in_the_data_is_shown_as_text(verb, open_page, assert_sound):
    """In runs, ids, classes, slices and texts; nothing of it is executed."""
    report, place = VERBS[verb]
    markup = {"groups": (EVIL, "</script>"), "run": EVIL, "text": EVIL}

    opened = open_page(report(*_tables(4, 4, (EVIL, "constructor"), **markup)), show=["text"])

    assert EVIL in opened.page.locator(place).first.inner_text()
    assert_sound(opened)


@pytest.mark.parametrize("verb", VERBS)
def test_texts_are_absent_unless_requested(verb, open_page):
    """If `show` is omitted, a text is not in the file."""
    report = VERBS[verb][0](*_tables(6, 6))

    assert OWN_TEXT not in open_page(report).page.content()
    assert OWN_TEXT in open_page(report, show=["text"]).page.content()


LONG = "a-run-of-a-rather-long-name" * 8
CHECKS = (
    sp.Check("few-runs", "warning", (), "4 runs.", "Use `seedproof run --seeds 5`."),
    sp.Check("constant-run", "error", (LONG,), f"Run {LONG} is stuck.", f"Look at {EVIL}.", EVIL),
)


def _with_checks(verb):
    old, new = _tables(5, 5)
    if verb == "gate":
        result = sp.gate(old, max={"flip_rate": 0.01}).result
        return sp.GateReport(replace(result, checks=CHECKS, allowed=("constant-run",)))
    report = VERBS[verb][0](old, new)
    name = "measurement" if verb == "measure" else "comparison"
    setattr(report, name, replace(getattr(report, name), checks=CHECKS))
    return report


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("verb", [*VERBS, "gate"])
def test_checks_are_at_the_top_of_the_page(verb, width, scheme, open_page, assert_sound):
    """Errors first, above everything but the headline; names stay text."""
    opened = open_page(_with_checks(verb), width=width, scheme=scheme)

    box = opened.page.locator(".checks")
    assert box.is_visible()
    texts = box.locator("li").all_inner_texts()
    assert [text.split()[0] for text in texts] == ["error", "warning"]
    assert EVIL in texts[0]
    assert box.bounding_box()["y"] < opened.page.locator(".verdicts").bounding_box()["y"]
    opened.unfold()
    assert_sound(opened)
    opened.page.emulate_media(media="print")
    assert box.is_visible()
