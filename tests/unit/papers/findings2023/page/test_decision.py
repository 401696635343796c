import re

from seedproof.papers.findings2023.page.decision import build_decision


def test_the_page_has_a_picture_sentences_and_choices(both):
    """Few enough for one screen: at most six sentences and seven rows."""
    page = build_decision(both)

    assert page.text.startswith("---\nhide:\n  - navigation\n  - toc\n---\n\n# Which mitigation")
    assert re.findall(r"\]\(findings2023/([^)]+)\)", page.text) == list(page.images)
    assert 4 <= len(re.findall("^- ", page.text, re.MULTILINE)) <= 6
    rows = re.findall(r"^\| .*\*\*.*$", page.text, re.MULTILINE)
    assert 1 < len(rows) <= 7
    assert "[soft labels](../how-to/soft-labels.md)" in page.text
    assert "[our own table](findings2023.md#all-arms)" in page.text


def test_the_page_stands_also_with_few_results(both, finetuned, only_control):
    """The control alone, no head at all, or one data set: no picture without a point."""
    alone = build_decision([only_control.own])
    assert alone.images == {}
    assert "No arm is shown to cut the flip rate" in alone.text

    assert "No head was trained yet" in build_decision([finetuned]).text
    assert "heads on a frozen encoder, CLINC150, 50 runs" in build_decision(both[:1]).text
