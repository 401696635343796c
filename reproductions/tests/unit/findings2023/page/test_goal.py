import pytest
from seedproof_reproductions.findings2023.page.goal import Candidate, candidates, closest, goal


def reached(settings):
    """Names of arms that reach the goal, those that share nothing."""
    return [one.arm for one in candidates(settings) if one.reaches and one.is_honest]


def test_the_goal_is_reached_on_every_data_set_or_not_at_all(settings, make_arm):
    """Half with an end at 0.55 does, on both; on one of them is not enough."""
    assert reached(settings) == ["heads-16", "wide-decay-zero-smooth"]

    settings[1].own["arms"]["heads-16"] = make_arm(0.6)

    assert reached(settings) == ["wide-decay-zero-smooth"]


@pytest.mark.parametrize(
    "changes",
    [
        {"training": 1.51},
        {"accuracy": -0.0021},  # the interval ends at −0.01 points
        {"flips": 0.51},
        {"half": 0.36},  # an end at 0.61
        {"shares": "teacher"},
    ],
)
def test_each_part_of_the_goal_counts(settings, make_arm, changes):
    """What misses one of them by a little does not reach it."""
    settings[0].own["arms"]["heads-16"] = make_arm(**({"flips": 0.25} | changes))

    assert "heads-16" not in reached(settings)


def test_arms_that_share_something_are_told_apart(settings, make_arm):
    """With a shared teacher it is another question."""
    for one in settings:
        one.own["arms"]["deployed-shared"] = make_arm(0.3, shares="teacher", group="cheaper")

    text = goal(settings)

    honest, shared = text.split("**With a teacher or the first weights")
    assert "distilled from a deployed model" not in honest
    assert "1 arm does it on CLINC150 and MASSIVE: distilled from a deployed model.**" in shared
    assert "2 arms do it on CLINC150 and MASSIVE: 16 heads and width 1,024" in honest


def test_a_row_says_whether_it_holds_together_with_all_arms(settings):
    """The wider interval of one ends at 0.62, of the other at 0.33."""
    rows = [line for line in goal(settings).splitlines() if line.startswith("| ")]

    heads = next(row for row in rows if row.startswith("| 16 heads"))
    wide = next(row for row in rows if row.startswith("| width 1,024 + decay"))
    assert heads.endswith("| 1.25× | 1.02× | yes | yes |")
    assert wide.endswith("| 1.05× | 1.00× | yes | not shown |")
    assert "−75\xa0% [−80,\xa0−70] | −75\xa0% [−80,\xa0−70]" in heads


def test_where_no_arm_does_it_the_closest_is_named_with_its_reason(settings):
    """The largest cut, where it cuts less, of those that are cheap and lose nothing."""
    for one in settings:
        for arm in ("heads-16", "wide-decay-zero-smooth"):
            del one.own["arms"][arm]

    text = goal(settings)

    assert (
        "**With everything trained anew in each run, no arm does it on CLINC150 and MASSIVE.** "
        "Closest comes zero last layer: on CLINC150 the flip rate changes by −20\xa0% [−25, −15]"
    ) in text
    assert closest(candidates(settings)).arm == "fixed-init"


def test_where_all_lose_something_the_largest_cut_is_the_closest(settings):
    """With a shared teacher alone: too dear, or less accurate."""
    for one in settings:
        for arm in ("deployed-shared", "fixed-init"):
            del one.own["arms"][arm]

    text = goal(settings)

    assert (
        "all runs share, no arm does it on CLINC150 and MASSIVE.** Closest comes ensemble of 200 "
        "(shared): it costs more than 1.5 times one training, on CLINC150 the flip rate changes by"
    ) in text


def test_a_cheap_arm_that_loses_accuracy_says_so(settings):
    """A linear head cuts most and loses a point."""
    linear = Candidate("linear", settings)

    assert not linear.reaches
    assert linear.falls_short() == (
        "on CLINC150 accuracy changes by −1.00\xa0pts [−1.20, −0.80] and on MASSIVE accuracy "
        "changes by −1.00\xa0pts [−1.20, −0.80]"
    )


def test_an_arm_of_one_data_set_alone_is_no_candidate(settings):
    """Neither is a second draw of what runs share."""
    del settings[1].own["arms"]["linear"]

    arms = [one.arm for one in candidates(settings)]

    assert "linear" not in arms
    assert "fixed-init-draw-2" not in arms


def test_without_heads_there_is_no_goal(only_control):
    """Nor with the control alone."""
    assert goal([]) == goal([only_control]) == ""


def test_two_runs_reach_nothing(settings):
    """Their intervals are over utterances, and say nothing of the next seed."""
    for one in settings:
        for arm in one.others:
            for effects in (one.own["arms"][arm][name] for name in ("effects", "of_all")):
                for effect in effects.values():
                    effect |= {"over": "examples", "verdict": "too few runs"}

    text = goal(settings)

    assert reached(settings) == []
    assert "| yes |" not in text
    assert "on CLINC150 there are too few runs for a verdict" in text
