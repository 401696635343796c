from copy import deepcopy

import pytest
from seedproof_reproductions.conll2019.page.further import further_arms
from seedproof_reproductions.conll2019.page.reading import SettingResults


def test_without_further_arms_there_is_no_section(sst):
    """The paper's three are told of elsewhere."""
    assert further_arms(sst) == ""


@pytest.fixture
def seven(own, judge):
    """Two further arms; ASWA and NASWA have wider intervals among all of them."""
    own["arms"]["ema"] = deepcopy(own["arms"]["aswa"])
    own["arms"]["ema"]["effects"]["flip_rate"] = judge("flip_rate", 0.7, 0.4, 1.1)
    own["arms"]["aswa-code"] = deepcopy(own["arms"]["aswa"])
    own["arms"]["aswa-code"]["scalars"]["epoch_chosen"] = [2.0] * 6 + [5.0] * 4
    among_all = {
        **own["arms"]["aswa"]["effects"],
        "flip_rate": judge("flip_rate", 0.5, 0.2, 1.01),
    }
    reasons = own["arms"]["aswa"]["explanations"]["attention"]["effects"]
    for name in ("aswa", "naswa"):
        own["arms"][name]["of_all"] = {
            "effects": among_all,
            "explanations": {"attention": reasons},
        }
        own["arms"][name]["matched"]["of_all"] = {"flip_rate": judge("flip_rate", 0.8, 0.6, 0.99)}
    return own


def test_all_arms_are_judged_by_one_yardstick(seven):
    """Elsewhere ASWA cuts 20 to 70 % of the flips; among all arms nothing is shown, nor listed."""
    text = further_arms(SettingResults(seven)).replace(",\xa0", ", ")

    row = next(line for line in text.splitlines() if line.startswith("| ASWA |"))
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[3] == "−50\xa0% [−80, +1], no difference shown"
    assert cells[4] == "−20\xa0% [−40, −1], steadier"
    assert "- flip rate: ASWA as coded\n" in text
    assert "- flip rate, same share: ASWA, NASWA, EMA and ASWA as coded\n" in text
    assert "- attention: top words: no arm" in text


def test_where_the_two_yardsticks_differ_is_said(seven):
    """Both verdicts are quoted; where none differs, that is said."""
    differing = further_arms(SettingResults(seven))
    for name in ("aswa", "naswa"):
        seven["arms"][name]["of_all"]["effects"] = seven["arms"][name]["effects"]
    alike = further_arms(SettingResults(seven))

    assert (
        "Verdicts differ for flip rate of ASWA (“steadier” there, “no difference shown” here) and "
        "flip rate of NASWA" in differing
    )
    assert "Verdicts differ" not in alike
    assert "No verdict differs." in alike


def test_learning_stands_beside_steadiness(seven):
    """Training loss, and the epochs that dev chose: a median and a range, or the only one."""
    text = further_arms(SettingResults(seven)).replace(",\xa0", ", ")

    assert "we also trained EMA and ASWA as coded." in text
    assert (
        "| EMA | 83.0\xa0% [81.0, 85.0] | −0.20\xa0pts [−0.40, +0.10], no difference shown "
        "| 0.100 | 3 |" in text
    )
    assert "| 0.100 | 2 (2 to 5) |" in text
