from copy import deepcopy

import numpy as np
import pytest
from scipy import stats

from seedproof.errors import EmptyInputError
from seedproof_reproductions.figures import MISSING
from seedproof_reproductions.thesis2019.page_data import checked_claims, page_data, write_page
from seedproof_reproductions.thesis2019.reading import ARMS, MODELS, by_setting
from seedproof_reproductions.thesis2019.settings import CANDIDATES, CATALOG, Setting

RATES = [0.681, 0.684, 0.686, 0.683, 0.690]
LISTS = {
    "first_item_flips": [0.3, 0.28, 0.32], "jaccard_distance@10": [0.3, 0.28, 0.32],
    "rank_biased_overlap": [0.8, 0.78, 0.82], "hit_rate@10": [0.685, 0.673, 0.697],
    "hit_rate@10_sd": [0.0033, 0.0022, 0.006], "hit_rate@10_sd_independent": [0.002, 0.001, 0.003],
    "ndcg@10_sd": [0.001, 0.0008, 0.0014],
}  # fmt: skip
CURVE = {"counts": [0, 0, 0, 0, 0, 9, 50, 60, 70, 80], "means": [None] * 5 + [0.7] * 5}


def effect(value, low, high, verdict, scale="ratio"):
    return {"scale": scale, "value": value, "low": low, "high": high, "verdict": verdict}


def made_arm(cpu_seconds=60.0, **changes):
    """An arm of five runs; changes are effects on the lists of both parts."""
    scalars = {
        "hit_rate_10_candidates": RATES, "ndcg_10_candidates": [0.4] * 4 + [0.41],
        "cpu_seconds": [cpu_seconds] * 5, "cpu_seconds_answering": [12.0] * 5,
        "train_loss": [0.2] * 5,
    }  # fmt: skip
    lists = {"n_examples": 6040, "metrics": LISTS, "effects": changes, "is_paired": bool(changes)}
    attention = {
        "n_examples": 6040, "metrics": {"explanation_jaccard_10": [0.5, 0.48, 0.52]},
        "effects": {}, "curve": {**CURVE, "errors": [None] * 5 + [0.01] * 5},
    }  # fmt: skip
    return {
        "runs": [*"01234"],
        "n_runs": 5,
        "scalars": scalars,
        "attention": attention,
    } | dict.fromkeys((CANDIDATES, CATALOG), lists)


@pytest.fixture
def deepicf():
    """Results of DeepICF with class weights, which cost twice as much and lose a point."""
    setting = Setting()
    weighted = made_arm(
        120.0,
        first_item_flips=effect(0.5, 0.4, 0.6, "steadier"),
        **{"hit_rate@10": effect(-0.01, -0.012, -0.008, "worse", "difference")},
    )
    return {
        "format": 1, "paper": "thesis2019", "name": "deepicf-softmax", "n_users": 6040,
        "setting": {"model": "deepicf", "output": "softmax", "epochs": None, "n_users": None,
                    "held_out": None},
        "schedule": setting.schedule._asdict(), "pretraining": None, "versions": {},
        "arms": {"none": made_arm(), "class-balanced": weighted},
    }  # fmt: skip


def inside(decrease):
    """Figures of confidence and shuffled attention; all changes shrink by as much."""
    figures = {"n_answers": {}, "probability": {}, "logit": {}}
    for scale in ("probability", "logit"):
        bins = {
            "50": [0.3, 0.28, 0.32],
            "60": None,
            "70": None,
            "80": None,
            "90": [0.1, 0.08, 0.12],
        }
        figures[scale] = {"all": [0.2, 0.18, 0.22], "bins": bins, "decrease": decrease}
    gaps = {"gap": [0.27, 0.26, 0.28], "gap_if_calibrated": [0.12, 0.11, 0.13]}
    part = {"confidence": 0.8, "n_answers": 900, **gaps, "excess": [0.15, 0.14, 0.16]}
    compared = {scale: [0.05, -0.01, 0.11] for scale in ("probability", "logit")}
    return {
        "confidence": {"all": part, "bins": {"50": None, "90": part}},
        "permutation": {
            "n_shuffles": 100, "all": figures, "missed": figures,
            "compared": {"n_pairs": 5, "all": compared, "missed": compared},
        },
    }  # fmt: skip


def outcomes(results):
    return {item.claim.name: item.outcome for item in checked_claims(by_setting(results))}


def test_claims_are_judged_by_the_stored_figures(deepicf):
    """0.24 is in [0.22, 0.6], 0.34 is far from 0.1, and a loss of 0.8 is more than half a point."""
    assert outcomes([deepicf]) == {
        "sd-hit-rate": "hold", "sd-ndcg": "fail", "class-weights": "fail",
        "attention-overlap": "hold", "over-confidence": "missing", "permutation": "missing",
        "permutation-class-weights": "missing", "age-groups": "missing",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("decrease", "outcome"),
    [([0.2, 0.1, 0.3], "hold"), ([0.2, -0.1, 0.3], "open"), ([-0.2, -0.3, -0.1], "fail")],
)
def test_differences_are_judged_by_their_side_of_0(deepicf, decrease, outcome):
    """Class weights change as much as nothing, by an interval around 0."""
    for arm in deepicf["arms"].values():
        arm.update(inside(decrease))

    judged = outcomes([deepicf])

    assert judged["permutation"] == outcome
    assert judged["over-confidence"] == "hold"
    assert judged["permutation-class-weights"] == "open"


