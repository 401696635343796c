"""Claims, tables and answers as data."""

import pytest

from seedproof_reproductions.deciding import forecast_claim
from seedproof_reproductions.findings2023.arms import ARMS
from seedproof_reproductions.findings2023.names import IN_COMMON, title_of
from seedproof_reproductions.findings2023.page_data import (
    PROTOCOLS,
    UNDECIDABLE,
    all_arms,
    checked_claims,
    has_plain_ece,
    paper_tables,
    redraws,
    short_answer,
    standards,
)
from seedproof_reproductions.findings2023.reading import by_setting
from seedproof_reproductions.findings2023.results import stored_results
from seedproof_reproductions.rules import Verdict

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
SIZE_OPEN, SHARE_OPEN = Verdict.SIZE_OPEN, Verdict.SHARE_OPEN


def verdicts(settings):
    """Verdicts by the name of the claim."""
    return {item.claim.name: item.verdicts for item in checked_claims(settings)}


def checks_of(settings, name):
    """Checks of a claim."""
    return next(x.checks for x in checked_claims(settings) if x.claim.name == name)


def cell(table, row, column):
    """A cell by the titles of its row and column."""
    texts = next(texts for texts in table.rows if texts[0].split(": ")[-1].startswith(row))
    return texts[table.header.index(column)]


def test_stored_results_keep_their_verdicts():
    """Of CLINC150, MASSIVE, and MASSIVE fine-tuned; two per setting with shared teachers."""
    both_fail = (FAILS,) * 4
    assert verdicts(by_setting(stored_results())) == {
        "tgtss-cuts": (HOLDS, *both_fail),
        "tgtss-recovers": (HOLDS, SHARE_OPEN, FAILS, SHARE_OPEN, FAILS),
        "fraction-of-cost": (HOLDS,) * 5,
        "ensemble-best": (OPEN, OPEN, OPEN),
        "tgtss-beats": (OPEN, HOLDS, FAILS, OPEN, FAILS),
        "smoothing-cuts": (OPEN, OPEN),
        "swa-cuts": (SIZE_OPEN, FAILS, FAILS),
        "exponent-matters": (),
        "tgtss-accurate": (HOLDS, *both_fail),
        "one-run-and-many": (FAILS, FAILS, FAILS),
        "entropy-follows-sd": (HOLDS, FAILS, FAILS),
        "tgtss-single-run": (FAILS,) * 5,
        "tgtss-high": (HOLDS, OPEN, FAILS, OPEN, FAILS),
        "tgtss-single-run-high": both_fail,
    }


def test_shared_and_fresh_teachers_are_separate_checks(settings, make_arm):
    """−15 % [−20, −10] does not reach −26.7 %; −33 % [−38, −28] reaches both published values."""
    check, fresh, *_ = checked_claims(settings)[0].checks
    assert (check.published, check.ours) == ("−26.7\xa0%", "−15\xa0% [−20, −10]")
    assert (check.group, fresh.group) == tuple(PROTOCOLS)

    for setting in settings:
        setting.content["arms"]["tgtss-shared"] = make_arm(0.67, shares="teacher", group="paper")
    assert verdicts(settings)["tgtss-cuts"] == (HOLDS, FAILS, HOLDS, FAILS)


def test_each_kind_of_claim_is_judged_by_its_interval(settings):
    """Verdicts on made-up arms, derived by hand."""
    made = {name: set(codes) for name, codes in verdicts(settings).items()}

    assert made["fraction-of-cost"] == {HOLDS}  # 1.1 of 4.0
    assert made["ensemble-best"] == {OPEN}  # 0.75 to 0.85 against 0.80 to 0.90
    assert made["tgtss-accurate"] == {FAILS}  # at most −0.2 points
    assert made["one-run-and-many"] == {FAILS}  # at most 0.55
    assert made["entropy-follows-sd"] == {HOLDS}  # at least 0.75


def test_reduction_on_hard_utterances_needs_both_selections(settings):
    """By the control's selection −30 %; by the arm's first an increase, then a reduction."""
    high = settings[0].content["arms"]["tgtss-shared"]["high"]
    high["cross_fitted"] = high["cross_fitted"] | {"value": 0.7, "low": 0.6, "high": 0.8}
    assert verdicts(settings)["tgtss-high"][0] == OPEN

    high["by_arm"] = high["cross_fitted"]
    assert verdicts(settings)["tgtss-high"][0] == HOLDS


