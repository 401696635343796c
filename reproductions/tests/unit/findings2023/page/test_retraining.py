"""New data on the pages: which arms are chosen, published figures and the confirmation."""

from copy import deepcopy

import pytest

from seedproof.stats.effect import Effect, judged
from seedproof_reproductions.findings2023.pages import build_decision, write_page
from seedproof_reproductions.findings2023.planned import plan
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.remaining import missing_costs
from seedproof_reproductions.findings2023.retraining import (
    accepts_loss,
    confirmation,
    control_ece,
    judge_published,
    judge_small,
    kept_cuts,
    under_new_data,
)
from seedproof_reproductions.findings2023.retraining import retraining as retraining_data
from seedproof_reproductions.findings2023.selection import candidates, choices
from seedproof_reproductions.rules import Verdict


@pytest.fixture
def studies(make, make_arm):
    """Both data sets: new arms under new seeds, arms under new data, and a confirmation."""

    def study(dataset, arms, **setting):
        control = make(dataset)["arms"]["none"]
        results = make(dataset, arms={"none": deepcopy(control)} | arms, **setting)
        return results | {"name": f"{dataset}-{len(arms)}-{sorted(setting.items())}"}

    made = []
    for dataset in ("clinc150", "massive"):
        new = {"soup-4": make_arm(0.7, training=1.05)}
        data = new | {
            "heads-16": make_arm(0.4, training=1.25),
            "zero-last": make_arm(0.99),
            "linear": make_arm(0.3, -0.01, training=0.99),
        }
        stored = {"value": 0.8, "low": 0.7, "high": 0.9, "scale": "ratio", "over": "runs × examples",
                  "verdict": "steadier", "detectable": None}  # fmt: skip
        contrasts = {
            figure["name"]: {
                kind: {arm: {"flip_rate": stored} for arm in figure["arms"]}
                for kind in figure["protocols"]
            }
            for figure in plan()["published"]
        }
        made += [
            study(dataset, new, train_data="fixed", seed=0),
            study(dataset, data, train_data="bootstrap", seed=0) | {"published": contrasts},
        ]
        for kind in ("fixed", "bootstrap"):
            arms = {"heads-16": make_arm(0.35), "linear": make_arm(0.3, -0.012)}
            made.append(study(dataset, arms, train_data=kind, seed=1, test_split="dev"))
    return by_setting(made)


def test_choices_must_help_under_new_data(settings, studies):
    """An arm without fewer flips there, or that was not trained there, is not chosen."""
    before = {arm.arm for arm in choices(settings).values()}
    after = {arm.arm for arm in choices(settings, studies).values()}

    assert {"zero-last", "wide-decay-zero-smooth", "heads-16", "linear"} <= before
    assert after == {"heads-16", "linear", "soup-4"}


def test_candidates_have_both_data_sets_under_both_changes(settings, studies):
    """An arm that the paper's study lacks has its new seeds in the plan's."""
    by_name = {arm.arm: arm for arm in candidates(settings, studies)}

    assert set(by_name) == {"heads-16", "linear", "zero-last", "soup-4"}
    for arm in by_name.values():
        kinds = [each.content["setting"]["train_data"] for each in arm.settings]
        assert kinds == ["fixed", "fixed", "bootstrap", "bootstrap"]
    assert by_name["heads-16"].worst == 0.4
    assert by_name["soup-4"].settings[0] is not settings[0]


def test_new_data_separates_arms_that_still_help(settings, studies):
    """One arm has fewer flips under new seeds only."""
    kept = kept_cuts(candidates(settings, studies))

    assert kept["both"] == ["linear", "heads-16", "soup-4"]
    (item,) = kept["seeds"]
    assert (item["arm"], item["seeds"]) == ("zero-last", ["−20\xa0%"] * 2)
    assert item["data"] == [{"change": "−1\xa0%", "verdict": "small"}] * 2


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.8, 0.99, "fewer"),
        (0.91, 1.1, "small"),
        (0.909, 1.05, "open"),  # 1 / 1.1 is 0.9091
        (0.95, 1.11, "open"),
    ],
)
def test_change_within_the_margin_is_not_open(low, high, verdict):
    """A tenth of the control, on both sides."""
    judged_as = judged("flip_rate", low, high)
    effect = Effect("flip_rate", "ratio", 0.95, low, high, over="runs", verdict=judged_as)

    assert judge_small(effect) == verdict
    assert judge_small(None) == "open"


