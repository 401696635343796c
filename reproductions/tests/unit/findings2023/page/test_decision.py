import re

from seedproof_reproductions.findings2023.page.decision import build_decision


def test_the_page_has_a_picture_sentences_and_choices(both):
    """Few enough for one screen: at most seven bullets and seven rows."""
    page = build_decision(both)

    assert page.text.startswith("---\nhide:\n  - navigation\n  - toc\n---\n\n# Which mitigation")
    assert re.findall(r"\]\(findings2023/([^)]+)\)", page.text) == list(page.images)
    assert 4 <= len(re.findall("^- ", page.text, re.MULTILINE)) <= 7
    rows = re.findall(r"^\| .*\*\*.*$", page.text, re.MULTILINE)
    assert 1 < len(rows) <= 7
    assert "[soft labels](../how-to/soft-labels.md)" in page.text
    assert "[our own table](findings2023.md#all-arms)" in page.text
    assert "two trainings disagree: 4.0\xa0% / 4.0\xa0% with training as usual" in page.text


def test_the_page_stands_also_with_few_results(both, finetuned, only_control):
    """The control alone, no head at all, or one data set: no picture without a point."""
    alone = build_decision([only_control.own])
    assert alone.images == {}
    assert "No arm is shown to cut the flip rate" in alone.text

    assert "No head was trained yet" in build_decision([finetuned]).text
    assert "heads on a frozen encoder, CLINC150, 50 runs" in build_decision(both[:1]).text


def test_below_eight_runs_nothing_is_advised(both):
    """Neither a bullet nor a row nor a picture; a sentence says why."""
    for results in both:
        for arm in results["arms"].values():
            arm["n_runs"] = 7

    page = build_decision(both)

    assert page.images == {}
    assert "With fewer than 8 runs an arm nothing is advised here" in page.text
    assert "\n- " not in page.text
    assert "\n| " not in page.text


def test_what_is_not_trained_in_full_is_told_in_a_line(both):
    """Few epochs and small batches; the number of runs is in the lead."""
    assert "Not the full settings" not in build_decision(both).text

    both[1]["setting"] |= {"epochs": 2, "batch_size": 32}

    assert (
        "\n> **Not the full settings:** MASSIVE (head): 2 epochs in place of 5, 32 utterances a "
        "batch in place of 256 and a learning rate of 0.001.\n"
    ) in build_decision(both).text


def test_without_the_control_there_is_nothing_to_choose_by(both):
    """The page says so in place of a table."""
    del both[0]["arms"]["none"]

    assert "Nothing to compare with: the control is missing." in build_decision(both[:1]).text
    assert "Nothing to compare with on CLINC150 (head): the" in build_decision(both).text
