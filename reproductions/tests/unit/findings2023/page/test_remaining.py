"""Fine-tuned encoders that were planned and not trained, and those of before."""

import pytest

from seedproof_reproductions.findings2023 import pages
from seedproof_reproductions.findings2023.names import layout
from seedproof_reproductions.findings2023.page_data import PROTOCOLS
from seedproof_reproductions.findings2023.planned import plan, replaced_studies
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.remaining import fine_tuned, of_replaced
from seedproof_reproductions.findings2023.results import stored_results

FRESH = list(PROTOCOLS)[1]


def test_dropped_arms_cost_a_training_for_each_run(finetuned):
    """The averages of the control are part of its training, and cost nothing."""
    data, seconds = fine_tuned(by_setting([finetuned])), layout()["fine_tuning"]

    assert (data["seeds"], data["teachers"]) == ("5", [FRESH])
    assert data["dropped"] == ["tgtss-every-10-shared", "ensemble-controls", "label-smoothing-0.1"]
    assert data["dropped_hours"] == pytest.approx(3 * 8 * seconds["student"] / 3600)
    of_massive = 8 * (seconds["control"] + 4 * seconds["student"]) / 3600
    assert data["other_hours"] == pytest.approx(of_massive * 15_000 / 11_514)


def test_an_ensemble_that_was_trained_is_not_dropped(finetuned, make_arm):
    """The page says that its students and its teachers share seeds."""
    before = fine_tuned(by_setting([finetuned]))
    assert not before["has_ensemble"]

    finetuned["arms"]["ensemble-controls"] = make_arm(0.5, shares="teacher", n_runs=8)
    after = fine_tuned(by_setting([finetuned]))
    assert after["has_ensemble"]
    assert set(before["dropped"]) - set(after["dropped"]) == {"ensemble-controls"}


def test_all_arms_are_dropped_if_nothing_was_fine_tuned(both):
    """The control is among them, and costs the longest training."""
    data = fine_tuned(by_setting(both))

    assert (data["seeds"], data["teachers"]) == ("", [])
    assert data["dropped"] == plan()["finetuned"]["arms"]
    assert data["dropped_hours"] == pytest.approx(data["other_hours"] * 11_514 / 15_000)


def test_replaced_results_are_given_for_the_first_known_arm(finetuned):
    """Each with the interval of the arm alone, and with one that holds for all arms."""
    studies = by_setting([finetuned])

    (item,) = of_replaced(studies, ("unknown", "ema"), "flip_rate")
    assert (item["arm"], item["on"], item["seeds"]) == ("ema", "MASSIVE (fine-tuned)", "5")
    assert {item["alone"][0], item["of_all"][0]} == {"−"}

    assert of_replaced(studies, ("unknown",), "flip_rate") == []


def test_replaced_results_belong_to_the_packaged_pages(finetuned):
    """Pages from other results do not mention them."""
    packaged = by_setting(stored_results())

    assert [study.content for study in pages.replaced_by(packaged)] == replaced_studies()
    assert pages.replaced_by(by_setting([finetuned])) == ()


def test_replaced_studies_have_a_purpose_of_their_own(finetuned, make):
    """Other studies of fine-tuned encoders keep theirs."""
    replaced, others = by_setting([finetuned]), by_setting([make()])
    of_study = pages.purpose_of(finetuned, others, replaced)

    assert of_study == layout()["titles"]["purposes"]["replaced"]
    assert of_study not in {pages.purpose_of(finetuned, replaced), pages.purpose_of(finetuned, ())}