def test_goal_is_repeated_under_new_data(studies):
    """By the first arm that was trained there, with its confirmation."""
    data = under_new_data(["wide", "heads-16", "linear"], studies)

    assert (data["arm"], data["untrained"]) == ("heads-16", ["wide"])
    assert [item["text"] for item in data["flips"]] == ["−60\xa0% [−68, −52]"] * 2
    assert [item["text"] for item in data["confirmed"]] == ["−65\xa0% [−73, −57]"] * 2
    assert data["is_half"]
    assert under_new_data(["wide"], studies) == under_new_data(["linear"], ()) == {}


def test_missing_costs_are_from_stored_hours(studies):
    """Unknown if one study did not store them."""
    resampled = [s for s in studies if s.train_data == "bootstrap" and "published" in s.content]
    resampled[0].content["hours"] = 2.0
    assert missing_costs(studies)["data_hours"] is None

    resampled[1].content["hours"] = 3.0
    costs = missing_costs(studies)
    assert costs["data_hours"] == 5.0
    assert costs["arm_hours"] == 5.0 / sum(len(each.arms) for each in resampled)
    assert [item["on"] for item in control_ece(studies)] == ["CLINC150", "MASSIVE"]


def test_confirmation_needs_fewer_flips_and_accuracy_everywhere(settings, studies, make_arm):
    """An arm is confirmed by a loss of up to 2 points only if its budget accepts that."""
    budgets = choices(settings, studies)
    chosen, may_lose = list(budgets.values()), accepts_loss(budgets)
    assert may_lose == {"linear"}
    assert confirmation(chosen, studies)["confirmed"] == ["heads-16"]
    check = confirmation(chosen, studies, may_lose)
    assert check["confirmed"] == ["linear", "heads-16"]
    assert len(check["table"].rows) == 8  # an arm that was not trained again has none

    last = [each for each in studies if each.content["setting"]["seed"] == 1][-1]
    last.content["arms"]["heads-16"] = make_arm(0.97)
    last.content["arms"]["linear"] = make_arm(0.3, -0.02)
    assert confirmation(chosen, studies, may_lose)["confirmed"] == []
    assert confirmation(chosen, studies, may_lose)["open"] == ["linear", "heads-16"]


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (0.5, 0.7, 40, Verdict.HOLDS),
        (0.7, 0.9, 40, Verdict.FAILS),  # at most 30 %
        (0.5, 1.1, 40, Verdict.OPEN),
        (0.7, 0.9, "none", Verdict.FAILS),
        (0.9, 1.1, "none", Verdict.OPEN),
    ],
)
def test_published_figure_is_judged_by_the_interval(low, high, published, verdict):
    """That nothing changes is never shown."""
    value = (low * high) ** 0.5
    effect = Effect("flip_rate", "ratio", value, low, high, verdict=judged("flip_rate", low, high))

    assert judge_published(effect, published) is verdict
    assert judge_published(None, published) is Verdict.OPEN


def test_pages_have_new_data_only_with_its_results(both, studies, tmp_path):
    """Both pages are written; made results do not bring those of the package."""
    contents = [each.content for each in studies]

    data = build_decision(both, retrained=contents)["retraining"]

    first, *_ = data["table"].rows
    assert first[0].endswith("`linear`**")
    assert len(data["table"].header) == len(data["table"].rows[0]) == 8
    bagging, twins, parameters = data["published"]
    assert [len(figure["protocols"]) for figure in (bagging, twins, parameters)] == [2, 2, 1]
    assert bagging["protocols"][0]["changes"].count("−20\xa0% / −20\xa0%") == 3
    assert build_decision(both)["retraining"] == {}
    assert retraining_data(by_setting(both), (), {}) == {}
    pages, without = (
        write_page(both, tmp_path / name, retrained=retrained)
        for name, retrained in (("page.md", contents), ("without.md", []))
    )
    for page, shorter in zip(pages[:2], without[:2], strict=True):
        assert len(page.read_text("utf-8")) > len(shorter.read_text("utf-8"))
