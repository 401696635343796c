import pytest

from seedproof.papers.findings2023.page.advice import advice
from seedproof.papers.findings2023.page.choices import choices


def told(settings):
    """Each sentence by its first word in bold."""
    return {one.split()[0].strip("*"): one for one in advice(settings, choices(settings))}


def test_everything_that_the_results_show_is_said(settings):
    """Six sentences, with their figures."""
    found = told(settings)

    assert list(found) == ["Frozen", "A", "Do", "Averaging", "Fixing", "Look"]
    assert "(16 heads) changes the flip rate by −75\xa0%, for 1.25× the training" in found["Frozen"]
    assert "−85\xa0% flips, at −1.00\xa0pts of accuracy, with a loss shown" in found["A"]
    assert "no cut is shown (+2\xa0%); −15\xa0% while all runs share one teacher." in found["Do"]
    assert found["Averaging"].endswith(
        "In 5 epochs ASWA changed the flip rate by +100\xa0% and accuracy by −3.00\xa0pts."
    )
    assert "Flips change by −40 to −30\xa0% over 3 draws" in found["Fixing"]
    assert (
        "with *width 1,024 + decay + zero last + smoothing* the ECE goes from 2.0" in found["Look"]
    )


@pytest.mark.parametrize(
    ("arm", "changes", "word"),
    [
        ("heads-16", {"flips": 0.97}, "Frozen"),  # no cut is shown
        ("heads-16", {"flips": 0.25, "accuracy": -0.003}, "Frozen"),  # it loses accuracy
        ("linear", {"flips": 0.97}, "A"),
        ("tgtss", {"flips": 0.9}, "Do"),  # fresh teachers cut, too
        ("aswa", {"flips": 2.0}, "Averaging"),  # it loses no accuracy
        ("aswa", {"flips": 1.03, "accuracy": -0.03}, "Averaging"),  # no rise is shown
        ("fixed-init-draw-2", {"flips": 0.97}, "Fixing"),  # one draw does nothing
        ("wide-decay-zero-smooth", {"flips": 0.5, "training": 1.05}, "Look"),  # calibrated
    ],
)
def test_what_is_not_shown_on_one_data_set_is_not_said(settings, make_arm, arm, changes, word):
    """A sentence cannot become false without going away."""
    settings[1].own["arms"][arm] = make_arm(**changes)

    found = told(settings)

    assert word not in found
    assert len(found) == 5


def test_arms_that_are_missing_take_their_sentence_along(settings, only_control):
    """Also the shared teacher, of which one sentence says a half."""
    del settings[0].own["arms"]["tgtss-shared"]

    assert told(settings)["Do"].endswith("no cut is shown (+2\xa0%).")
    assert advice((), ()) == advice([only_control], ()) == ()


def test_a_span_has_its_unit_once(settings, make_arm):
    """Over data sets that differ."""
    settings[1].own["arms"]["heads-16"] = make_arm(0.3, 0.004, training=1.25)

    assert "by −75 to −70\xa0%, for" in told(settings)["Frozen"]
