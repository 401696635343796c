import pytest

from seedproof.stats.effect import Effect, judged
from seedproof_reproductions.findings2023.names import layout
from seedproof_reproductions.findings2023.page_data import goal, shortfalls
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.selection import (
    Candidate,
    best_of,
    candidates,
    choices,
    closest,
    halves,
)

# What people can afford, in the order of the page.
NOW, SMALL_LOSS, A_TENTH, HALF, ANY, DEPLOYED = (row["says"] for row in layout()["budgets"])


def reached(settings):
    """Names of honest arms that reach the goal."""
    return [arm.arm for arm in candidates(settings) if arm.reaches and arm.is_honest]


def chosen(settings):
    """Names of the chosen arms by budget."""
    return {budget: arm.arm for budget, arm in choices(settings).items()}


def replace_everywhere(settings, arm, content):
    """Store another arm in every setting."""
    for setting in settings:
        setting.content["arms"][arm] = content


@pytest.mark.parametrize(
    ("value", "low", "high", "is_halved"),
    [
        (0.5, 0.4, 0.599, True),
        (0.501, 0.4, 0.55, False),  # less than half is cut
        (0.5, 0.4, 0.6, False),  # a cut of 40 % is not excluded
        (0.4, None, None, False),
    ],
)
def test_flips_are_halved_if_the_interval_excludes_40_percent(value, low, high, is_halved):
    """The limits themselves count as reached."""
    verdict = "not tested" if low is None else judged("flip_rate", low, high)

    assert halves(Effect("flip_rate", "ratio", value, low, high, verdict=verdict)) == is_halved


def test_two_runs_never_reach_the_goal(settings):
    """Intervals over utterances do not cover other seeds."""
    for setting in settings:
        for arm in setting.treatments:
            for name in ("effects", "of_all"):
                for effect in setting.content["arms"][arm][name].values():
                    effect["verdict"] = "too few runs"

    assert reached(settings) == []
    assert not Candidate("heads-16", settings).keeps_accuracy
    reasons = shortfalls(Candidate("heads-16", settings))
    assert reasons == [{"reason": "runs", "on": name} for name in ("CLINC150", "MASSIVE")]


def test_loss_of_accuracy_is_reported_as_a_shortfall(settings):
    """A linear head has the largest reduction and loses a point."""
    reasons = shortfalls(Candidate("linear", settings))

    losses = [(item["reason"], item["change"]) for item in reasons]
    assert losses == [("accuracy", "−1.00\xa0pts [−1.30, −0.70]")] * 2


