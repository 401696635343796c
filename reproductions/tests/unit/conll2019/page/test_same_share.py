import pytest
from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.page.same_share import same_share


def with_effects(own, judge, sd_high, flips_high):
    """Both averages with cuts whose intervals end at these ratios."""
    for name in ("aswa", "naswa"):
        own["arms"][name]["matched"]["effects"] = {
            "accuracy_sd": judge("accuracy_sd", 0.9, 0.5, sd_high),
            "flip_rate": judge("flip_rate", 0.8, 0.6, flips_high),
        }
    return same_share(SettingResults(own))


def test_figures_stand_beside_those_with_drift(own):
    """Without averaging 0.6 points in place of 1.2, and 6 % of flips in place of 9 %."""
    text = same_share(SettingResults(own))

    assert "sd of accuracy is then 0.60\xa0pts [0.40, 1.10] in place of 1.20\xa0pts" in text
    assert "flip rate is then 6.0\xa0% [5.0, 7.0] in place of 9.0\xa0% [6.0, 14.0]" in text


@pytest.mark.parametrize(
    ("sd_high", "flips_high", "end"),
    [
        (0.99, 0.99, "is shown for the sd of accuracy and the flip rate."),
        (1.01, 0.99, "is shown for the flip rate, and is not shown for the sd of accuracy."),
        (0.99, 1.01, "is shown for the sd of accuracy, and is not shown for the flip rate."),
        (1.01, 1.01, "is not shown for the sd of accuracy and the flip rate."),
    ],
)
def test_more_than_a_steady_threshold_is_said_where_it_is_shown(
    own, judge, sd_high, flips_high, end
):
    """By intervals that end on either side of no change."""
    text = with_effects(own, judge, sd_high, flips_high)

    assert text.endswith(f"That averaging does more than steady the threshold {end}")


def test_averages_that_differ_have_no_common_conclusion(own, judge):
    """ASWA cuts flips, NASWA may not: each is told of, and nothing is said of both."""
    with_effects(own, judge, 1.01, 0.99)
    own["arms"]["naswa"]["matched"]["effects"]["flip_rate"] = judge("flip_rate", 0.8, 0.6, 1.1)

    text = same_share(SettingResults(own))

    assert "A cut is shown: 20\xa0% [1, 40] with ASWA; no difference is shown with NASWA" in text
    assert text.endswith("threshold is not shown for the sd of accuracy.")


def test_three_classes_have_no_threshold(make):
    """Nothing is said of SNLI."""
    assert same_share(SettingResults(make("s", dataset="snli"))) == ""
