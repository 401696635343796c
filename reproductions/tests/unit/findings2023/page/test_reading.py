from seedproof_reproductions.findings2023.page.reading import (
    SettingResults,
    by_setting,
    heads,
    in_every,
)

from seedproof.measurement.intervals import Estimate


def test_settings_are_in_one_order(both, finetuned):
    """Heads first, whatever the order of the files; each data set in its place."""
    found = by_setting([finetuned, *reversed(both)])

    titles = ["CLINC150 (head)", "MASSIVE (head)", "MASSIVE (fine-tuned)"]
    assert [one.title for one in found] == titles
    assert [one.short_title for one in heads(found)] == ["CLINC150", "MASSIVE"]


def test_figures_and_effects_are_read_with_their_intervals(settings):
    """A figure of one number has none."""
    one = settings[0]
    one.own["arms"]["linear"]["metrics"]["ece"] = [0.02]

    assert one.estimate("linear", "flip_rate") == Estimate(0.15 * 0.04, 0.15 * 0.03, 0.15 * 0.05)
    assert one.estimate("linear", "ece") == Estimate(0.02)
    assert one.effect("linear", "flip_rate").verdict == "steadier"
    assert one.effect_of_all("linear", "flip_rate").high == 0.15 + 0.08
    assert one.high("linear").value == 0.15
    assert one.high_as_published("linear") == 0.15 - 0.04
    assert one.stand_in("pearson") == Estimate(0.5, 0.45, 0.55)


def test_what_was_not_measured_is_none(only_control):
    """Neither a missing arm nor a missing part of one fails."""
    only_control.own["control"]["stand_in"] = None
    only_control.own["control"]["pictures"]["map"] = None
    only_control.own["arms"]["none"]["costs"] = None

    assert only_control.effect("tgtss", "flip_rate") is None
    assert only_control.effect("none", "flip_rate") is None
    assert only_control.high("none") is None
    assert only_control.wavering_effect("none") is None
    assert only_control.stand_in("pearson") is None
    assert only_control.picture("map") is None
    assert only_control.cost("none", "training") is None
    assert SettingResults({**only_control.own, "control": None}).sigma() is None


def test_runs_of_unequal_arms_are_told_as_a_range(make, make_arm):
    """A store that is still growing."""
    found = SettingResults(make(arms={"none": make_arm(), "swa": make_arm(n_runs=12)}))

    assert found.seeds == "12 to 50"


def test_arms_of_every_setting_leave_the_others_out(settings):
    """In the order of the first; the control is not among them."""
    del settings[1].own["arms"]["l2"]

    found = in_every(settings)

    assert found[:2] == ("ensemble-shared", "swa")
    assert "none" not in found
    assert in_every(()) == ()
