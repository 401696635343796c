"""Create the example page and its screenshot for the README and the docs.

Usage: python docs/scripts/make_example_report.py (needs Chromium and Playwright)
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "docs" / "assets"
VIEW = {"width": 1180, "height": 1320}


def main() -> None:
    """Measure the example, store its page, and take a screenshot."""
    ASSETS.mkdir(exist_ok=True)
    page_file = ASSETS / "example-report.html"
    with TemporaryDirectory() as folder:
        command = ["seedproof", "measure", "examples/predictions.csv", "--out", folder]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        text = (Path(folder) / "report.html").read_text(encoding="utf-8")
        page_file.write_text(text.replace(folder, "report/"), encoding="utf-8")
    chromium = shutil.which("chromium") or sys.exit("chromium is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=VIEW, color_scheme="light")
        page.goto(page_file.as_uri())
        page.wait_for_function("document.body.dataset.charts !== undefined")
        page.screenshot(path=ASSETS / "example-report.png")
        browser.close()
    print(f"Written to {ASSETS.relative_to(ROOT)}: {page_file.name}, example-report.png")


if __name__ == "__main__":
    main()
