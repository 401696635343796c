"""The page that is committed is the page that the committed results make."""

import re
from pathlib import Path

import pytest
from seedproof_reproductions.conll2019.page.document import build_page, write_page
from seedproof_reproductions.conll2019.results import stored_results

from seedproof.errors import EmptyInputError

PAGE = Path(__file__).parents[5] / "docs" / "results" / "conll2019.md"


def test_the_committed_page_is_rebuilt_byte_for_byte(tmp_path):
    """Text and images; and there are no images that nothing makes any more."""
    written = write_page(stored_results(), tmp_path / "conll2019.md")

    assert written[0].read_bytes() == PAGE.read_bytes()
    images = {path.name: path for path in PAGE.with_suffix("").iterdir()}
    assert {path.name for path in written[1:]} == set(images)
    for path in written[1:]:
        assert path.read_bytes() == images[path.name].read_bytes()


def test_results_and_page_agree_on_a_number():
    """The flip rate of SST without averaging, read from both files by hand."""
    results = {one["name"]: one for one in stored_results()}
    low = results["sst-cnn-additive"]["arms"]["none"]["metrics"]["flip_rate"]

    text = PAGE.read_text(encoding="utf-8")

    found = re.search(r"\| flip rate \| ([\d.]+)\xa0% \[([\d.]+),\xa0([\d.]+)\] \|", text)
    assert [float(number) for number in found.groups()] == [round(100 * x, 1) for x in low]


def test_a_page_has_every_section_and_image_that_it_names(own, explained, make):
    """In one order; each image is in the folder that was asked for."""
    page = build_page([own, explained, make("s", dataset="snli")], folder="images")

    headings = [line for line in page.text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## The short answer",
        "## The claims, one by one",
        "## Accuracy and flips",
        "## Curves",
        "## What differs from the paper",
        "## How this was made",
    ]
    assert re.findall(r"\]\(images/([^)]+)\)", page.text) == list(page.images)
    assert "We trained 60 models by the same recipe, in 2 settings" in page.text
    assert "ADR tweets, Diabetes and Anemia are covered nowhere on this page." in page.text


def test_a_page_of_few_results_is_whole(own):
    """One setting, the baseline alone: nothing is compared, and nothing is claimed."""
    own["arms"] = {"none": own["arms"]["none"]}
    own["rivals"] = None

    text = build_page([own]).text

    assert "in one setting" in text
    assert "**With the same share" not in text
    assert "| ASWA and NASWA decrease the mean KL" in text
    assert (
        text.count("| not covered by our runs |") == 11
    )  # all but the sd and the top tokens of none


@pytest.mark.parametrize(("high", "is_shown"), [(0.99, True), (1.01, False)])
def test_a_page_says_steadier_where_the_interval_excludes_no_change(own, judge, high, is_shown):
    """Every effect ends on the same side: no claim of a cut holds, and no word says so, beyond."""
    for name in ("aswa", "naswa"):
        arm = own["arms"][name]
        reasons = arm["explanations"]["attention"]
        for one in (arm, reasons, arm["matched"]):
            one["effects"] = {
                metric: judge(metric, 0.5, 0.3, high)
                for metric in one["effects"]
                if metric != "accuracy"
            }

    text = build_page([own]).text

    assert ("A cut is shown" in text) == is_shown
    assert (", steadier |" in text) == is_shown
    assert (
        f"ASWA | lower | −50\xa0% [−70,\xa0{'−' if is_shown else '+'}1] | holds here" in text
    ) == (is_shown)


def test_a_page_of_another_setting_says_so_first(make):
    """A smoke run: 400 texts and 2 epochs. The paper's own setting has no banner."""
    smoke = make("s", n_train=400, n_test=200, epochs=2)
    smoke["sizes"]["test"] = 200

    text = build_page([smoke]).text

    lines = text.splitlines()
    assert lines[2].startswith("> **Not the paper's setting:** this has less than it had.")
    assert lines[4] == (
        "> - SST, CNN: 400 of 6,355 training texts, 200 of 1,305 test texts and 2 of 20 epochs"
    )
    assert "| 82.5 ±0.39 (not this setting) |" in text
    assert "gives 200 test sentences" not in text
    assert "Not the paper's setting" not in build_page([make()]).text


def test_without_results_there_is_no_page():
    """The message says what to do."""
    with pytest.raises(EmptyInputError, match="Collect some first"):
        build_page([])