def test_claims_about_missing_arms_are_not_covered(finetuned, only_control):
    """Without the ensemble, its share is not covered."""
    covered = {name for name, codes in verdicts(by_setting([finetuned])).items() if codes}
    missing = {"tgtss-recovers", "fraction-of-cost", "ensemble-best"}
    missing |= {"smoothing-cuts", "exponent-matters"}

    assert covered == set(verdicts([only_control])) - missing
    alone = {name for name, codes in verdicts([only_control]).items() if codes}
    assert alone == {"one-run-and-many", "entropy-follows-sd"}


def test_claim_about_an_untrained_arm_may_fail_but_not_hold(finetuned, make_arm):
    """L2 was not fine-tuned: better than SWA is open, and worse than SWA fails."""
    few = {"n_runs": 5, "group": "cheaper"}

    for flips, verdict in ((0.3, OPEN), (1.5, FAILS)):
        finetuned["arms"]["tgtss-every-10"] = make_arm(flips, **few)
        check = checks_of(by_setting([finetuned]), "tgtss-beats")[0]
        assert (check.verdict, bool(check.to_decide)) == (verdict, verdict == OPEN)

    del finetuned["arms"]["swa"]
    assert checks_of(by_setting([finetuned]), "tgtss-beats") == ()


def test_ensemble_of_controls_stands_for_that_of_the_paper(finetuned, make_arm):
    """Where it is the only one; the claim names it, and how many teachers there are."""
    finetuned["arms"]["ensemble-controls"] = make_arm(0.5, shares="teacher", group="finetuned")
    finetuned["arms"]["tgtss-every-10-shared"] = make_arm(0.6, shares="teacher", group="cheaper")
    settings = by_setting([finetuned])

    first, second = checks_of(settings, "tgtss-recovers")

    assert first.evidence.estimate.value == pytest.approx(0.4 / 0.5)
    assert ARMS["ensemble-controls"].title in first.where
    assert (first.group, second.group) == tuple(PROTOCOLS)
    best = checks_of(settings, "ensemble-best")[0]
    assert ARMS["label-smoothing-0.1"].title in best.where  # it was not trained
    answers = short_answer(settings)
    (item,) = answers["ensemble"]
    assert f"({ARMS['ensemble-controls'].soft.n_teachers} " in item["text"]


def test_no_number_of_seeds_decides_a_cut_that_the_arm_contradicts(settings, make_arm):
    """LE_m rises where it is high in the arm."""
    arm = make_arm(0.78, shares="teacher", group="paper")
    arm["high"] = {
        "cross_fitted": arm["effects"]["label_entropy"],
        "by_arm": make_arm(1.2)["effects"]["label_entropy"],
    }
    settings[0].content["arms"]["tgtss-shared"] = arm

    check = checks_of(settings, "tgtss-high")[0]

    assert check.verdict == OPEN
    assert check.to_decide == UNDECIDABLE


def test_open_claims_say_that_our_runs_are_too_few(settings, make_arm):
    """If more runs than ours are all that is known, and if the interval is not over runs."""
    arm = make_arm(0.7, half=0.1505, shares="teacher", group="paper")
    settings[0].content["arms"]["tgtss-shared"] = arm
    more = checks_of(settings, "tgtss-cuts")[0]
    arm["effects"]["label_entropy"]["verdict"] = "too few runs"
    few = checks_of(settings, "tgtss-cuts")[0]

    assert forecast_claim("cut", more.evidence).above == 50
    assert more.to_decide != forecast_claim("cut", more.evidence).words
    assert few.to_decide
    assert not forecast_claim("cut", few.evidence).words


def test_verdicts_that_depend_on_the_standard_are_listed(settings, make_arm):
    """0.9 [0.85, 0.95] alone, and [0.78, 1.02] among all arms."""
    arm = make_arm(0.9, loose=0.12, shares="teacher", group="paper")
    assert standards(settings, "label_entropy") == []

    settings[1].content["arms"]["tgtss-shared"] = arm

    (item,) = standards(settings, "label_entropy")
    assert (item["arm"], item["on"], item["n_arms"]) == ("tgtss-shared", "MASSIVE", 17)
    assert item["alone"] == "−10\xa0% [−15, −5]"
    assert item["of_all"] == "−10\xa0% [−22, +2]"


def test_older_results_have_an_ece_that_chance_makes_larger(settings):
    """Their intervals are over runs only."""
    assert "ECE" in all_arms(settings[0]).header

    for arm in settings[0].content["arms"].values():
        for part in ("metrics", "effects"):
            if "ece_corrected" in arm.get(part, {}):
                arm[part]["ece"] = arm[part].pop("ece_corrected")

    assert has_plain_ece(settings[0])
    assert not has_plain_ece(settings[1])
    assert "ECE" not in all_arms(settings[0]).header


