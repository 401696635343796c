"""The study of new data: what is planned, made in a moment on made data, and collected."""

from dataclasses import replace

import numpy as np
import pytest

from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.planned import (
    PlannedStudy,
    choice_studies,
    collect_details,
    collect_published,
    collect_study,
    confirmation_studies,
    details_studies,
    plan,
    stored_studies,
)
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.recipe import FINE_TUNED
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.findings2023.settings import Setting


def test_plan_names_known_arms():
    """Every study begins with the control, and published figures are about planned arms."""
    studies = plan()["studies"]

    for study in studies.values():
        assert study["arms"][0] == "none"
        assert set(study["arms"]) <= set(ARMS)
        assert all(ARMS[arm].teacher != "shared" for arm in study["arms"])
    for figure in plan()["published"]:
        named = {*figure["arms"], figure["against"]}
        assert named <= set(studies["data"]["arms"])
        if "published" in figure["protocols"]:
            assert named <= set(studies["seeds"]["arms"])


def test_confirmation_has_other_seeds_and_other_utterances():
    """On both data sets, under new seeds and under new data."""
    choice = [study.setting for study in choice_studies()]
    studies = list(confirmation_studies(["heads-4", "heads-16"]))

    assert len(choice) == len(studies) == 4
    assert {setting.seed for setting in choice} == {0}
    assert {(study.setting.seed, study.setting.test_split) for study in studies} == {(1, "dev")}
    assert {setting.test_split for setting in choice} == {"test"}
    kinds = {(study.setting.dataset, study.setting.train_data) for study in studies}
    assert len(kinds) == 4
    assert studies[0].arms == ("none", "heads-4", "heads-16")


def test_details_have_seeds_of_their_own():
    """All runs are traced, and both arms of each pair are trained."""
    studies, part = list(details_studies()), plan()["details"]

    assert {study.setting.seed for study in studies} == {2}
    assert len({study.setting.dataset for study in studies}) == 2
    for study in studies:
        assert study.setting.n_traced == study.setting.n_traced_control == study.seeds
        assert study.setting.traced == "late"
        paired = {arm for pair in part["exponent"] for arm in pair}
        assert {*paired, *part["late"], "none"} == set(study.arms) <= set(ARMS)
    for used, plain in part["exponent"]:
        assert (ARMS[used].draw, ARMS[used].teacher) == (ARMS[plain].draw, ARMS[plain].teacher)
        assert (ARMS[used].soft.power, ARMS[plain].soft.power) == (0.5, 1.0)


def test_fine_tuned_encoders_have_seeds_of_their_own():
    """As many as the ensemble has teachers, and arms that the track knows, the control first."""
    part = plan()["finetuned"]

    assert part["root"] != 0
    assert part["arms"][0] == "none"
    assert set(part["arms"]) <= set(FINE_TUNED)
    assert ARMS["ensemble-controls"].soft.n_teachers == part["seeds"]


@pytest.fixture(scope="module")
def made(prepared, tmp_path_factory):
    """Stores of a small study, by the kind of training data."""
    from seedproof_reproductions.findings2023 import training

    folder, stores = tmp_path_factory.mktemp("stores"), {}
    arms = ("none", "swa", "heads-4", "heads-16", "bagging-2", "bagging-4", "bagging-16", "twins-1",
            "twins-10")  # fmt: skip
    for kind in ("fixed", "bootstrap"):
        setting = Setting("massive", epochs=2, batch_size=64, n_traced=0, n_traced_control=0,
                          train_data=kind)  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training, "prepare", lambda _: prepared)
            stores[kind] = PlannedStudy(setting, arms, 3).make(folder)
    return stores


def test_studies_are_made_and_collected(made):
    """Every change has a simultaneous interval."""
    results = collect_study(made["bootstrap"])

    assert results["setting"]["train_data"] == "bootstrap"
    arms = results["arms"]
    assert {content["n_runs"] for content in arms.values()} == {3}
    assert set(arms["swa"]) == {"group", "shares", "n_runs", "costs", "of_all", "metrics"}
    assert arms["bagging-4"]["costs"]["heads"] == 4
    (setting,) = by_setting([results])
    assert setting.effect("heads-4", "of_all.flip_rate").low is not None


def test_published_protocol_draws_from_the_whole_split(made):
    """Its arms are those of the study of new seeds; the control is that of new data."""
    contrasts = collect_published(made["bootstrap"], made["fixed"])

    assert {name: list(protocols) for name, protocols in contrasts.items()} == {
        "bagging": ["own", "published"],
        "twins": ["own", "published"],
        "parameters": ["own"],
    }
    own, published = (contrasts["bagging"][kind] for kind in ("own", "published"))
    assert list(own) == ["bagging-2", "bagging-4", "bagging-16"]
    values = np.array(
        [[side[arm]["flip_rate"]["value"] for arm in own] for side in (own, published)]
    )
    assert np.isfinite(values).all()
    assert not np.allclose(*values)


def test_details_compare_late_steps_and_exponents(prepared, tmp_path):
    """Arms are compared with the control, and arms with the exponent with those without."""
    from seedproof_reproductions.findings2023 import training

    (_, planned), arms = list(details_studies()), ("none", "tgtss")
    setting = replace(planned.setting, epochs=2, batch_size=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "prepare", lambda _: prepared)
        store = PlannedStudy(setting, planned.arms, 3).make(tmp_path)
    results = collect_details(store)

    assert list(results["exponent"]) == [used for used, _ in plan()["details"]["exponent"]]
    assert all(pair["label_entropy"]["low"] is not None for pair in results["exponent"].values())
    for arm in arms:
        assert results["arms"][arm]["n_traced"] == 3
        assert results["arms"][arm]["n_steps"] < 2 * len(prepared.train) / 64
    (stored,) = by_setting([results])
    assert stored.effect("tgtss", "single_run_effects.all").value is not None


def test_stored_studies_follow_the_plan():
    """Arms, seeds and utterances of every stored study are those of the plan."""
    parts = plan()["confirmation"], plan()["details"]
    splits = {part["root"]: part.get("test_split", "test") for part in parts}
    most = {plan()["details"]["root"]: plan()["details"]["seeds"]}
    for content in stored_studies():
        setting = content["setting"]
        assert setting["dataset"] in plan()["datasets"]
        assert setting["test_split"] == splits.get(setting["seed"], "test")
        planned = most.get(setting["seed"], plan()["seeds"])
        assert {arm["n_runs"] for arm in content["arms"].values()} <= set(range(planned + 1))


def test_stored_fine_tunings_follow_the_plan():
    """The first arms of the list, each with all seeds."""
    planned = plan()["finetuned"]
    tuned = [each for each in stored_results() if each["setting"]["track"] == "finetune"]
    assert tuned
    for content in tuned:
        setting, arms = content["setting"], content["arms"]
        assert (setting["dataset"], setting["seed"]) == (planned["dataset"], planned["root"])
        assert set(arms) == set(planned["arms"][: len(arms)])
        assert {arm["n_runs"] for arm in arms.values()} == {planned["seeds"]}
