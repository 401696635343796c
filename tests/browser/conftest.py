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
# What is no violation is not described, which takes as long as finding those that are.
AXE = "axe.run({resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))"


def _missing(what):
    message = f"{what} is not installed; .ci/run installs it"
    if REQUIRED:
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which finds what keeps people out of a page."""
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
    """A page with what it said and asked for while it was opened."""

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
    """Where a report's page is: written once, however often it is opened."""

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

    def opened(report, *, width=1280, scheme="light", show=()):
        path = written(report, tuple(show))
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.goto(path.as_uri())
        found.page.wait_for_function("document.body.dataset.charts !== undefined")
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def serious(axe):
    """What axe-core calls serious or critical on a page."""

    def violations(page):
        # Not a script of the page: its own policy would forbid that.
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": axe})
        found = session.send(
            "Runtime.evaluate",
            {"expression": AXE, "awaitPromise": True, "returnByValue": True},
        )
        return [
            (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
            for one in json.loads(found["result"]["value"])
            if one["impact"] in {"serious", "critical"}
        ]

    return violations


@pytest.fixture(scope="session")
def cut_texts():
    """Titles and labels of charts that do not fit on a page: an svg shows no scroll bar."""

    def found(page):
        boxes = page.evaluate(
            """[...document.querySelectorAll(".plot svg text")].map((text) => {
              const box = text.getBoundingClientRect();
              return [text.textContent, box.left, box.right, box.width];
            })"""
        )
        wide = page.viewport_size["width"]
        return [text for text, left, right, width in boxes if width and (left < 0 or right > wide)]

    return found


@pytest.fixture(scope="session")
def assert_sound(serious, cut_texts):
    """Nothing is logged, asked for, too wide, cut or an image on a page, and axe is content."""

    def check(opened):
        page = opened.page
        assert opened.messages == []
        assert len(opened.requests) == 1  # the file itself
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert cut_texts(page) == []
        assert page.locator("img").count() == 0
        assert serious(page) == []

    return check
