import pytest
from seedproof_reproductions.conll2019.page.reading import Curve, SettingResults, by_setting

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate


def test_figures_come_from_the_study_that_has_them(sst):
    """Attention is that of the runs themselves, LIME that of the explained ones."""
    assert sst.methods == ("attention", "gradient", "lime")
    assert sst.estimate("none", "flip_rate") == Estimate(0.09, 0.06, 0.14)
    assert sst.estimate("none", "accuracy_sd_independent") == Estimate(0.005)
    assert sst.noise("none", "explanation_kl", "lime") == Estimate(0.05, 0.04, 0.06)
    assert sst.noise("none", "explanation_kl", "attention") is None


def test_an_effect_is_the_one_that_compare_gave(sst):
    """With its interval and verdict; NASWA against ASWA is apart."""
    found = sst.effect("aswa", "flip_rate")

    assert found == Effect("flip_rate", "ratio", 0.5, 0.3, 0.8, "runs × examples", 1.5, "steadier")
    assert sst.effect("naswa", "explanation_jaccard_20", "lime").verdict == "steadier"
    assert sst.rival("explanation_kl", "attention").value == 0.9


def test_what_was_not_measured_is_none(sst):
    """No arm, no metric, no method, no logged scalar."""
    assert sst.estimate("ema", "flip_rate") is None
    assert sst.estimate("none", "mce") is None
    assert sst.effect("none", "flip_rate") is None
    assert sst.effect("aswa", "explanation_kl", "lime") is None
    assert sst.rival("explanation_kl", "lime") is None
    assert sst.scalar("none", "test_loss") is None
    assert sst.sd_curve("ema") is None
    assert sst.curves("aswa", "explanation_kl", "lime") == {}


def test_scalars_are_means_over_runs(own):
    """Of ten runs, one of which has no number: nobody knows."""
    own["arms"]["none"]["scalars"]["train_loss"] = [0.1] * 5 + [0.3] * 5
    own["arms"]["aswa"]["scalars"]["train_loss"] = [0.1] * 9 + [None]
    sst = SettingResults(own)

    assert sst.scalar("none", "train_loss") == pytest.approx(0.2)
    assert sst.scalar("aswa", "train_loss") is None


def test_curves_are_by_class(make):
    """One for the second of two classes, three for three."""
    two, three = (SettingResults(make(dataset=name)) for name in ("sst", "snli"))

    assert two.curves("none", "explanation_kl", "attention") == {
        "positive": Curve((100,) * 10, (0.2,) * 10, (0.2,) * 10)
    }
    assert list(three.curves("none", "explanation_kl", "attention")) == list(three.classes)


def test_settings_are_in_a_fixed_order_with_their_explanations(make, explained):
    """SST first, its CNN before its LSTM; explanations belong to the study of the same name."""
    others = [
        make("imdb", dataset="imdb"),
        make("lstm", encoder="lstm"),
        make("dot", attention="dot"),
    ]

    found = by_setting([*others, explained, make()])

    assert [one.title for one in found] == [
        "SST, CNN",
        "SST, CNN, dot attention",
        "SST, LSTM",
        "IMDB, CNN",
    ]
    assert [one.explained is not None for one in found] == [True, False, False, False]
    assert [one.is_as_tabled for one in found] == [True, False, True, True]


def test_explanations_without_their_models_are_left_out(explained):
    """They say nothing of accuracy."""
    assert by_setting([explained]) == ()
