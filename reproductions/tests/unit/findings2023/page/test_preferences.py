"""Advice that departs from the planned choice after the confirmation."""

import pytest

from seedproof_reproductions.findings2023.preferences import preferences, with_preferences
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.selection import by_budget, candidates

PLANNED, RIVAL = "bagging-16", "heads-16"
BUDGET = "50 % more training"


@pytest.fixture
def made(make, make_arm):
    """Both data sets; the planned arm leads a little under new data, and not under new seeds."""

    def study(dataset, planned, rival, **setting):
        arms = {
            "none": make(dataset)["arms"]["none"],
            PLANNED: make_arm(planned, training=1.25),
            RIVAL: make_arm(rival, training=1.25),
        }
        return make(dataset, arms=arms, **setting) | {"name": f"{dataset} {setting}"}

    heads = [study(dataset, 0.4, 0.2) for dataset in ("clinc150", "massive")]
    studies = [
        study(dataset, *flips, train_data=kind, seed=root, test_split=split)
        for dataset in ("clinc150", "massive")
        for kind, root, split, flips in (
            ("bootstrap", 0, "test", (0.80, 0.82)),
            ("fixed", 1, "dev", (0.4, 0.2)),
            ("bootstrap", 1, "dev", (0.8, 0.8)),
        )
    ]
    return by_setting(heads), by_setting(studies)


def advice(settings, studies):
    """The planned choice of a budget, the arm to use in its place, and the preferences."""
    planned = by_budget(settings, studies)
    preferred = preferences(planned, candidates(settings, studies), studies)
    return planned[BUDGET].arm, with_preferences(planned, preferred)[BUDGET].arm, preferred


def test_confirmed_arm_replaces_a_choice_that_no_study_shows_to_be_better(made):
    """0.80 and 0.82 are alike, and in the confirmation both are 0.8."""
    settings, studies = made
    planned, used, (preference,) = advice(settings, studies)

    assert (planned, used) == (PLANNED, RIVAL)
    assert preference.data["choice"] == ["−20\xa0%", "−18\xa0%"]
    assert preference.data["confirmed"] == ["−20\xa0%", "−20\xa0%"]


@pytest.mark.parametrize(
    ("root", "content"),
    [
        (1, {"flips": 0.99}),  # it is not confirmed
        (1, {"flips": 0.2, "accuracy": -0.004}),
        (0, {"flips": 0.82, "training": 1.26}),  # it costs more
    ],
)
def test_rival_must_be_confirmed_and_cost_no_more(made, make_arm, root, content):
    """Otherwise the planned choice stands."""
    settings, studies = made
    for study in studies:
        if study.content["setting"]["seed"] == root:
            study.content["arms"][RIVAL] = make_arm(**({"training": 1.25} | content))

    assert advice(settings, studies)[1:] == (PLANNED, ())


def test_only_the_same_heads_without_bagging_are_simpler(made):
    """Four heads are another arm, however stable."""
    settings, studies = made
    for study in (*settings, *studies):
        study.content["arms"]["heads-4"] = study.content["arms"].pop(RIVAL)

    assert advice(settings, studies)[1:] == (PLANNED, ())


def test_choice_that_is_shown_to_be_better_once_stands(made, make_arm):
    """In the confirmation 0.4 is below 0.8 by whole intervals."""
    settings, studies = made
    for study in studies:
        if study.content["setting"]["seed"] == 1 and study.train_data == "bootstrap":
            study.content["arms"][PLANNED] = make_arm(0.4, training=1.25)

    assert advice(settings, studies)[1:] == (PLANNED, ())
    assert advice(settings, [s for s in studies if s.content["setting"]["seed"] == 0])[2] == ()
