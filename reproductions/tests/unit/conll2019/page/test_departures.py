from seedproof_reproductions.conll2019.page.departures import banner, departures, is_elsewhere
from seedproof_reproductions.conll2019.page.reading import SettingResults


def test_the_papers_own_setting_departs_in_nothing(own):
    """As many texts and epochs, ten seeds; more test texts than its table has."""
    found = SettingResults(own)

    assert departures(found) == ()
    assert not is_elsewhere(found)
    assert banner([found]) == ""


def test_what_is_less_is_counted(make):
    """IMDB had 25,000 training texts, 4,356 to test on, and 20 epochs."""
    found = SettingResults(make("i", dataset="imdb", n_train=6000, epochs=8))

    assert departures(found) == (
        "6,000 of 25,000 training texts",
        "1,725 of 4,356 test texts",
        "8 of 20 epochs",
    )


def test_fewer_seeds_are_less_sure_and_not_elsewhere(own):
    """The smallest arm counts; published figures may still be compared."""
    own["arms"]["aswa"]["n_runs"] = 5
    found = SettingResults(own)

    assert departures(found) == ("5 of 10 seeds",)
    assert not is_elsewhere(found)
    assert banner([found]).splitlines() == [
        "> **Not the paper's setting:** this has less than it had.",
        ">",
        "> - SST, CNN: 5 of 10 seeds",
    ]


def test_the_banner_names_the_settings_that_have_less(own, make):
    """One of two, and what is printed beside it."""
    settings = [SettingResults(own), SettingResults(make("l", encoder="lstm", epochs=2))]

    text = banner(settings)

    assert text.startswith("> **Not the paper's setting:** 1 of 2 settings has less than it had.")
    assert "cannot be compared with ours" in text
    assert text.endswith("> - SST, LSTM: 2 of 20 epochs")