def test_neighbors_of_an_age_group_are_judged_for_gmf(deepicf):
    deepicf["setting"]["model"] = "gmf"
    users = {"agreement": [0.3, 0.28, 0.32], "chance": 0.0017, "same_age": [0.32, 0.3, 0.34]}
    deepicf["arms"]["none"]["vectors"] = {"users": users | {"same_age_excess": [0.1, 0.09, 0.11]}}

    ((_, *cells),) = page_data([deepicf])["vectors"].rows

    assert outcomes([deepicf])["age-groups"] == "hold"
    assert cells[1].startswith("30.0")
    assert cells[-1].startswith("10.0")


def test_page_shows_confidence_next_to_shuffled_attention(deepicf, tmp_path):
    for arm in deepicf["arms"].values():
        arm.update(inside([0.2, 0.1, 0.3]))

    _, *images = write_page([deepicf], tmp_path / "page.md")

    data = page_data([deepicf])
    assert {image.name for image in images} == {
        "first-item.svg", "attention-deepicf-softmax.svg", "confidence-deepicf-softmax.svg"
    }  # fmt: skip
    assert [row[0] for row in data["confidence"].rows] == [
        MODELS["deepicf"], f"{MODELS['deepicf']}, {ARMS['class-balanced']}"
    ]  # fmt: skip
    # A logit has no unit, and a bin with few answers no figure.
    probability, logit, *_ = data["permutation"].rows
    assert (probability[2][:4], logit[2][:4]) == ("30.0", "0.30")
    assert probability[3] == logit[3] == MISSING
    assert data["n_shuffles"] == 100


def test_other_outputs_are_not_judged_by_the_claims_on_the_softmax(deepicf):
    deepicf["setting"]["output"] = "three"

    assert set(outcomes([deepicf]).values()) == {"missing"}


def test_two_runs_decide_no_value(deepicf):
    """With two runs, intervals are over users alone."""
    for arm in deepicf["arms"].values():
        arm["n_runs"] = 2

    judged = outcomes([deepicf])

    assert judged["sd-hit-rate"] == judged["attention-overlap"] == "open"


def test_levels_have_an_interval_over_seeds_and_the_printed_figure(deepicf):
    """By Student's distribution, on the hit rates of the runs alone."""
    (none, weighted) = page_data([deepicf])["levels"].rows

    low, high = stats.t.interval(0.95, 4, np.mean(RATES), stats.sem(RATES))
    mean, sd = 100 * np.mean(RATES), 100 * LISTS["hit_rate@10_sd"][0]
    assert none[1:4] == (
        "5", f"{mean:.2f} ±{sd:.2f} [{100 * low:.2f}, {100 * high:.2f}]", "70.41 ±0.24"
    )  # fmt: skip
    assert weighted[3] == "68.61"
    # Training and answering take 72 s, and 132 s.
    assert (none[-1], weighted[-1]) == ("1.2", "2.2")


def test_changes_have_the_cost_of_training(deepicf):
    """Answers are not part of it."""
    data = page_data([deepicf])

    for table in data["changes"]["DeepICF"].values():
        ((_, *cells),) = table.rows
        assert cells[-1] == "2.00×"
        assert cells[0].endswith("steadier")
    assert all(arms == [ARMS["class-balanced"]] for arms in data["steadier"]["DeepICF"].values())


def test_settings_with_fewer_users_or_seeds_are_named(deepicf):
    less = deepcopy(deepicf) | {"name": "three", "n_users": 2998}
    less["setting"]["output"] = "three"

    first, second = page_data([less, deepicf])["settings"]

    assert first.departures == ("5 of 10 seeds",)
    assert second.departures == ("2,998 of 6,040 users", "5 of 10 seeds")


def test_page_of_a_single_arm_has_no_table_of_changes(deepicf, tmp_path):
    """GMF has no attention, and its page a chart of the lists alone."""
    deepicf["setting"]["model"] = "gmf"
    deepicf["arms"] = {"none": {**made_arm(), "attention": None}}

    page, *images = write_page([deepicf], tmp_path / "page.md")

    assert page_data([deepicf])["changes"] == {}
    assert [image.name for image in images] == ["first-item.svg"]
    assert page.stat().st_size > 1000


def test_schedule_in_use_is_the_best_that_was_tried_unless_the_page_says_so(deepicf):
    """GMF keeps a cheaper one; the others have the best hit rate on held-out items."""
    rows = page_data([deepicf])["tried"].rows

    for model in (MODELS["ncf"], MODELS["neumf"]):
        tried = [row for row in rows if row[0] == model]
        assert max(tried, key=lambda row: float(row[3]))[-1]
        assert sum(bool(row[-1]) for row in tried) == 1


def test_page_needs_results():
    with pytest.raises(EmptyInputError):
        page_data([])
