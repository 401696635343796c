import pytest
from seedproof_reproductions.findings2023.page.advice import advice
from seedproof_reproductions.findings2023.page.choices import choices
from seedproof_reproductions.findings2023.page.reading import by_setting


def told(settings):
    """Each sentence by its first word in bold."""
    return {one.split()[0].strip("*"): one for one in advice(settings, choices(settings))}


def test_everything_that_the_results_show_is_said(settings):
    """Seven bullets, with their figures on both data sets."""
    found = told(settings)

    assert list(found) == ["Frozen", "A", "On", "Averaging", "Fixing", "Look", "You"]
    where = "(CLINC150 / MASSIVE)"
    assert f"flip rate by −75\xa0% / −75\xa0% {where}, for 1.25× the training" in found["Frozen"]
    assert (
        f"−85\xa0% / −85\xa0% flips {where}, at −1.00\xa0pts / −1.00\xa0pts of accuracy, with a loss"
    ) in found["A"]
    assert (
        f"no cut is shown: +2\xa0% / +2\xa0% {where}; −15\xa0% [−23, −7] / −15\xa0% [−23, −7] while "
        "all runs share one."
    ) in found["On"]
    assert found["Averaging"].endswith(
        f"In 5 epochs ASWA changed the flip rate by +100\xa0% / +100\xa0% {where} and accuracy by "
        "−3.00\xa0pts / −3.00\xa0pts."
    )
    assert "by −40 to −30\xa0% / −40 to −30\xa0% over 3 draws" in found["Fixing"]
    assert found["Look"].endswith(
        f"the ECE goes from 2.0\xa0% / 2.0\xa0% {where} to 12.0\xa0% / 12.0\xa0% with TGTSS (fresh "
        "teacher) and to 11.0\xa0% / 11.0\xa0% with `wide-decay-zero-smooth`."
    )
    assert found["You"].endswith("Not known yet: our fine-tuned runs are too few (below 5 an arm).")


@pytest.mark.parametrize(
    ("arm", "changes", "word"),
    [
        ("heads-16", {"flips": 0.97}, "Frozen"),  # no cut is shown
        ("heads-16", {"flips": 0.25, "accuracy": -0.003}, "Frozen"),  # it loses accuracy
        ("linear", {"flips": 0.97}, "A"),
        ("tgtss", {"flips": 0.9}, "On"),  # fresh teachers cut, too
        ("aswa", {"flips": 2.0}, "Averaging"),  # it loses no accuracy
        ("aswa", {"flips": 1.03, "accuracy": -0.03}, "Averaging"),  # no rise is shown
        ("fixed-init-draw-2", {"flips": 0.97}, "Fixing"),  # one draw does nothing
    ],
)
def test_what_is_not_shown_on_one_data_set_is_not_said(settings, make_arm, arm, changes, word):
    """A sentence cannot become false without going away."""
    settings[1].own["arms"][arm] = make_arm(**changes)

    found = told(settings)

    assert word not in found
    assert len(found) == 6


def test_calibration_is_told_of_what_is_less_calibrated(settings, make_arm):
    """Soft labels, and the choice that is worst; none of them, and there is no sentence."""
    settings[1].own["arms"]["wide-decay-zero-smooth"] = make_arm(0.5, training=1.05)
    assert "wide-decay-zero-smooth" not in told(settings)["Look"]

    settings[1].own["arms"]["tgtss"] = make_arm(1.02, -0.005)
    assert "Look" not in told(settings)


def test_cached_features_have_a_price_of_their_own(settings):
    """Sixteen times the head, without the encoder."""
    for one in settings:
        one.own["arms"]["heads-16"]["costs"]["heads"] = 16.0

    assert told(settings)["Frozen"].endswith("With features cached already, that is 16× the head.")


def test_fine_tuning_is_told_from_five_runs_on(both, finetuned):
    """EMA cuts there; where nothing is shown it says so, and with four runs nothing is known."""
    settings = by_setting([*both, finetuned])
    assert told(settings)["You"].endswith(
        "On MASSIVE EMA changes the flip rate by −50\xa0% [−80, −20], for 1.00× the training "
        "(5 runs an arm, which are few)."
    )

    del finetuned["arms"]["ema"]
    assert "On MASSIVE no arm is shown to cut the flip rate (5 runs an arm" in told(settings)["You"]
    for arm in finetuned["arms"].values():
        arm["n_runs"] = 4
    assert "Not known yet" in told(settings)["You"]


def test_what_a_teacher_does_where_the_encoder_is_trained_is_told(both, finetuned, make_arm):
    """With its price, and its interval among all arms; no word of it where runs are too few."""
    settings = by_setting([*both, finetuned])

    finetuned["arms"]["tgtss-every-10"] = make_arm(0.8, training=2.4, n_runs=5)
    assert told(settings)["On"].endswith(
        "On MASSIVE (fine-tuned) it is −20\xa0% [−28, −12], for 2.40× the training."
    )
    finetuned["arms"]["tgtss-every-10"]["n_runs"] = 4
    assert told(settings)["On"].endswith("while all runs share one.")


def test_arms_that_are_missing_take_their_sentence_along(settings, only_control):
    """Also the shared teacher, of which one sentence says a half."""
    del settings[0].own["arms"]["tgtss-shared"]

    assert told(settings)["On"].endswith("no cut is shown: +2\xa0% / +2\xa0% (CLINC150 / MASSIVE).")
    assert advice((), ()) == advice([only_control], ()) == ()


def test_each_data_set_has_its_figure(settings, make_arm):
    """In their order; a single one needs no name."""
    settings[1].own["arms"]["heads-16"] = make_arm(0.3, 0.004, training=1.25)

    assert "by −75\xa0% / −70\xa0% (CLINC150 / MASSIVE), for" in told(settings)["Frozen"]
    assert "by −75\xa0%, for" in told(settings[:1])["Frozen"]
