from seedproof_reproductions.findings2023.page.figures import drawn_figures
from seedproof_reproductions.findings2023.page.reading import by_setting


def test_figures_have_a_panel_for_each_setting_and_say_what_to_see(both, finetuned):
    """Figures 1, 2 and 4 to 7 in three pictures."""
    found = drawn_figures(by_setting([*both, finetuned]), folder="images")

    names = ["entropy-sigma.svg", "one-run-many.svg", "confidence-map.svg"]
    assert [one.file_name for one in found] == names
    assert "](images/entropy-sigma.svg)" in found[0].text
    assert (
        "the correlation is 0.80 [0.75, 0.85] for CLINC150 (head), 0.80 [0.75, 0.85] for MASSIVE "
        "(head) and 0.80 [0.75, 0.85] for MASSIVE (fine-tuned): strong by our rule."
    ) in found[0].text
    assert "The line is the mean in each column." in found[1].text
    assert "not strong by our rule" in found[1].text
    assert "What to see" not in found[2].text
    assert found[2].image.count("MASSIVE (fine-tuned)</text>") == 1


def test_settings_of_different_verdicts_share_none(both):
    """One strong, one not: the figures speak."""
    both[1]["control"]["sigma"]["pearson"] = [0.5, 0.4, 0.6]

    (first, *_) = drawn_figures(by_setting(both), folder="f")

    assert "by our rule" not in first.text


def test_a_picture_that_nobody_kept_is_left_out(both):
    """Smoke runs are not traced."""
    for results in both:
        results["control"]["pictures"]["one_run_many"] = None
    both[0]["control"] = None

    names = [one.file_name for one in drawn_figures(by_setting(both), folder="f")]

    assert names == ["entropy-sigma.svg", "confidence-map.svg"]
