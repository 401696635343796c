from seedproof_reproductions.conll2019.page.reading import SettingResults
from seedproof_reproductions.conll2019.page.tables import accuracy_tables, flip_table, matched_table


def test_published_and_ours_stand_side_by_side(sst):
    """Table 2 says 82.5 ±0.39 for ASWA on SST; both of ours have intervals and verdicts."""
    rows = accuracy_tables([sst]).replace(",\xa0", ", ").splitlines()

    assert rows[0] == "### Table 2: CNN models"
    assert rows[4] == (
        "| **SST, CNN**, 10 seeds: none | 82.0 ±1.01 | 83.0\xa0% [81.0, 85.0] "
        "| 1.20\xa0pts [0.80, 2.20] |  |  |"
    )
    assert rows[5] == (
        "| ASWA | 82.5 ±0.39 | 83.0\xa0% [81.0, 85.0] | 1.20\xa0pts [0.80, 2.20] "
        "| −0.20\xa0pts [−0.40, +0.10], no difference shown | −50\xa0% [−70, −20], steadier |"
    )


def test_what_the_paper_did_not_print_has_a_dash(make):
    """Dot attention and SNLI are in no table; an LSTM is in another one."""
    settings = [
        SettingResults(make("d", attention="dot")),
        SettingResults(make("s", dataset="snli")),
        SettingResults(make("l", encoder="lstm")),
    ]

    text = accuracy_tables(settings)

    before, after = text.split("### Table 3: LSTM models")
    assert before.count("| – |") == 6
    assert "| NASWA | 82.1 ±0.57 |" in after


def test_flips_are_beside_the_sd_that_they_would_give(sst):
    """0.50 points if every text flipped by itself, and 1.20 were found."""
    rows = flip_table([sst]).replace(",\xa0", ", ").splitlines()

    assert rows[2].endswith("| 9.0\xa0% [6.0, 14.0] |  | 1.20\xa0pts [0.80, 2.20] | 0.50\xa0pts |")
    assert "| −50\xa0% [−70, −20], steadier |" in rows[3]


def test_the_same_share_is_shown_of_two_classes(sst, make):
    """Flips, sd and accuracy with thresholds moved; SNLI has none."""
    snli = SettingResults(make("s", dataset="snli"))

    rows = matched_table([sst, snli]).replace(",\xa0", ", ").splitlines()

    assert rows[3] == (
        "| ASWA | 6.0\xa0% [5.0, 7.0] | −50\xa0% [−70, −20], steadier | 0.60\xa0pts [0.40, 1.10] "
        "| −10\xa0% [−30, +20], no difference shown | 84.0\xa0% [82.0, 86.0] |"
    )
    assert len(rows) == 2 + 3
    assert matched_table([snli]) == ""
