from seedproof_reproductions.findings2023.page.redraws import drawn_again, redraws


def test_draws_of_one_arm_are_together(settings):
    """The first draw has the arm's own name."""
    assert drawn_again(settings[0]) == {
        "fixed-init": ("fixed-init", "fixed-init-draw-2", "fixed-init-draw-3")
    }


def test_draws_are_told_with_their_span(settings):
    """0.60, 0.70 and 0.62, each ±0.05: 0.65 meets 0.65."""
    text = redraws(settings)

    assert "| **CLINC150 (head)**: fixed init draw 1 | −40\xa0% [−45,\xa0−35] |" in text
    assert "| fixed init draw 2 | −30\xa0% [−35,\xa0−25] |" in text
    assert (
        "- fixed init on MASSIVE (head): −40\xa0% to −30\xa0% over 3 draws; no two draws are shown "
        "to differ; a cut of the flip rate is shown with 3 of 3."
    ) in text


def test_draws_that_differ_are_said_to(settings, make_arm):
    """0.80 ±0.05 lies above 0.60 ±0.05."""
    settings[0].own["arms"]["fixed-init-draw-2"] = make_arm(0.8, shares="init", group="redrawn")

    assert "3 draws; two draws differ by more than their intervals" in redraws(settings)


def test_without_a_second_draw_there_is_nothing_to_tell(only_control, settings):
    """Nor where the first one is missing."""
    del settings[0].own["arms"]["fixed-init"]

    assert redraws([only_control]) == ""
    assert drawn_again(settings[0]) == {}