@pytest.mark.parametrize(
    ("name", "row", "column", "text"),
    [
        ("table3", "control", "accuracy, published", "95.1 ±0.8"),
        ("table3", "control", "LE_m, ours (each arm alone)", "0.060 [0.050, 0.070]"),
        ("table3", "ensemble", "LE_m, ours (each arm alone)", "−20\xa0% [−25, −15], steadier"),
        ("table3", "ensemble", "of the ensemble, ours", ""),
        ("table3", "L2", "LE_m, published", "+0.6\xa0%"),
        ("table3", "TGTSS (shared", "of the ensemble, published", "86\xa0%"),
        ("table4", "L2", "published", "–"),
        ("table5", "L2", "chosen by the arm", "+22\xa0% [+17, +27], less steady"),
        ("table5", "L2", "ours, as published", "−2\xa0%"),
        ("table6", "SWA", "ours", "−3\xa0% [−8, +2], no difference shown"),
    ],
)
def test_tables_of_the_paper_have_published_figures_and_ours(settings, name, row, column, text):
    """For the arms of CLINC150."""
    assert cell(paper_tables(settings)[name], row, column) == text


def test_methods_without_a_figure_are_left_out(settings):
    """SWA was not traced; label smoothing has the strength of the data set."""
    for setting in settings:
        setting.content["arms"]["swa"]["single_run_effects"] = None

    titles = [row[0] for row in paper_tables(settings)["table4"].rows]

    assert titles[0] == f"**{settings[0].title}**, 50 runs: {title_of('ensemble-shared')}"
    assert not any("SWA" in title for title in titles)
    smoothing = [title.split()[-1] for title in titles if "smoothing" in title]
    assert smoothing == ["0.5", "0.1"]


def test_all_arms_are_in_groups_with_simultaneous_intervals(settings):
    """An interval over utterances only is not printed."""
    settings[0].content["arms"]["heads-16"]["high"]["cross_fitted"]["verdict"] = "too few runs"
    table = all_arms(settings[0])

    assert len(table.rows) == 18 + 5  # arms and groups
    row = next(row for row in table.rows if row[0] == "16 heads<br>`heads-16`")
    assert row[5:7] == ("1.0\xa0% [0.8, 1.2]", "−75\xa0% [−83, −67]")
    assert row[9] == "−75\xa0%"
    assert row[-2:] == ("1.25×", "1.02×")
    row = next(row for row in table.rows if row[0].endswith("`fixed-init`"))
    assert row[1] == IN_COMMON["init"]


def test_draws_are_compared_by_whole_intervals(settings, only_control):
    """0.6, 0.7 and 0.62, each ±0.05, do not differ; 0.6 and 0.75 do."""
    note = redraws(settings)["notes"][0]
    assert (note["draws"], note["cuts"], note["differ"]) == (3, 3, False)
    assert note["span"] == "−40\xa0% to −30\xa0%"

    effect = settings[0].content["arms"]["fixed-init-draw-2"]["effects"]["flip_rate"]
    effect |= {"value": 0.75, "low": 0.7, "high": 0.8}
    assert redraws(settings)["notes"][0]["differ"]
    assert redraws([only_control]) == {}


def test_simple_changes_must_beat_published_methods_by_whole_intervals(settings, make_arm):
    """Zero last (to 0.88) overlaps with label smoothing (from 0.82); heads and width do not."""
    levers = short_answer(settings)["levers"]
    assert (levers["winners"], levers["of"], levers["beat_ensemble"]) == (2, 4, 2)
    assert list(levers["largest"]) == ["heads-16", "wide-decay-zero-smooth"]

    for setting in settings:
        setting.content["arms"]["swa"] = make_arm(0.2, group="paper")
    assert short_answer(settings)["levers"]["winners"] == 0


def test_questions_without_results_are_empty(finetuned, only_control):
    """Fine-tuned results have no ensemble, no exponent and no simple changes."""
    few = short_answer(by_setting([finetuned]))
    empty = {name for name, content in few.items() if not content}

    assert empty == {
        "ensemble", "exponent", "levers", "shared_accuracy", "shared_ece", "plain_ece",
    }  # fmt: skip
    assert [item["text"] for item in few["costs"]] == ["2.40×"]
    assert not any(short_answer([only_control])["cuts"].values())
