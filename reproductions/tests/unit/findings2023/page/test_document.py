"""The page that is committed is the page that the committed results make."""

import re
from pathlib import Path

import pytest
from seedproof_reproductions.findings2023.page.document import build_page, write_page
from seedproof_reproductions.findings2023.results import stored_results

from seedproof.errors import EmptyInputError

PAGE = Path(__file__).parents[5] / "docs" / "results" / "findings2023.md"
SECTIONS = [
    "## The short answer",
    "## The goal beyond the paper",
    "## The claims, one by one",
    "## The paper's tables",
    "## The paper's figures",
    "## What runs share, drawn again",
    "## All arms",
    "## How costs are counted",
    "## What limits these figures",
    "## What differs from the paper",
    "## How this was made",
]


def headings(text):
    """Of the sections."""
    return [line for line in text.splitlines() if line.startswith("## ")]


def test_the_committed_pages_are_rebuilt_byte_for_byte(tmp_path):
    """Text and images; and there are no images that nothing makes any more."""
    written = write_page(stored_results(), tmp_path / "findings2023.md")

    images = {path.name: path for path in PAGE.with_suffix("").iterdir()}
    assert {path.name for path in written[2:]} == set(images)
    committed = [
        PAGE,
        PAGE.with_name("which-mitigation.md"),
        *(images[p.name] for p in written[2:]),
    ]
    for ours, theirs in zip(written, committed, strict=True):
        assert ours.read_bytes() == theirs.read_bytes()


def test_a_page_has_every_section_and_image_that_it_names(both, finetuned):
    """In one order; each image is in the folder that was asked for."""
    page = build_page([*both, finetuned], path="results/images.md")

    assert headings(page.text) == SECTIONS
    assert re.findall(r"\]\(images/([^)]+)\)", page.text) == list(page.images)
    assert "We made 1,820 runs in 3 settings" in page.text


def test_both_pages_and_their_images_are_written(both, tmp_path):
    """The same bytes each time."""
    first = write_page(both, tmp_path / "findings2023.md")
    before = [path.read_bytes() for path in first]
    second = write_page(both, tmp_path / "findings2023.md")

    names = [path.relative_to(tmp_path).as_posix() for path in first]
    assert names == [
        "findings2023.md",
        "which-mitigation.md",
        "findings2023/entropy-sigma.svg",
        "findings2023/one-run-many.svg",
        "findings2023/confidence-map.svg",
        "findings2023/which-mitigation.svg",
    ]
    assert [path.read_bytes() for path in second] == before


def test_a_page_of_another_name_has_a_decision_page_of_its_own(both, tmp_path):
    """So that neither overwrites the other's; each is named where it is linked."""
    page, decision, *images = write_page(both, tmp_path / "mine.md")

    assert decision.name == "mine-which-mitigation.md"
    assert {image.parent.name for image in images} == {"mine"}
    assert "(mine-which-mitigation.md)" in page.read_text(encoding="utf-8")
    assert "(mine.md#all-arms)" in decision.read_text(encoding="utf-8")


def test_results_of_ones_own_are_not_called_the_packages(both, tmp_path):
    """The command names the real path, and no folder of the package."""
    page = tmp_path / "mine.md"
    for path in write_page(both, page)[:2]:
        text = path.read_text(encoding="utf-8")
        assert f"--results FOLDER --page {page.as_posix()}`: do not edit." in text
        assert "src/seedproof" not in text
    assert "Ours are in `src/seedproof" in build_page(stored_results(), path=page).text


def test_the_page_does_not_depend_on_the_order_of_the_files(both, finetuned):
    """Results are put in order first."""
    assert build_page([*both, finetuned]) == build_page([finetuned, *reversed(both)])


def test_a_page_of_few_results_is_whole(only_control, finetuned):
    """The control alone, without what a smoke run leaves out; fine-tuned alone."""
    found = only_control.own
    found["control"] |= {"stand_in": None, "sigma": None, "pictures": {}}

    text = build_page([found]).text

    assert "in one setting" in text
    assert SECTIONS[1] not in headings(text)
    assert text.count("| not covered by our runs |") == 14
    assert headings(build_page([finetuned]).text) == [
        one for one in SECTIONS if one not in (SECTIONS[1], SECTIONS[5])
    ]


def test_words_that_stand_for_figures_are_explained_where_they_occur(both):
    """An interval from a tenth to ten times as much; nothing to explain without one."""
    words = "the interval excludes neither a cut to a fifth"
    assert words not in build_page(both).text

    both[0]["arms"]["swa"]["effects"]["label_entropy"] |= {"low": 0.1, "high": 10.0}

    assert build_page(both).text.count(words) == 1


def test_a_study_without_a_control_is_told_without_changes(both):
    """Nothing is compared, and nothing is claimed."""
    found = both[0]
    del found["arms"]["none"]
    found["control"] = None
    for arm in found["arms"].values():
        arm |= {"effects": {}, "of_all": {}, "high": None, "costs": None}
        arm["single_run_effects"] = {"all": None, "high": None, "high_naive": None}

    text = build_page([found]).text

    assert "Nothing to compare with: the control is missing." in text
    assert "no arm does it" not in text
    assert headings(text)[:2] == ["## The short answer", "## All arms"]
    assert "the control is missing" in build_page([found, both[1]]).text
    assert headings(build_page([found, both[1]]).text) == SECTIONS


def test_without_results_there_is_no_page():
    """The message says what to do."""
    with pytest.raises(EmptyInputError, match="Collect some first"):
        build_page([])
