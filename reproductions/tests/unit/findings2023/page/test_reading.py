from seedproof.stats.intervals import Estimate
from seedproof_reproductions.findings2023.reading import SettingResults, by_setting, heads


def test_settings_do_not_depend_on_the_order_of_the_files(both, finetuned):
    """Heads come first, in the order of the data sets; unequal numbers of runs are a range."""
    settings = by_setting([finetuned, *reversed(both)])

    finetuned["arms"]["swa"]["n_runs"] = 3
    assert (settings[2].seeds, settings[2].n_runs) == ("3 to 5", 5)
    titles = ["CLINC150 (head)", "MASSIVE (head)", "MASSIVE (fine-tuned)"]
    assert [setting.title for setting in settings] == titles
    assert [setting.short_title for setting in heads(settings)] == ["CLINC150", "MASSIVE"]


def test_single_number_has_no_interval(settings):
    """Three numbers are a value and its interval."""
    setting = settings[0]
    setting.content["arms"]["linear"]["metrics"]["ece_corrected"] = [0.02]

    assert setting.estimate("linear", "metrics.ece_corrected") == Estimate(0.02)
    assert setting.effect("linear", "of_all.flip_rate").high == 0.15 + 0.08
    naive = setting.effect("linear", "high.naive")
    assert (naive.metric, naive.value, naive.low) == ("label_entropy", 0.15 - 0.04, None)
    assert setting.of_control("stand_in.pearson") == Estimate(0.5, 0.45, 0.55)


def test_missing_figures_are_none(only_control):
    """A missing arm, a missing part of an arm, and a missing control."""
    only_control.content["control"]["stand_in"] = None
    only_control.content["arms"]["none"]["costs"] = None

    assert only_control.effect("tgtss", "effects.flip_rate") is None
    assert only_control.effect("none", "high.cross_fitted") is None
    assert only_control.effect("none", "single_run_effects.all") is None
    assert only_control.of_control("stand_in.pearson") is None
    assert only_control.cost("none", "training") is None
    assert SettingResults({**only_control.content, "control": None}).of_control("sigma") is None
