"""Explanations in a real browser: heat maps, charts and metrics by method."""

import re

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.explanations.sentences import named

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def _arm(seed, noise, tokens, *, methods, n_runs=6):
    """Predictions of runs, and scores of each text by method; LIME twice, with signs."""
    rng, truth = np.random.default_rng(seed), np.random.default_rng(0)
    logits = truth.normal(0, 2, len(tokens))
    second = 1 / (1 + np.exp(-logits - noise * rng.normal(size=(n_runs, len(tokens)))))
    weights = [truth.normal(0, 1, len(words)) for words in tokens]
    explanations = {}
    for method in methods:
        n_draws = 2 if method == "lime" else 1
        drawn = [w + noise * rng.normal(size=(n_runs, n_draws, len(w))) for w in weights]
        explanations[method] = drawn if method == "lime" else [np.exp(scores) for scores in drawn]
    return np.stack([1 - second, second], axis=2), explanations


TEXTS = [[f"word{i}" for i in range(5 + n % 20)] for n in range(40)]
LONG = [[f"word{i}" for i in range(70 + n % 9)] for n in range(12)]
HOSTILE = [[EVIL, "</span>", "&lt;", "\u202eback", "a" * 80, "</script>"] for _ in range(12)]


@pytest.fixture(scope="session")
def one_method(make_explained_store):
    """Explained by attention alone."""
    arm = _arm(1, 0.7, TEXTS, methods=("attention",))
    return sp.measure(make_explained_store({"none": arm}, tokens=TEXTS))


@pytest.fixture(scope="session")
def three_methods(make_explained_store):
    """Two arms, explained by attention, gradient and LIME."""
    methods = ("attention", "gradient", "lime")
    arms = {
        "none": _arm(1, 0.7, TEXTS, methods=methods),
        "arm": _arm(2, 0.3, TEXTS, methods=methods),
    }
    return make_explained_store(arms, tokens=TEXTS)


@pytest.fixture(scope="session")
def hostile(make_explained_store):
    """Texts, runs and classes that contain markup."""
    arm = _arm(1, 0.7, HOSTILE, methods=("my-scores",), n_runs=3)
    runs, classes = [f"{EVIL}{i}" for i in range(3)], (EVIL, "</script>")
    store = make_explained_store({"none": arm}, tokens=HOSTILE, runs=runs, classes=classes)
    return sp.measure(store)


@pytest.fixture(scope="session")
def long(make_explained_store):
    """Texts of more than sixty words."""
    arm = _arm(1, 0.7, LONG, methods=("attention",), n_runs=3)
    return sp.measure(make_explained_store({"none": arm}, tokens=LONG))


@pytest.fixture(params=["one_method", "three_methods", "hostile"])
def shape(request):
    """A report with one method, with several, and with hostile texts."""
    made = request.getfixturevalue(request.param)
    return sp.measure(made, arm="none") if isinstance(made, str) else made


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_page_with_explanations_is_sound(shape, open_page, assert_sound, width, scheme):
    """Heat maps and charts are drawn."""
    opened = open_page(shape, width=width, scheme=scheme, show=["tokens"])

    opened.unfold()
    assert opened.page.locator(".heat:visible").count() in {2, 3}
    plots = opened.page.locator("#explanations").locator(".plot")
    assert plots.locator("svg").count() == plots.count() > 0
    assert_sound(opened)


def test_markup_in_tokens_is_shown_as_text(hostile, open_page):
    """The page above shows that nothing of it is executed."""
    opened = open_page(hostile, show=["tokens"])

    assert EVIL in opened.page.locator(".tok").first.inner_text()


def test_top_words_are_marked_without_color(one_method, open_page):
    """Bold, underlined, and listed for screen readers."""
    page = open_page(one_method, show=["tokens"]).page

    styles = page.evaluate(
        """() => [".tok .top", ".tok span:not(.top)"].map((which) => {
          const style = getComputedStyle(document.querySelector(which));
          return [Number(style.fontWeight) > 500, style.textDecorationLine];
        })"""
    )
    row = page.locator(".heat li").first

    assert styles == [[True, "underline"], [False, "none"]]
    top = row.locator(".tok").locator(".top").all_inner_texts()
    listed = re.findall(r"word\d+", row.locator(".sr").inner_text())
    assert set(listed) <= set(top)
    assert len(listed) == len(top)


def test_method_is_chosen_by_click_or_key(three_methods, open_page):
    """They are radio buttons, without a script."""
    page = open_page(sp.measure(three_methods, arm="none"), show=["tokens"]).page
    first = page.locator(".heat:visible h3").first.inner_text()

    checked = page.locator(".methods input:checked + label")
    page.locator(".methods label", has_text=named("lime")).click()
    clicked = page.locator(".method:visible").inner_text()
    n_paragraphs = page.locator(".method:visible > p").count()
    page.keyboard.press("ArrowUp")
    by_key = page.locator(".method:visible").inner_text()

    assert first
    assert clicked != by_key
    # Scores by LIME alone have signs, of which a paragraph warns.
    assert (n_paragraphs, page.locator(".method:visible > p").count()) == (1, 0)
    assert checked.inner_text() == named("gradient")


def test_long_texts_are_cut(long, open_page):
    """Sixty words and an ellipsis; the caption says how many are left out."""
    page = open_page(long, show=["tokens"]).page

    text = page.locator(".tok").first.inner_text()

    assert len(text.split()) == 61
    assert text.endswith("…")
    heat_map = long.view(show=["tokens"]).explanations[0].heat_maps[0]
    assert heat_map.captions[-1].code == "words-left-out"
    assert page.locator(".why").first.inner_text() == heat_map.caption


def test_tokens_are_absent_unless_requested(one_method, open_page):
    """They are not in the file; the page says how to show them."""
    page = open_page(one_method).page

    assert "word0" not in page.content()
    assert page.locator("#explanations").locator("code", has_text="--show").count() == 1


def test_page_prints_light_with_every_method(three_methods, open_page, assert_prints_well):
    """From a dark page: the shades are the light ones, and no method is hidden."""
    page = open_page(sp.measure(three_methods, arm="none"), scheme="dark", show=["tokens"]).page

    assert_prints_well(page, max_pages=8)
    shade = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--h4').trim()"
    )
    assert shade == "#e99a2f"
    assert page.locator(".method:visible").count() == 3


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_comparison_of_explanations_is_sound(three_methods, open_page, assert_sound, width, scheme):
    """Charts and verdicts by method."""
    opened = open_page(sp.compare(three_methods), width=width, scheme=scheme)

    opened.unfold()
    assert opened.page.locator(".plot[id*=explanation]").count() == 6
    assert_sound(opened)
