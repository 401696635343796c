"""Advice, choices and the Pareto chart as data."""

import re
from copy import deepcopy

import pytest

from seedproof_reproductions.findings2023.charts import mitigation_chart
from seedproof_reproductions.findings2023.decision_data import (
    advice,
    choices_table,
    pareto_front,
    pareto_points,
)
from seedproof_reproductions.findings2023.names import title_of
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.selection import by_budget, choices

KINDS = ("heads", "linear", "teachers", "early_averages", "soft_labels", "fixed")


def given(settings):
    """Advice that the results show."""
    return advice(settings, choices(settings))


def test_results_that_are_shown_lead_to_advice(settings):
    """With figures for both data sets."""
    data = given(settings)

    assert all(data[kind] for kind in KINDS)
    assert data["heads"]["flips"] == ["−75\xa0%", "−75\xa0%"]
    assert data["linear"]["lost"] == ["CLINC150", "MASSIVE"]
    assert data["shared"] == ["−15\xa0% [−23, −7]"] * 2
    assert data["fixed"]["flips"] == ["−40 to −30\xa0%"] * 2
    assert data["soft_labels"]["arms"] == ["tgtss"]
    assert [item["arm"] for item in data["worse_ece"]] == ["wide-decay-zero-smooth"]
    assert data["finetuned"] == []


@pytest.mark.parametrize(("flips", "is_shown"), [(0.85, True), (0.97, False)])
def test_longer_training_is_advised_if_it_reduces_flips(settings, make_arm, flips, is_shown):
    """Before all other advice on the page, with its cost."""
    for setting in settings:
        setting.content["arms"]["long"] = make_arm(flips, training=1.02)

    longer = given(settings)["longer"]

    assert bool(longer) == is_shown
    if is_shown:
        assert (longer["flips"], longer["training"]) == (["−15\xa0%"] * 2, "1.02×")


@pytest.mark.parametrize(
    ("arm", "content", "kind"),
    [
        ("heads-16", {"flips": 0.97}, "heads"),  # no cut is shown
        ("heads-16", {"flips": 0.25, "accuracy": -0.003}, "heads"),  # it loses accuracy
        ("linear", {"flips": 0.97}, "linear"),
        ("tgtss", {"flips": 0.9, "ece": 0.1}, "teachers"),  # fresh teachers cut, too
        ("aswa", {"flips": 2.0}, "early_averages"),  # it loses no accuracy
        ("aswa", {"flips": 1.03, "accuracy": -0.03}, "early_averages"),  # no rise is shown
        ("fixed-init-draw-2", {"flips": 0.97}, "fixed"),  # one draw does nothing
        ("tgtss", {"flips": 1.02}, "soft_labels"),  # it is as calibrated
    ],
)
def test_advice_needs_every_data_set(settings, make_arm, arm, content, kind):
    """The other advice does not change."""
    settings[1].content["arms"][arm] = make_arm(**content)

    data = given(settings)

    assert [name for name in KINDS if not data[name]] == [kind]


def test_advice_needs_enough_runs(both, finetuned, only_control):
    """At least five fine-tuned runs and eight runs of a head."""
    settings = by_setting([*both, finetuned])
    data = given(settings)
    assert data["finetuned"][0]["arm"] == "ema"
    assert data["finetuned"][0]["few"]
    assert data["seldom"][0]["cost"] == "2.40×"

    for arm in finetuned["arms"].values():
        arm["n_runs"] = 4
    both[0]["arms"]["heads-16"]["n_runs"] = 7
    data = given(settings)
    assert (data["finetuned"], data["seldom"], data["heads"]) == ([], [], {})
    assert advice([only_control], {}) == advice((), {}) == {}


def test_tgtss_of_fine_tuned_encoders_names_its_teacher(both, finetuned, make_arm):
    """Both kinds of teachers, each with its own figures."""
    shared = make_arm(0.7, loose=0.1, n_runs=5, training=2.0, shares="teacher")
    finetuned["arms"]["tgtss-every-10-shared"] = shared

    seldom = given(by_setting([*both, finetuned]))["seldom"]

    assert [(item["teacher"], item["cost"]) for item in seldom] == [
        ("fresh", "2.40×"),
        ("shared", "2.00×"),
    ]
    assert [item["verdict"] == "steadier" for item in seldom] == [False, True]


