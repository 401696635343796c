"""A real browser for pages: Debian's Chromium, driven by Playwright."""

import json
import os
import shutil
from functools import cache
from pathlib import Path

import pytest

# CI sets this, so that a missing browser fails there and skips on a laptop without one.
REQUIRED = os.environ.get("SEEDPROOF_BROWSER") == "required"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Rules that pass are not described, which would take as long as finding violations.
AXE = "axe.run({resultTypes: ['violations']}).then(result => JSON.stringify(result.violations))"


def _missing(what):
    message = f"{what} is not installed; .ci/run installs it"
    if REQUIRED:
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which checks accessibility."""
    folder = Path(os.environ.get("SEEDPROOF_NODE_MODULES", "node_modules"))
    script = folder / "axe-core" / "axe.min.js"
    if not script.is_file():
        _missing("axe-core")
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium with a fresh profile."""
    playwright = pytest.importorskip("playwright.sync_api") if not REQUIRED else None
    if playwright is None:
        from playwright import sync_api as playwright
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        _missing("chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


class Opened:
    """A page with its messages and requests while it was opened."""

    def __init__(self, page):
        self.page = page
        self.messages = []
        self.requests = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: self.messages.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))

    def unfold(self):
        """Open every section, and wait until all charts are drawn."""
        self.page.evaluate(
            "document.querySelectorAll('.fold[aria-expanded=false]').forEach(fold => fold.click())"
        )
        self.page.wait_for_function(
            "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg path'))"
        )


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The file of a report's page: written once, however often it is opened."""

    @cache
    def write(report, show):
        path = tmp_path_factory.mktemp("page") / "report.html"
        report.to_html(path, show=show, command="seedproof measure predictions.csv")
        return path

    return write


@pytest.fixture
def open_page(browser, written):
    """Open a report's page, and wait for its charts."""
    contexts = []

    def open_report(report, *, width=1280, scheme="light", show=()):
        path = written(report, tuple(show))
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.goto(path.as_uri())
        opened.page.wait_for_function("document.body.dataset.charts !== undefined")
        return opened

    yield open_report
    for context in contexts:
        context.close()


def _violations(page, axe):
    """Serious and critical violations on a page, by axe-core."""
    # Not a script of the page: its own policy would forbid that.
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": axe})
    options = {"expression": AXE, "awaitPromise": True, "returnByValue": True}
    answer = session.send("Runtime.evaluate", options)
    return [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]][:3])
        for violation in json.loads(answer["result"]["value"])
        if violation["impact"] in {"serious", "critical"}
    ]


def _cut_texts(page):
    """Titles and labels of charts that do not fit on a page: an SVG has no scroll bar."""
    boxes = page.evaluate(
        """[...document.querySelectorAll(".plot svg text")].map((text) => {
          const box = text.getBoundingClientRect();
          return [text.textContent, box.left, box.right, box.width];
        })"""
    )
    wide = page.viewport_size["width"]
    return [text for text, left, right, width in boxes if width and (left < 0 or right > wide)]


@pytest.fixture(scope="session")
def assert_sound(axe):
    """Nothing on a page is logged, requested, too wide, cut or an image, and axe passes."""

    def check(opened):
        page = opened.page
        assert opened.messages == []
        assert len(opened.requests) == 1  # the file itself
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert _cut_texts(page) == []
        assert page.locator("img").count() == 0
        assert _violations(page, axe) == []

    return check


@pytest.fixture
def assert_prints_well(tmp_path):
    """A page prints on a few light sheets, even if it is dark on the screen."""

    def check(page, *, max_pages=6):
        page.emulate_media(media="print")
        page.pdf(path=str(tmp_path / "page.pdf"), prefer_css_page_size=True)
        n_pages = (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
        assert 1 <= n_pages <= max_pages

    return check
