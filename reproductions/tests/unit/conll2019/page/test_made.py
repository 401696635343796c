from seedproof_reproductions.conll2019.page.made import how_made
from seedproof_reproductions.conll2019.page.reading import SettingResults


def test_commands_say_what_is_not_usual(sst, make):
    """Everything else is what the command line does by itself."""
    other = SettingResults(make("i", dataset="imdb", n_train=6000, n_test=2000, epochs=8))

    lines = how_made([sst, other]).splitlines()

    assert lines[5] == (
        "seedproof reproduce conll2019 --dataset sst --arms none,aswa,naswa --seeds 10 --explain "
        "--lime-samples 1000"
    )
    assert lines[6] == (
        "seedproof reproduce conll2019 --dataset imdb --epochs 8 --n-train 6000 --n-test 2000 "
        "--arms none,aswa,naswa --seeds 10"
    )


def test_versions_are_those_that_all_share_and_seconds_are_not_told(own, make):
    """The made runs logged 36 seconds each, on a machine that did other work, too."""
    own["versions"]["torch"] = "2.14.0"

    text = how_made([SettingResults(own), SettingResults(make("x", encoder="lstm"))])

    assert "Each run had one thread, with python 3.11.7.\n" in text
    assert "Seconds are not quoted" in text
    assert "36" not in text