def test_earlier_results_stand_next_to_those_that_replaced_them(both, finetuned, make_arm):
    """Of the best arm, and of TGTSS with fresh teachers; only honest arms are counted."""
    earlier = deepcopy(finetuned)
    del finetuned["arms"]["tgtss-every-10"]
    shared = make_arm(0.3, loose=0.1, n_runs=5, training=2.0, shares="teacher")
    finetuned["arms"]["tgtss-every-10-shared"] = shared

    data = advice(by_setting([*both, finetuned]), {}, replaced=by_setting([earlier]))

    (tuned,), (fresh,) = data["finetuned"], data["earlier"]
    assert (tuned["arm"], tuned["n_arms"]) == ("ema", 2)
    assert [old["arm"] for old in tuned["earlier"]] == ["ema"]
    assert fresh["arm"] == "tgtss-every-10"
    assert given(by_setting([*both, finetuned]))["earlier"] == []


def test_worse_calibration_on_one_data_set_is_reported(settings, make_arm):
    """16 heads are recommended, and worse on the second data set only."""
    settings[1].content["arms"]["heads-16"] = make_arm(0.25, 0.004, training=1.25, ece=0.01)

    worse = {item["arm"]: item["on"] for item in given(settings)["worse_ece"]}

    assert worse == {"wide-decay-zero-smooth": ["CLINC150", "MASSIVE"], "heads-16": ["MASSIVE"]}


def test_choices_have_a_column_per_setting(both, make_arm):
    """And the lowest accuracy of all settings."""
    both[0]["arms"]["heads-16"]["costs"]["heads"] = 16.0
    both[1]["arms"]["heads-16"] = make_arm(0.3, 0.002, training=1.2)

    table = choices_table(by_budget(by_setting(both)))

    assert len(table.header) == 2 + len(both) + 3
    half = next(row for row in table.rows if row[0] == "50 % more training")
    assert half[1:4] == (
        "**16 heads** `heads-16`",
        "−75\xa0% [−83, −67]",
        "−70\xa0% [−78, −62]",
    )
    assert half[4] == "+0.20\xa0pts [−0.10, +0.50]"
    assert half[-1] == "1.02×"


def test_budget_without_an_arm_has_an_empty_row(settings):
    """No cheap arm that keeps accuracy has fewer flips everywhere."""
    for setting in settings:
        for arm in setting.content["arms"].values():
            if arm["costs"]["training"] <= 1.02 and arm["of_all"]:
                arm["of_all"]["flip_rate"]["verdict"] = "no difference shown"

    budgets = by_budget(settings)

    assert [*budgets.values()][:2] == [None, None]
    row, *_ = choices_table(budgets).rows
    assert row[0] == next(iter(budgets))
    assert not any(row[2:])


def test_chart_point_has_the_smallest_reduction_and_the_highest_cost(settings, make_arm):
    """Over the data sets, with its simultaneous interval."""
    settings[1].content["arms"]["heads-16"] = make_arm(0.3, training=1.2)

    point = next(point for point in pareto_points(settings) if point.arm.arm == "heads-16")

    ends = (point.cost, point.change, point.low, point.high)
    assert ends == pytest.approx((0.25, -0.7, -0.78, -0.62))
    assert point.kind == "kept"


def test_chart_labels_the_pareto_front_the_paper_and_the_choices(settings):
    """No cheaper arm beats one on the front; a point outside the chart has its value."""
    points = pareto_points(settings)
    # Linear loses accuracy, and a shared teacher is left out.
    front = [point.arm.arm for point in pareto_front(points)]
    assert front == ["zero-last", "wide-decay-zero-smooth", "heads-16"]

    chart = mitigation_chart(points, ["linear"], ["CLINC150"])
    names = {text.partition(" (flips")[0] for text in re.findall(r">([^<>]+)</text>", chart.svg)}
    drawn = {arm for arm in settings[0].treatments if title_of(arm) in names}
    assert drawn >= {*front, "tgtss", "linear", "aswa"}
    assert not drawn & {"tgtss-power-1", "deployed-shared"}
    assert "+100 %)" in chart.svg
    assert "+25 %" in chart.svg  # what 16 heads cost
