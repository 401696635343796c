from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.page.top_words import other_readings


def test_other_readings_have_figures_and_verdicts(own):
    """Top 10 %: 41 to 45 % is in the range. An overlap of 70 to 80 % loses 20 to 30 %: it is not."""
    reasons = own["arms"]["none"]["explanations"]["attention"]["metrics"]
    reasons["explanation_jaccard_10"] = [0.43, 0.41, 0.45]

    rows = other_readings([SettingResults(own)], 40.0, 60.0).replace(",\xa0", ", ").splitlines()

    assert rows[-1] == (
        "| SST, CNN, attention | 43.0\xa0% [41.0, 45.0], holds here "
        "| 25.0\xa0% [20.0, 30.0], does not hold here |"
    )


def test_two_runs_have_figures_without_a_verdict(own):
    """Their intervals are over texts alone; what was not measured has a dash."""
    own["arms"]["none"]["n_runs"] = 2

    text = other_readings([SettingResults(own)], 40.0, 60.0)

    assert "| – | 25.0\xa0% [20.0,\xa030.0], not shown here |" in text


def test_without_explanations_there_is_nothing_to_read(own):
    """No heading of an empty table."""
    own["arms"]["none"]["explanations"] = {}

    assert other_readings([SettingResults(own)], 40.0, 60.0) == ""