@pytest.mark.parametrize(
    "content",
    [
        {"training": 1.51},
        {"accuracy": -0.0021},  # the interval begins at −0.51 points
        {"flips": 0.51},
        {"loose": 0.36},  # an end at 0.61
        {"shares": "teacher"},
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_each_part_of_the_goal_counts_on_every_data_set(settings, make_arm, content, place):
    """An arm that misses one part by a little does not reach the goal; an end at 0.33 does."""
    assert reached(settings) == ["heads-16"]

    settings[place].content["arms"]["heads-16"] = make_arm(**({"flips": 0.25} | content))

    assert reached(settings) == []


def test_loss_below_the_margin_keeps_accuracy(settings, make_arm):
    """A loss that is shown, of 0.1 to 0.4 points, is below half a point."""
    replace_everywhere(settings, "heads-16", make_arm(0.25, -0.0015))
    for setting in settings:
        for end, value in {"low": -0.004, "high": -0.001}.items():
            setting.content["arms"]["heads-16"]["of_all"]["accuracy"][end] = value

    assert Candidate("heads-16", settings).keeps_accuracy


def test_goal_separates_arms_that_share_something(settings, make_arm):
    """The interval of another arm ends at 0.62, which includes a reduction of 40 %."""
    deployed = make_arm(0.3, shares="teacher", group="cheaper")
    replace_everywhere(settings, "deployed-shared", deployed)

    data = goal(settings)

    assert data["shared"]["arms"] == ["deployed-shared"]
    assert (data["honest"]["arms"], data["honest"]["of"]) == (["heads-16"], 11)
    (row,) = data["honest"]["table"].rows
    assert row[:2] == ("16 heads", "−75\xa0% [−83, −67]")
    assert row[-2:] == ("1.25×", "1.02×")


def test_closest_arm_is_cheap_and_keeps_accuracy(settings):
    """By its worse data set; if all arms lose accuracy, all are considered."""
    for setting in settings:
        for arm in ("heads-16", "wide-decay-zero-smooth", "deployed-shared"):
            del setting.content["arms"][arm]
    assert closest(candidates(settings)).arm == "fixed-init"
    assert goal(settings)["honest"]["closest"]["arm"] == "zero-last"

    for setting in settings:
        del setting.content["arms"]["fixed-init"]
    shared = goal(settings)["shared"]["closest"]
    assert shared["arm"] == "ensemble-shared"
    assert [item["reason"] for item in shared["shortfalls"]] == ["cost", "flips", "flips"]


def test_candidates_are_arms_of_every_data_set(settings, only_control):
    """An arm of one data set and a repeated draw are not candidates."""
    del settings[1].content["arms"]["linear"]

    arms = [arm.arm for arm in candidates(settings)]

    assert "linear" not in arms
    assert "fixed-init-draw-2" not in arms
    assert goal([only_control]) == goal([]) == {}


def test_each_budget_has_the_arm_with_the_largest_reduction(settings):
    """Rows that repeat the arm of a cheaper row are left out."""
    assert chosen(settings) == {
        NOW: "zero-last",
        SMALL_LOSS: "linear",
        A_TENTH: "wide-decay-zero-smooth",
        HALF: "heads-16",
        DEPLOYED: "deployed-shared",
    }
    for setting in settings:
        setting.content["arms"]["heads-16"]["costs"]["training"] = 1.6
    assert chosen(settings)[ANY] == "heads-16"


def test_choices_use_simultaneous_intervals(settings, make_arm):
    """A ratio up to 1.02 is not a reduction; a loss is at most 1.95 alone, 2.05 among all."""
    replace_everywhere(settings, "zero-last", make_arm(0.8, loose=0.22))
    replace_everywhere(settings, "linear", make_arm(0.15, -0.0175))

    assert chosen(settings)[NOW] == "label-smoothing-0.5"
    assert "linear" not in chosen(settings).values()


def test_unknown_costs_losses_and_shared_parts_exclude_an_arm(settings, make_arm):
    """One data set is enough to exclude it."""
    arms = [setting.content["arms"] for setting in settings]
    arms[0]["heads-16"]["costs"] = None
    arms[0]["wide-decay-zero-smooth"]["shares"] = "init"
    arms[1]["zero-last"] = make_arm(0.8, -0.003)

    selected = chosen(settings).values()

    assert not {"heads-16", "wide-decay-zero-smooth", "zero-last"} & set(selected)


def test_arm_is_judged_on_its_worse_data_set(settings, make_arm):
    """0.1 on one data set and 0.9 on the other is worse than 0.8 on both."""
    settings[0].content["arms"]["swa"] = make_arm(0.1, group="paper")
    settings[1].content["arms"]["swa"] = make_arm(0.9, group="paper")

    assert chosen(settings)[NOW] == "zero-last"


def test_fine_tuned_arm_is_not_a_choice(both, finetuned, only_control):
    """EMA reaches 0.5 [0.2, 0.8]; seven runs of a head or four fine-tuned runs are too few."""
    settings = by_setting([*both, finetuned])
    assert best_of(settings[2]).arm == "ema"
    assert "ema" not in chosen(settings).values()
    assert choices([only_control]) == {}

    for results in both:
        results["arms"]["heads-16"]["n_runs"] = 7
    finetuned["arms"]["ema"]["n_runs"] = 4
    assert "heads-16" not in chosen(settings).values()
    assert best_of(settings[2]) is None

    del finetuned["arms"]["ema"]
    assert best_of(settings[2]) is None
