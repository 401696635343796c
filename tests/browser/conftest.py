"""A real browser for pages: Debian's Chromium, driven by Playwright."""

import os
import shutil
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
