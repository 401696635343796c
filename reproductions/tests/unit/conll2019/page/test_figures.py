from seedproof_reproductions.conll2019.page.figures import drawn_figures
from seedproof_reproductions.conll2019.page.reading import SettingResults


def by_name(*settings):
    """Figures by the names of their files."""
    return {one.file_name: one for one in drawn_figures(settings, folder="images")}


def test_figures_are_those_that_were_measured(sst, make):
    """Without gradients, LIME and SNLI there are three."""
    few = by_name(SettingResults(make()))
    all_of_them = by_name(sst, SettingResults(make("snli", dataset="snli")))

    assert list(few) == ["probability-sd.svg", "attention-kl.svg", "attention-top-words.svg"]
    assert list(all_of_them) == [
        "probability-sd.svg",
        "attention-kl.svg",
        "attention-top-words.svg",
        "gradient-kl.svg",
        "gradient-top-words.svg",
        "snli-attention-kl.svg",
        "lime-top-words.svg",
    ]


def test_three_classes_have_a_panel_each(make):
    """And are in no figure of two classes."""
    found = by_name(SettingResults(make("snli", dataset="snli")))

    assert list(found) == ["snli-attention-kl.svg"]
    for name in ("neutral", "contradiction", "entailment"):
        assert f"SNLI, CNN: {name}" in found["snli-attention-kl.svg"].image


def test_a_caption_counts_what_is_to_be_seen(sst):
    """ASWA's made curve is below that of none in all ten bins, NASWA's in none of them."""
    text = by_name(sst)["attention-kl.svg"].text.replace(",\xa0", ", ")

    assert "![The mean KL between the attention of two seeds" in text
    assert "(images/attention-kl.svg)" in text
    assert (
        "**What to see:** below the curve of *none* lies that of ASWA in 10 of 10 bins and that of "
        "NASWA in 0 of 10 bins." in text
    )
    assert "says “steadier” in both comparisons with *none*." in text
    assert "| SST, CNN | 0.150 [0.120, 0.180] | −50\xa0% [−70, −20], steadier |" in text


def test_the_highest_bin_is_named(own):
    """The seventh of ten bins is 0.6 to 0.7; one with few examples is passed over."""
    curve = own["arms"]["none"]["sd_curve"]
    curve["mean"] = [0.1] * 6 + [0.3, 0.9, 0.1, 0.1]
    curve["count"] = [100] * 7 + [3, 100, 100]

    text = by_name(SettingResults(own))["probability-sd.svg"].text

    assert "| 0.6–0.7 |" in text


def test_lime_has_its_noise_in_the_figure(sst):
    """Attention has none."""
    found = by_name(sst)

    assert "explained twice" in found["lime-top-words.svg"].image
    assert "explained twice" not in found["attention-top-words.svg"].image


def test_arms_without_effects_make_no_claim(own):
    """The baseline alone has curves, and nothing is said to be below them."""
    own["arms"] = {"none": own["arms"]["none"]}

    text = by_name(SettingResults(own))["probability-sd.svg"].text

    assert "What to see" not in text
    assert "compare" not in text
